package explain_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestExecutorThatWaitsIsShown checks an executor that waits for a Secret. Only an Event of the executor pod reports
// this reason. The condition and the event of the application contain it too.
func TestExecutorThatWaitsIsShown(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver)
	driver := w.DriverOf(app, 1)
	w.Ready(driver.Name)
	executor := w.Executor(app, driver, 1)
	w.Create(executor)
	w.Kubelet(executor.Name, corev1.PodPending, world.Waiting("ContainerCreating", ""))
	w.Warn(executor.UID, executor.Name, "FailedMount", `secret "absent" not found`)
	w.WaitReady("pi", "FailedMount", "executor pod pi-exec-1 waits: ", `secret "absent" not found`)
	w.WaitEvent(app, "SparkExecutorPending", "pi-exec-1", `secret "absent" not found`)
	w.Kubelet(executor.Name, corev1.PodRunning, world.Running())
	w.WaitReady("pi", "Running")

	if reported := w.Get("pi").Status.Conditions; world.Condition(w.Get("pi"),
		"Degraded").Status == metav1.ConditionTrue {
		t.Errorf("the conditions are %+v", reported)
	}
}
