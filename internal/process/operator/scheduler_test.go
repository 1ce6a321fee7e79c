package operator

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// TestSchedulerThatNobodyRuns checks that an application whose scheduler does not run reports that in a condition and
// in an Event. The application continues when the scheduler runs.
func TestSchedulerThatNobodyRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runReal()
	app := w.Application("pi", scene.WithDriver, func(app *v1beta2.SparkApplication) { app.Spec.Driver.SchedulerName = new("nobody") })
	w.waitReady("pi", lifecycle.ReasonSchedulerSilent, `scheduler "nobody"`, "pi-driver")

	if got := w.Get("pi").Status.AppState.State; got != v1beta2.ApplicationStateSubmitted {
		t.Errorf("the state is %s", got)
	}

	w.waitEvent(app, "SparkDriverPending", `scheduler "nobody"`)
	w.kubelet("pi-driver", corev1.PodRunning, running())
	w.waitState("pi", v1beta2.ApplicationStateRunning)
}
