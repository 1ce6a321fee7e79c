package application

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit/refusal"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// TestNativeRefusalsDocument compares a part of docs/refused-applications.md with the expected text, or writes it with
// -update. The part lists the applications that are rejected only if the configuration does not allow spark-submit. The
// test also checks that each of them is accepted if spark-submit is allowed.
func TestNativeRefusalsDocument(t *testing.T) {
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	line("| field | refused when it |")
	line("|---|---|")

	for _, r := range onlyBySparkSubmit {
		line("| `%s` | %s |", r.Field, r.When)
		app := sparkapp.Of(t, r.Piece)

		objects, why, err := usual.buildAttempt(app, 1, sparkapp.T0)
		if err != nil || objects.Driver.Labels["spark-role"] != submit.RoleSubmitter {
			t.Errorf("%s: spark-submit does not help: %v", r.Piece, err)
			continue
		}

		if want := "spark-submit creates the driver pod: " + r.Field + ": " + r.Why; why.Message != want {
			t.Errorf("%s: said is %q, want %q", r.Piece, why.Message, want)
		}

		for name, d := range map[string]Dialect{"the application's mode": usual,
			"the operator's": {Options{Submission: onlyNative}}} {
			if name == "the application's mode" {
				submittedBy(onlyNative)(app)
			} else {
				app.Spec.Submission = nil
			}

			_, _, err := d.buildAttempt(app, 1, sparkapp.T0)
			if wrong, ok := errors.AsType[*dialect.FieldError](err); !ok || wrong.Field != r.Field ||
				!strings.Contains(wrong.Message, r.Why) {
				t.Errorf("%s, %s: error %v, want one of %s", r.Piece, name, err, r.Field)
			}
		}
	}

	line("| `%s` | is `SparkSubmit`, and the operator's configuration has `Native` |", modeField)

	app := sparkapp.Of(t, `spec: {submission: {mode: SparkSubmit}}`)
	if _, _, err := (Dialect{Options{Submission: dialect.SubmissionNative}}).buildAttempt(app, 1,
		sparkapp.T0); err == nil || !strings.HasPrefix(err.Error(), modeField) {
		t.Errorf("spark-submit that is switched off: %v", err)
	}

	refusal.Hold(t, validationDocument, "only by spark-submit", text.String(), *update)
}
