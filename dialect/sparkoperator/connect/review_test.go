package connect

import (
	"testing"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// TestReviewHasTheMessageOfThePass checks that a review and a pass report the same message about an invalid
// SparkConnect.
func TestReviewHasTheMessageOfThePass(t *testing.T) {
	for _, piece := range []string{`server: {memory: much}`, `server: {template: {spec: {containers: none}}}`, `sparkConf: {spark.executor.cores: none}`} {
		sc := connectOf(t, piece)
		invalid, review := (Connects{}).invalid(sc), (Connects{}).Review(sc)
		if invalid == nil || len(review.Faults) == 0 || dialect.Invalid(review.Faults).Message != invalid.Message {
			t.Errorf("%s: the review has the faults %v, the pass %v", piece, review.Faults, invalid)
		}
	}
}

// TestRestartWarning checks that RestartWarning returns a warning about an edit that replaces a running server, and no
// warning about other edits.
func TestRestartWarning(t *testing.T) {
	running := func(mods ...func(*v1alpha1.SparkConnect)) *v1alpha1.SparkConnect {
		sc := aConnect(mods...)
		rememberConnect(&sc.Status, lifecycle.Memory{Phase: lifecycle.Running, Attempt: 1})
		return sc
	}
	image := func(sc *v1alpha1.SparkConnect) { sc.Spec.Image = new("other") }
	suspend := func(sc *v1alpha1.SparkConnect) { sc.Spec.Suspend = new(true) }
	for name, test := range map[string]struct {
		old, edited *v1alpha1.SparkConnect
		warns       bool
	}{
		"an image":                {running(), running(image), true},
		"nothing":                 {running(), running(), false},
		"a suspension":            {running(), running(image, suspend), false},
		"a server that is not up": {aConnect(), aConnect(image), false},
	} {
		if got := (Connects{}).RestartWarning(test.old, test.edited); (got != "") != test.warns {
			t.Errorf("%s: %q, want a warning: %t", name, got, test.warns)
		}
	}
}
