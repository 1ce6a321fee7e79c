package application

import (
	"strings"
	"testing"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// TestReviewHasTheMessageOfThePass checks that a review reports each invalid spec of docs/validation.md with the same
// message as the pass that fails the application.
func TestReviewHasTheMessageOfThePass(t *testing.T) {
	for _, r := range refusals {
		app := appOf(t, r.Piece)
		review := usual.Review(app, t0)
		_, _, invalid := usual.nextAttempt(app, 1, t0)
		if invalid == nil || len(review.Faults) == 0 {
			t.Errorf("%s: the review has %d faults, the pass %v", r.Piece, len(review.Faults), invalid)
			continue
		}
		if got := dialect.Invalid(review.Faults).Message; got != invalid.Message {
			t.Errorf("%s: the review says %q, the pass %q", r.Piece, got, invalid.Message)
		}
	}
}

// TestReviewWarns checks that a review returns one warning for each part of the spec that has no effect, and that the
// warning names the user's field.
func TestReviewWarns(t *testing.T) {
	for piece, want := range map[string][]string{
		`{}`:                                  nil,
		`spec: {executor: {memoryLimit: 2g}}`: {"spec.executor.memoryLimit has no effect: "},
		`spec: {driver: {template: {spec: {containers: [{name: a}], capabilities: {add: [X]}}}}}`: {"spec.driver.template.spec.capabilities: has no effect at this place; a pod has this field at spec.containers[].securityContext.capabilities"},
		`spec: {executor: {template: {spec: {containers: [{name: a, imgae: b}]}}}}`:               {"spec.executor.template.spec.containers[0].imgae: is not a field of a pod"},
	} {
		review := usual.Review(appOf(t, piece), t0)
		if len(review.Faults) > 0 {
			t.Errorf("%s: %v", piece, review.Faults[0])
		}
		if len(review.Warnings) != len(want) {
			t.Errorf("%s: warnings %q, want %q", piece, review.Warnings, want)
			continue
		}
		for i := range want {
			if !strings.HasPrefix(review.Warnings[i], want[i]) {
				t.Errorf("%s: warning %q, want %q", piece, review.Warnings[i], want[i])
			}
		}
	}
}

// TestRestartWarning checks that RestartWarning returns a warning about an edit that starts a new run, and no warning
// about other edits.
func TestRestartWarning(t *testing.T) {
	running := func(piece string) *v1beta2.SparkApplication {
		app := appOf(t, piece)
		app.Status.AppState.State = v1beta2.ApplicationStateRunning
		app.Status.Operator = &v1beta2.OperatorStatus{Phase: string(lifecycle.Running), Attempt: 1}
		return app
	}
	for _, test := range []struct {
		name        string
		old, edited *v1beta2.SparkApplication
		warns       bool
	}{
		{"a running application", running(`{}`), running(`spec: {image: other}`), true},
		{"an equal spec", running(`{}`), running(`{}`), false},
		{"a field that needs no run", running(`{}`), running(`spec: {timeToLiveSeconds: 7}`), false},
		{"a suspension", running(`{}`), running(`spec: {image: other, suspend: true}`), false},
		{"an application that does not run", appOf(t, `{}`), appOf(t, `spec: {image: other}`), false},
	} {
		if got := usual.RestartWarning(test.old, test.edited); (got != "") != test.warns {
			t.Errorf("%s: %q, want a warning: %t", test.name, got, test.warns)
		}
	}
}
