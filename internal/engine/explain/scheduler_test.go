package explain_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestSchedulerThatNobodyRuns checks that an application whose scheduler does not run reports that in a condition and
// in an Event. The application continues when the scheduler runs.
func TestSchedulerThatNobodyRuns(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver,
		func(app *v1beta2.SparkApplication) { app.Spec.Driver.SchedulerName = new("nobody") })
	w.WaitReady("pi", lifecycle.ReasonSchedulerSilent, `scheduler "nobody"`, "pi-driver")

	if got := w.Get("pi").Status.AppState.State; got != v1beta2.ApplicationStateSubmitted {
		t.Errorf("the state is %s", got)
	}

	w.WaitEvent(app, "SparkDriverPending", `scheduler "nobody"`)
	w.Kubelet("pi-driver", corev1.PodRunning, world.Running())
	w.WaitState("pi", v1beta2.ApplicationStateRunning)
}
