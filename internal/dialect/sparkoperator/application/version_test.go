package application

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/status"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// TestVersionMismatchIsToldOnce checks that one event reports the mismatch when the first executor shows it, and that
// the condition remains until the attempt ends.
func TestVersionMismatchIsToldOnce(t *testing.T) {
	app := sparkapp.Sample(func(a *v1beta2.SparkApplication) {
		a.Spec.SparkVersion = "3.5.0"
		a.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyAlways}
	})
	now := sparkapp.T0
	step := func(seen lifecycle.Observed) (reported []string) {
		t.Helper()

		now = now.Add(time.Minute)
		for _, e := range status.Events(app, usual.Decide(app, seen, now)) {
			if e.Reason == status.ConditionSparkVersionMismatch {
				reported = append(reported, e.Type)
			}
		}

		sparkapp.RoundTrip(t, &app.Status)
		return reported
	}
	holds := func() bool {
		return meta.IsStatusConditionTrue(app.Status.Conditions, status.ConditionSparkVersionMismatch)
	}

	driver := lifecycle.Driver{Name: "pi-driver", Attempt: 1, Phase: lifecycle.DriverRunning, Ready: true,
		CreatedAt: sparkapp.T0, SparkVersion: "3.5.0"}
	alone := lifecycle.Observed{Drivers: []lifecycle.Driver{driver}}
	executor := lifecycle.Executor{Name: "pi-exec-1", Attempt: 1, Phase: lifecycle.DriverRunning, SparkVersion: "4.1.4"}
	both := lifecycle.Observed{Drivers: alone.Drivers, Executors: []lifecycle.Executor{executor}}

	step(lifecycle.Observed{})

	if reported := step(alone); len(reported) > 0 || holds() {
		t.Errorf("before any executor: events %v, condition %v", reported, holds())
	}

	if diff := cmp.Diff([]string{"Warning"}, step(both)); diff != "" || !holds() {
		t.Errorf("with the first executor: holds %v, events (-want +got):\n%s", holds(), diff)
	}

	for _, seen := range []lifecycle.Observed{both, alone, both} {
		if reported := step(seen); len(reported) > 0 || !holds() {
			t.Errorf("later: events %v, condition %v", reported, holds())
		}
	}
	// The next attempt is another run. Its mismatch is reported too, but only when one of its pods shows the version.
	app.Spec.SparkVersion = "3.5.1"

	step(lifecycle.Observed{Confirmed: true})

	if holds() || app.Status.Operator.Attempt != 2 {
		t.Errorf("in attempt %d it holds: %v", app.Status.Operator.Attempt, holds())
	}

	both.Drivers[0].Attempt, both.Executors[0].Attempt = 2, 2
	if reported := step(both); len(reported) != 1 || !holds() {
		t.Errorf("in the next attempt: events %v, condition %v", reported, holds())
	}
}
