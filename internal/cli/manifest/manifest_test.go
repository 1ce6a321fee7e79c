package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const two = `# A comment.
---
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: a}
spec:
  sparkConf:
    spark.master: x
  driver:
    env:
      - name: A
        valu: b
--- # The second.
apiVersion: v1
kind: ConfigMap
metadata:
  name: c
---
`

// TestPlaces checks that lines are counted from the beginning of the file, and not from the beginning of the document.
func TestPlaces(t *testing.T) {
	documents, faults := Read("f", []byte(two))
	if len(documents) != 2 || len(faults) != 0 {
		t.Fatalf("%d documents, %v", len(documents), faults)
	}

	for field, want := range map[string]string{
		"":                                "f:3:1",
		"metadata.name":                   "f:5:12",
		"spec.sparkConf[spark.master]":    "f:8:5",
		"spec.driver.env[0].name":         "f:11:9",
		"spec.driver.env[7].name":         "f:10:5",
		"spec.driver.template.metadata":   "f:9:3",
		"spec.sparkConf[spark.other].too": "f:7:3",
	} {
		if got := documents[0].Place(field).String(); got != want {
			t.Errorf("%s is at %s, want %s", field, got, want)
		}
	}

	if got := documents[1].Place("metadata.name").String(); got != "f:17:3" {
		t.Errorf("the name in the second document is at %s", got)
	}

	if object, err := documents[1].Object(); object != nil || err != nil {
		t.Errorf("a ConfigMap is %v, %v", object, err)
	}
}

// TestFaultsOfYAML checks that each fault has the right line number, and that Read still returns the documents without
// faults.
func TestFaultsOfYAML(t *testing.T) {
	for text, want := range map[string]string{
		"a: [1\nb: 2\n":                 "f:1:1: is not YAML: has a bracket that nothing closes, or no comma between two entries; close the bracket, or write the comma",
		two + "a: 1\n---\na: 1\nb: [\n": "f:22:1: is not YAML: has no value where one is expected, or a bracket that nothing closes; write the value, close the bracket, or put the text in quotes",
		"- a\n":                         "f:1:1: is not an object: a manifest begins with apiVersion and kind",
	} {
		_, faults := Read("f", []byte(text))
		if len(faults) != 1 || faults[0].Error() != want {
			t.Errorf("%q: %v, want %s", text, faults, want)
		}
	}

	if documents, _ := Read("f", []byte("a: [\n---\n"+two)); len(documents) != 2 {
		t.Errorf("%d documents beside a faulty one", len(documents))
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.yml", "a.yaml", "notes.txt", "sub/c.json"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	got, err := Files([]string{dir, "-", filepath.Join(dir, "notes.txt")})
	if err != nil {
		t.Fatal(err)
	}

	for i := range got {
		got[i] = strings.TrimPrefix(got[i], dir+"/")
	}

	if d := cmp.Diff([]string{"a.yaml", "b.yml", "sub/c.json", "-", "notes.txt"}, got); d != "" {
		t.Error(d)
	}

	for _, name := range []string{filepath.Join(dir, "none"), t.TempDir()} {
		if _, err := Files([]string{name}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSyntaxInWords checks that texts which are no YAML are reported with the line and what to do, and not in the words
// of the parser.
func TestSyntaxInWords(t *testing.T) {
	for text, want := range map[string]string{
		"[":                "f:1:1: is not YAML: has no value",
		"}":                "f:1:1: is not YAML: has no value",
		"a: b: c":          "f:1:1: is not YAML: has a colon",
		"a: 1\n b: 2":      "f:2:1: is not YAML: has a colon",
		"a: - b":           "f:1:1: is not YAML: has an item at a wrong place",
		"a:\n\tb: 1":       "f:2:1: is not YAML: has a tab",
		"a: @b":            "f:1:1: is not YAML: has a tab, or a text that begins with @",
		"a: \"x\nb: 1":     "f:2:1: is not YAML: ends within a text in quotes",
		"a: 'x":            "f:1:1: is not YAML: ends within a text in quotes",
		`a: "\d"`:          `f:1:1: is not YAML: has an escape (\)`,
		"%":                "f:1:1: is not YAML: begins with %",
		"a: *x":            "f:1:1: is not YAML: has a reference (*)",
		"a: |\nb":          "f:2:1: is not YAML: has a line that is neither",
		"a:\n  - b\n c: d": "f:2:1: is not YAML: has a line",
		"a: {b":            "f:1:1: is not YAML: has a bracket",
		"a: 1\nx: \x01":    "f:2:1: is not YAML: has a control character; remove it",
	} {
		_, faults := Read("f", []byte(text))
		if len(faults) != 1 || !strings.HasPrefix(faults[0].Error(), want) {
			t.Errorf("%q: %v, want %s", text, faults, want)
		}
	}
}
