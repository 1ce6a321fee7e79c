package preview

import (
	"encoding/json"
	"path/filepath"
)

// The parts of SARIF 2.1.0 that code scanning services read.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID   string    `json:"id"`
		Text sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn"`
	}
)

// SARIF returns the report as a SARIF log.
func (r *Report) SARIF(version string) ([]byte, error) {
	driver := sarifDriver{Name: "sparkctl lint", Version: version}
	for _, rule := range rules {
		driver.Rules = append(driver.Rules, sarifRule{rule.ID, sarifText{rule.Text}})
	}

	results := []sarifResult{}
	for _, f := range r.Findings {
		results = append(results, sarifResult{
			RuleID: f.Rule, Level: f.Severity, Message: sarifText{f.text()},
			Locations: []sarifLocation{{sarifPhysical{sarifArtifact{filepath.ToSlash(f.File)}, sarifRegion{f.Line, f.Column}}}},
		})
	}
	return json.MarshalIndent(sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0",
		Runs: []sarifRun{{Tool: sarifTool{driver}, Results: results}},
	}, "", "  ")
}

func (f *Finding) text() string {
	if f.Field == "" {
		return f.Message
	}
	return f.Field + ": " + f.Message
}
