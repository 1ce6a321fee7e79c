// Package report stores the measurements of a run, checks them against bounds, and writes the performance pages of
// docs.
package report

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

//go:embed *.yaml
var files embed.FS

// Bound is the acceptance range of a measurement. Without Min and Max, a bound only requires that the measurement
// exists.
type Bound struct {
	// Measurement is the identity of the measurement. If it contains a *, the bound applies once for each text in the
	// set that Each names (Spec.Sets), such as the scenarios or the cases. The text replaces the *.
	Measurement string `json:"figure"`
	Each        string `json:"each,omitempty"`
	// Per is the identity of a second measurement, by which the first measurement is divided. A * in Per is replaced by
	// the same text as the * in Measurement.
	Per string   `json:"per,omitempty"`
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	// Why describes the requirement behind the bound.
	Why string `json:"why"`
}

// Spec is the content of a file of bounds.
type Spec struct {
	Sets   map[string][]string `json:"sets"`
	Bounds []Bound             `json:"bounds"`
}

// Bounds returns the bounds of a plan. A plan without a file has no bounds.
func Bounds(plan string) (Spec, error) {
	text, err := files.ReadFile(plan + ".yaml")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Spec{}, nil
	case err != nil:
		return Spec{}, err
	}
	return parse(text)
}

