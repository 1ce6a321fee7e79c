// Package refusal helps tests with the custom resources that the operator refuses. Each kind has a file of such custom
// resources, and docs/validation.md has a table of each file.
package refusal

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/test/kit/fieldtable"
)

// ByDefinition is the value of Row.By if the definition refuses a custom resource, so that no webhook is needed.
const ByDefinition = "definition"

// ByWarning is the value of Row.By if only a pass refuses a custom resource. The API server stores it, and the webhook
// warns, because what is missing may still be added.
const ByWarning = "warning"

// Row is one refused custom resource, and one row of the table.
type Row struct {
	// Field is the field that the error message names. "KEY" in it stands for the key of sparkConf that Piece sets.
	Field string `json:"field"`
	// When describes the refused values. It completes the sentence "The field is refused if it ...".
	When string `json:"when"`
	// Piece is YAML. If it is merged into the valid object of the file, that object becomes invalid.
	Piece string `json:"piece"`
	// By is ByDefinition or ByWarning, or empty if the webhook refuses the custom resource.
	By string `json:"by"`
	// Says is a text that both error messages contain, that of the definition and that of a pass. It is empty if the
	// definition refuses the value with Kubernetes' own message about a type, an enumeration or a range.
	Says string `json:"says"`
	// Also contains further pieces that the definition refuses for the same reason as Piece.
	Also []string `json:"also"`
	// Why is the text of the event if spark-submit is allowed.
	Why string `json:"why"`
}

// FieldOfPiece returns the field that the error message names. It replaces "KEY" in Field by the configuration key that
// Piece sets.
func (r Row) FieldOfPiece() string { return strings.ReplaceAll(r.Field, "KEY", "spark.master") }

// File contains the refused custom resources of one kind.
type File struct {
	// Whole is a valid custom resource, as YAML.
	Whole string `json:"whole"`
	// Refusals are always refused.
	Refusals []Row `json:"refusals"`
	// OnlyBySparkSubmit are refused unless spark-submit is allowed.
	OnlyBySparkSubmit []Row `json:"onlyBySparkSubmit"`
}

// Read reads a file of refused custom resources.
func Read(name string) (file File, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return file, err
	}

	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return file, fmt.Errorf("%s: %w", name, err)
	}
	return file, nil
}

// Must reads a file of refused custom resources. It fails the test if it cannot read the file.
func Must(t testing.TB, name string) File {
	t.Helper()

	file, err := Read(name)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// JSON returns the file's valid custom resource as JSON, after it has merged pieces of YAML into the custom resource.
func (f File) JSON(t testing.TB, pieces ...string) []byte {
	t.Helper()

	whole := map[string]any{}
	for _, piece := range append([]string{f.Whole}, pieces...) {
		var over map[string]any
		if err := yaml.Unmarshal([]byte(piece), &over); err != nil {
			t.Fatalf("%v in\n%s", err, piece)
		}

		fieldtable.Merge(whole, over)
	}

	text, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Table returns rows as a table for docs/validation.md.
func Table(rows []Row) string {
	var text strings.Builder
	text.WriteString("| field | refused when it | at `kubectl apply` by |\n|---|---|---|\n")

	for _, r := range rows {
		by := "the webhook"
		switch r.By {
		case ByDefinition:
			by = "the definition"
		case ByWarning:
			by = "a warning of the webhook only"
		}

		fmt.Fprintf(&text, "| `%s` | %s | %s |\n", r.Field, r.When, by)
	}
	return text.String()
}

// Hold fails the test if a document does not have the wanted text between the comments "begin" and "end" that contain
// the given mark. If update is true, Hold writes the wanted text there instead.
func Hold(t testing.TB, document, mark, want string, update bool) {
	t.Helper()

	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}

	begin, end := "<!-- begin "+mark+" -->\n", "<!-- end "+mark+" -->"
	before, rest, ok := strings.Cut(string(text), begin)

	written, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no marks %q and %q", document, begin, end)
	}

	if update {
		if err := os.WriteFile(document, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}

	if diff := cmp.Diff(written, want); diff != "" {
		t.Errorf("%s is out of date; run with -update (-written +now):\n%s", document, diff)
	}
}
