package application_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/validate"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/schedule"
)

// TestTemplateIsRefusedAsItsRuns uses the spec of every rejected application as the template of a schedule. The
// schedule must be rejected for the same field of the template, with the same message.
func TestTemplateIsRefusedAsItsRuns(t *testing.T) {
	d := schedule.Schedules{Options: schedule.Options{Runs: application.Usual}}
	plain := regexp.MustCompile(`(^|[ ,;(])spec\.([a-zA-Z]+)`)
	quoted := regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

	tried := 0
	for _, r := range application.Refused() {
		if strings.HasPrefix(r.Field, "metadata.") {
			continue // the schedule has metadata of its own
		}
		tried++
		app := application.AppOf(t, r.Piece)
		s := &v1beta2.ScheduledSparkApplication{}
		s.Name, s.UID, s.Spec.Schedule = "nightly", "uid-nightly", "0 * * * *"
		s.Namespace, s.Spec.Template = app.Namespace, *app.Spec.DeepCopy()

		wrong := d.Validate(s, time.Date(2026, 2, 1, 10, 30, 0, 0, time.UTC))
		if len(wrong) == 0 {
			t.Errorf("%s is not refused", r.Piece)
			continue
		}

		want := strings.Replace(strings.ReplaceAll(r.Field, "KEY", "spark.master"), "spec", "spec.template", 1)
		if wrong[0].Field != want {
			t.Errorf("%s: refused for %s, want %s", r.Piece, wrong[0].Field, want)
		}

		for _, e := range wrong {
			for _, found := range plain.FindAllStringSubmatch(quoted.ReplaceAllString(e.Message, `""`), -1) {
				if found[2] != "template" {
					t.Errorf("%s: %q points to spec.%s, which a schedule has not", r.Piece, e.Message, found[2])
				}
			}
		}

		if own := validate.Spec(app); len(own) > 0 {
			plainly := func(text string) string { return strings.ReplaceAll(text, "spec.template.", "spec.") }
			if plainly(own[0].Message) != plainly(wrong[0].Message) {
				t.Errorf("%s: the words are %q, of a run %q", r.Piece, wrong[0].Message, own[0].Message)
			}
		}
	}

	if tried < 40 {
		t.Errorf("%d templates are tried", tried)
	}
}
