package application

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

const validationDocument = "../../../docs/validation.md"

// refusal is an application that is rejected: the field that the error names, the rule, and a piece of the
// application's YAML.
type refusal struct {
	Field string `json:"field"`
	When  string `json:"when"`
	Piece string `json:"piece"`
	// By is "definition" if the API server rejects the application without the webhook; otherwise it is empty.
	By string `json:"by"`
	// Why is the text of the event if spark-submit is allowed.
	Why string `json:"why"`
}

// refusals holds the applications of testdata/refusals.yaml that are always rejected. onlyBySparkSubmit holds the
// applications of that file that are rejected unless spark-submit is allowed.
var refusals, onlyBySparkSubmit = func() (always, native []refusal) {
	text, err := os.ReadFile("testdata/refusals.yaml")
	var file struct {
		Refusals          []refusal `json:"refusals"`
		OnlyBySparkSubmit []refusal `json:"onlyBySparkSubmit"`
	}
	if err == nil {
		err = yaml.UnmarshalStrict(text, &file)
	}
	if err != nil {
		panic(err)
	}
	return file.Refusals, file.OnlyBySparkSubmit
}()

// TestRefusalsDocument compares a part of docs/validation.md with the expected text, or writes it with -update. The
// part lists the applications that are rejected when the operator first reads them. The test also checks that each
// application in the table is rejected.
func TestRefusalsDocument(t *testing.T) {
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	fired := make([]bool, len(rules))
	line("| field | refused when it | at `kubectl apply` by |")
	line("|---|---|---|")
	for _, r := range refusals {
		line("| `%s` | %s | the %s |", r.Field, r.When, cmp.Or(r.By, "webhook"))
		app := appOf(t, r.Piece)
		for i, rule := range rules {
			fired[i] = fired[i] || len(rule(app)) > 0
		}
		want := strings.ReplaceAll(r.Field, "KEY", "spark.master")
		if got := refusedField(app); got != want {
			t.Errorf("%s: refused for %q, want %q", r.Piece, got, want)
		}
	}
	for i, count := range fired {
		if !count {
			t.Errorf("rule %d of Validate refuses none of these", i)
		}
	}
	line("")
	line("Keys of `sparkConf`, whatever their case:")
	line("")
	line("| key | instead |")
	line("|---|---|")
	for _, key := range slices.Sorted(maps.Keys(denied)) {
		line("| `%s` | %s |", key, strings.TrimPrefix(denied[key], "use "))
	}
	line("| `%s*`, except `%s*` and `%s` | the service accounts of `driver.serviceAccount` and `executor.serviceAccount` |", sparkoperator.CredentialPrefix, mountedPrefix, submit.RunnerAccountKey)
	line("| `spark.kubernetes.namespace` of another namespace | the application's own |")
	compareSection(t, validationDocument, "looked at", text.String())
}

// refusedField returns the field that the rejection of an application names.
func refusedField(app *v1beta2.SparkApplication) string {
	if wrong := Validate(app); len(wrong) > 0 {
		return wrong[0].Field
	}
	_, err := usual.Render(app, createAttempt(1), t0)
	if wrong, ok := errors.AsType[*sparkoperator.FieldError](err); ok {
		return wrong.Field
	}
	return fmt.Sprint(err)
}

// compareSection compares the text between two marks of a document with the wanted text, or writes it with -update.
func compareSection(t *testing.T, file, mark, want string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- begin "+mark+" -->\n", "<!-- end "+mark+" -->"
	before, rest, ok := strings.Cut(string(text), begin)
	documented, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no marks %q and %q", file, begin, end)
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(documented, want); diff != "" {
		t.Errorf("%s is out of date; run with -update (-written +now):\n%s", file, diff)
	}
}
