// Package prosecheck tests tools/prose.sh and the rules of tools/prose/styles.
package prosecheck

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// longText is a text of more than 120 columns for a comment or a line of Markdown.
var longText = strings.TrimSpace(strings.Repeat("The pass reads pods. ", 6))

func TestRulesRejectBadProse(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		rule       string // the rule that rejects the text; none if the text is good
	}{
		"good comment": {"x.go", "// Sweep deletes orphans. It requeues after transient errors.\npackage x\n", ""},
		"good page":    {"x.md", "# What a pass does\n\nThe pass reads `whoever` from the cache. What can fail?\n", ""},

		"term in a comment":   {"x.go", "// Package x retries weather.\npackage x\n", "House.Terms"},
		"term after code":     {"x.go", "package x\n\nvar x = 1 // gone for good\n", "House.Terms"},
		"term in a block":     {"x.go", "/*\nPackage x holds surroundings.\n*/\npackage x\n", "House.Terms"},
		"term in a list":      {"x.md", "The pass:\n\n- looks again\n", "House.Terms"},
		"term over two lines": {"x.md", "The status write is put\noff.\n", "House.Terms"},
		"term in code": {"x.go",
			"// Package x says `look again`:\n//\n//\tlook again\npackage x\n", ""},
		"term in an identifier": {"x.go",
			"// Package x is here.\npackage x\n\nvar weather = \"for good\"\n", ""},
		"term as a documented name": {"x.go",
			"// Package x is here.\npackage x\n\n// crowd is here.\ntype crowd int\n", ""},
		"term after a documented name": {"x.go",
			"// Package x is here.\npackage x\n\n// crowd is a crowd.\ntype crowd int\n", "House.Terms"},
		"term in a qualified name": {"x.go",
			"// Package x calls Surroundings.Get and x.Surroundings.\npackage x\n", ""},
		"phrase": {"x.md", "The pass does as it is told.\n", "House.Phrases"},
		"phrase in a table": {"x.md", "| a | b |\n|---|---|\n| a pod | none is deleted |\n",
			"House.Phrases"},
		"talking program": {"x.go", "// Package x: the operator knows pods.\npackage x\n", "House.Verbs"},
		"no subject": {"x.go", "// Package x is here. What it reads is the cache.\npackage x\n",
			"House.Subjects"},
		"no subject in a title":        {"x.md", "# Who reads this\n", ""},
		"long sentence":                {"x.md", strings.Repeat("the pass\n", 30) + "ends.\n", ""}, // a warning
		"long comment":                 {"x.go", "// " + longText + "\npackage x\n", "Lines.Go"},
		"long line of code":            {"x.go", "package x\n\nvar x = \"" + longText + "\"\n", ""},
		"long directive":               {"x.go", "//go:generate echo " + longText + "\npackage x\n", ""},
		"long marker":                  {"x.go", "package x\n\n// +kubebuilder:" + longText + "\nvar x int\n", ""},
		"long line in Markdown":        {"x.md", longText + "\n", "Lines.Markdown"},
		"long item":                    {"x.md", "- " + longText + "\n", "Lines.Markdown"},
		"long row of a table":          {"x.md", "| a |\n|---|\n| " + longText + " |\n", ""},
		"long line in a block":         {"x.md", "```\n" + longText + "\n```\n", ""},
		"long line after a block":      {"x.md", "```\nx\n```\n\n" + longText + "\n", "Lines.Markdown"},
		"long target of a link":        {"x.md", "[a](b#" + strings.Repeat("c", 120) + ")\n", ""},
		"line of 120 columns":          {"x.md", strings.Repeat("é", 120) + "\n", ""},
		"line of 121 columns":          {"x.md", strings.Repeat("é", 121) + "\n", "Lines.Markdown"},
		"long line with a comment":     {"x.go", "package x\n\nvar x = 1 /" + "/ " + longText + "\n", "Lines.Go"},
		"comment of 120 columns":       {"x.go", "// " + strings.Repeat("é", 117) + "\npackage x\n", ""},
		"comment of 121 columns":       {"x.go", "package x\n\n// " + strings.Repeat("é", 118) + "\n", "Lines.Go"},
		"last comment is not the file": {"x.go", "// " + longText + "\npackage x\n\n// A short one.\n", "Lines.Go"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}

			output, err := exec.Command("../prose.sh", file).CombinedOutput()
			if failed := err != nil; failed != (c.rule != "") {
				t.Fatalf("prose.sh: %v, want the rule %q\n%s", err, c.rule, output)
			}

			if !strings.Contains(string(output), c.rule) {
				t.Errorf("rejected by another rule than %s:\n%s", c.rule, output)
			}
		})
	}
}

// TestExemptPatternsMatchFiles checks that every pattern of tools/prose/exempt has a reason and matches a file. A
// pattern that matches no file is misspelt, or its files no longer exist.
func TestExemptPatternsMatchFiles(t *testing.T) {
	lines, err := os.ReadFile("../prose/exempt")
	if err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(string(lines)) {
		pattern, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
		if pattern == "" || pattern == "#" {
			continue
		}

		if strings.TrimSpace(reason) == "" {
			t.Errorf("%s is exempt without a reason", pattern)
		}

		command := exec.Command("git", "ls-files", "--", ":(glob)"+pattern)
		command.Dir = "../.."

		files, err := command.Output()
		if err != nil {
			t.Fatal(err)
		}

		if len(files) == 0 {
			t.Errorf("%s matches no file", pattern)
		}
	}
}