// parse decodes bounds. It rejects unknown fields, because a bound with a misspelled min or max would check nothing.
func parse(text []byte) (s Spec, err error) {
	if err := yaml.UnmarshalStrict(text, &s); err != nil {
		return s, err
	}

	for _, b := range s.Bounds {
		_, known := s.Sets[b.Each]
		switch {
		case b.Measurement == "" || b.Why == "":
			err = fmt.Errorf("the bound with the figure %q is incomplete: set both fields, figure and why", b.Measurement)
		case strings.Contains(b.Measurement, "*") != (b.Each != "") || b.Each != "" && !known:
			err = fmt.Errorf("the bound on %q (each: %q) is invalid: to repeat a bound, set each to the name of a set of this file and write a * in figure; otherwise omit both", b.Measurement, b.Each)
		case b.Min != nil && b.Max != nil && *b.Min > *b.Max:
			err = fmt.Errorf("the bound on %q can never hold, because its min is greater than its max", b.Measurement)
		}

		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// Select returns the bounds that use only measurements of the named scenarios.
func (s Spec) Select(scenarios []string) Spec {
	s.Bounds = slices.DeleteFunc(slices.Clone(s.Bounds), func(b Bound) bool {
		return !slices.Contains(scenarios, scenario(b.Measurement)) || b.Per != "" && !slices.Contains(scenarios, scenario(b.Per))
	})
	return s
}

// Verdict is the result of checking a measurement against its bound.
type Verdict struct {
	Bound
	ID    string // the * is replaced
	Value float64
	Unit  string // empty for a ratio of two measurements
	// Missing is true if the measurement does not exist. Holds is true if the measurement is within the bound, so it is
	// false for a missing measurement.
	Missing, Holds bool
}

// Check checks a run against all bounds. It returns a list of verdicts for each bound, with one verdict for each
// measurement to which the bound applies.
func Check(run *Run, s Spec) (all [][]Verdict) {
	for _, b := range s.Bounds {
		texts := s.Sets[b.Each]
		if b.Each == "" {
			texts = []string{""}
		}

		var verdicts []Verdict
		for _, text := range texts {
			verdicts = append(verdicts, b.check(run, text))
		}

		all = append(all, verdicts)
	}
	return all
}

func (b Bound) check(run *Run, text string) Verdict {
	v := Verdict{Bound: b, ID: strings.ReplaceAll(b.Measurement, "*", text)}

	f, ok := run.Value(v.ID)
	if v.Missing = !ok; v.Missing {
		return v
	}

	v.Value, v.Unit = f.Value, f.Unit
	if b.Per != "" {
		per, ok := run.Value(strings.ReplaceAll(b.Per, "*", text))
		if v.Missing = !ok || per.Value == 0; v.Missing {
			return v
		}

		scale := 1.0
		if f.Unit == "s" && per.Unit == "ms" {
			scale = 1000
		}

		v.Value, v.Unit = scale*f.Value/per.Value, ""
	}

	v.Holds = (b.Min == nil || v.Value >= *b.Min) && (b.Max == nil || v.Value <= *b.Max)
	return v
}

// Worst returns the worst of a bound's verdicts. A verdict whose measurement is missing is worse than all others. Among
// the others, the verdict whose value exceeds a limit by the largest amount is the worst. If no value exceeds a limit,
// the verdict whose value is closest to a limit is the worst.
func Worst(verdicts []Verdict) Verdict {
	room := func(v Verdict) float64 {
		switch {
		case v.Missing:
			return math.Inf(-1)
		case v.Min != nil && v.Max != nil:
			return min(*v.Max-v.Value, v.Value-*v.Min)
		case v.Max != nil:
			return *v.Max - v.Value
		case v.Min != nil:
			return v.Value - *v.Min
		}
		return math.Inf(1)
	}
	return slices.MinFunc(verdicts, func(a, b Verdict) int { return cmp.Compare(room(a), room(b)) })
}

// Range returns the acceptance range as text.
func (b Bound) Range() string {
	format := func(v float64) string { return Format(v, "") }
	switch {
	case b.Min != nil && b.Max != nil && *b.Min == *b.Max:
		return "exactly " + format(*b.Max)
	case b.Min != nil && b.Max != nil:
		return format(*b.Min) + " to " + format(*b.Max)
	case b.Min != nil:
		return "at least " + format(*b.Min)
	case b.Max != nil:
		return "at most " + format(*b.Max)
	}
	return "measured"
}

// Measured returns the measured value as text.
func (v Verdict) Measured() string {
	if v.Missing {
		return "missing"
	}
	return Format(v.Value, v.Unit)
}

// Verdict returns the result of the check as Markdown: "holds", "missed" or "not measured", the last two in bold.
func (v Verdict) Verdict() string {
	return map[bool]string{v.Holds: "holds", v.Missing: "**not measured**", !v.Holds && !v.Missing: "**missed**"}[true]
}

// Print writes every failed verdict, and the worst verdict of each bound that has a minimum or maximum. It returns the
// number of failed verdicts. A verdict failed if Holds is false.
func Print(out io.Writer, all [][]Verdict) (failed int) {
	for _, verdicts := range all {
		worst := Worst(verdicts)
		for _, v := range verdicts {
			if !v.Holds {
				failed++
			}

			if !v.Holds || v.ID == worst.ID && v.Min != v.Max {
				fmt.Fprintf(out, "%-10s %-90s %12s, %s: %s\n", v.Verdict(), v.ID, v.Measured(), v.Range(), v.Why)
			}
		}
	}
	return failed
}

//go:embed *.md.tmpl
var texts embed.FS

// pages maps each performance page, by its path below docs, to its template.
var pages = map[string]string{"performance.md": "page.md.tmpl", "performance/runs.md": "runs.md.tmpl"}

// Write writes the performance pages of a repository and their plots.
func Write(root string) error {
	files, err := filepath.Glob(filepath.Join(root, "bench/runs/*-full*.json"))
	if err != nil || len(files) == 0 {
		return errors.Join(err, errors.New("bench/runs has no run of the full plan: create one with `make bench`"))
	}

	var runs []*Run
	for _, file := range files {
		run, err := Load(file)
		if err != nil {
			return err
		}

		runs = append(runs, run)
	}

	run := Newest(runs)

	written, err := plots(run)
	if err != nil {
		return err
	}

	for name, source := range pages {
		if written[name], err = render(run, source); err != nil {
			return err
		}
	}

	for name, text := range written {
		if err := os.WriteFile(filepath.Join(root, "docs", name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// render returns the text of a page for a run.
func render(run *Run, source string) (string, error) {
	spec, err := Bounds("full")
	if err != nil {
		return "", err
	}

	var worst []Verdict
	for _, verdicts := range Check(run, spec) {
		if v := Worst(verdicts); v.Min != nil || v.Max != nil {
			worst = append(worst, v)
		}
	}

	t, err := template.New(source).Funcs(template.FuncMap{"f": func(id string) string {
		f, ok := run.Value(id)
		if !ok {
			return "not measured"
		}
		return Format(f.Value, f.Unit)
	}}).ParseFS(texts, source)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.Execute(&out, map[string]any{
		"Run": run, "Bounds": worst, "Columns": []string{"standing/low", "standing/middle", "standing/high", "finished/many"},
		"Rows": map[string]string{
			"resident, at rest": "%s/resident, at rest", "resident, peak": "%s/resident, peak", "CPU of a life, at 4 a second": "%s/CPU an application",
			"lives a second, at full rate": "%s, full rate/applications a second", "CPU of a life, at full rate": "%s, full rate/CPU an application",
			"driver event to status, p99, at 4 a second": "%s/driver event to status, p99", "driver event to status, p99, at full rate": "%s, full rate/driver event to status, p99",
		},
		"LogLoads": []string{"without, one at a time", "S3, one at a time", "ConfigMaps, one at a time", "without", "S3", "ConfigMaps", "without, at once", "S3, at once", "ConfigMaps, at once"},
		"LogLines": []string{"CPU an application", "resident, peak", "status writes an application", "writes an application", "driver event to status, p99"},
		"Loads":    []string{"lives/operator", "lives/half rate", "burst/operator", "lives/plain"},
		"Lines": []string{"applications a second", "CPU an application", "resident, peak", "creation to driver pod, p50", "creation to driver pod, p99",
			"driver event to status, p50", "driver event to status, p99", "executor event to status, p99", "objects created an application",
			"status writes an application", "events an application", "everybody's writes an application", "share of all cores"},
	})
	return out.String(), err
}

//go:embed plot.svg.tmpl
var plotText string

// plots returns the SVG charts of the performance page by path below docs. Each chart shows two measurements at the
// three load levels of the full plan: 100, 1,000 and 10,000 live applications.
func plots(run *Run) (map[string]string, error) {
	svgs := map[string]string{}
	for name, texts := range map[string][5]string{
		"memory": {"Resident memory, MB", "peak", "standing/%s/resident, peak", "at rest", "standing/%s/resident, at rest"},
		"cpu": {"CPU of the operator for a life beside them, ms", "at full rate", "standing/%s, full rate/CPU an application",
			"at 4 a second", "standing/%s/CPU an application"},
		"latency": {"Driver event to status at full rate, s", "p99", "standing/%s, full rate/driver event to status, p99",
			"p50", "standing/%s, full rate/driver event to status, p50"},
	} {
		svg, err := plot(run, texts[0], [2]string{texts[1], texts[3]}, [2]string{texts[2], texts[4]})
		if err != nil {
			return nil, err
		}

		svgs["performance/"+name+".svg"] = svg
	}
	return svgs, nil
}

// plot draws two lines over 100, 1,000 and 10,000 live applications. A missing measurement is drawn at 0.
func plot(run *Run, title string, names, ids [2]string) (string, error) {
	var values [2][3]float64

	most := math.SmallestNonzeroFloat64
	for line, id := range ids {
		for i, level := range []string{"low", "middle", "high"} {
			f, _ := run.Value(fmt.Sprintf(id, level))
			values[line][i], most = f.Value, max(most, f.Value)
		}
	}

	var lines [2]string
	for line, points := range values {
		for i, v := range points {
			lines[line] += fmt.Sprintf("%d,%.1f ", 100+150*i, 220-180*v/most)
		}
	}
	var out strings.Builder
	err := template.Must(template.New("plot").Parse(plotText)).Execute(&out, map[string]any{
		"Title": title, "Names": names, "Lines": lines, "Half": Format(most/2, ""), "Most": Format(most, ""),
	})
	return out.String(), err
}
