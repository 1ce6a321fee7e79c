package validate_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/batch"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/validate"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit/refusal"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

const validationDocument = "../../../../../docs/refused-applications.md"

var update = flag.Bool("update", false, "write the golden files")

// refusedField returns the field that the rejection of an application names.
func refusedField(app *v1beta2.SparkApplication) string {
	usual := application.Dialect{Options: application.Options{Batch: batch.Options{Enabled: true,
		KubeSchedulers: []string{"coscheduler"}}}}
	if wrong := usual.Faults(app, sparkapp.T0); len(wrong) > 0 {
		return wrong[0].Field
	}
	return ""
}

// TestRefusalsDocument compares a part of docs/refused-applications.md with the expected text, or writes it with
// -update. The part lists the applications that are rejected when the operator first reads them. The test also checks
// that each application in the table is rejected.
func TestRefusalsDocument(t *testing.T) {
	file, err := refusal.Read("../testdata/refusals.yaml")
	if err != nil {
		t.Fatal(err)
	}

	refusals := file.Refusals

	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	fired := make([]bool, len(validate.Rules))

	text.WriteString(refusal.Table(refusals))

	for _, r := range refusals {
		app := sparkapp.Of(t, r.Piece)
		for i, rule := range validate.Rules {
			fired[i] = fired[i] || len(rule(app)) > 0
		}

		if got := refusedField(app); got != r.FieldOfPiece() {
			t.Errorf("%s: refused for %q, want %q", r.Piece, got, r.FieldOfPiece())
		}
	}

	for i, count := range fired {
		if !count {
			t.Errorf("rule %d of Spec refuses none of these", i)
		}
	}

	line("")
	line("Keys of `sparkConf`. The definition refuses a key as it is written here, the webhook and a pass in any case:")
	line("")
	line("| key | instead |")
	line("|---|---|")

	for _, key := range slices.Sorted(maps.Keys(validate.Denied)) {
		line("| `%s` | %s |", key, strings.TrimPrefix(validate.Denied[key], "use "))
	}

	line("| `%s*`, except `%s*` and `%s` | none: driver and executors authenticate with the token of their service account, which Kubernetes mounts |", sparkoperator.CredentialPrefix, validate.MountedPrefix, submit.RunnerAccountKey)
	line("| `spark.kubernetes.namespace` of another namespace | the application's own |")
	refusal.Hold(t, validationDocument, "looked at", text.String(), *update)
}
