package operator

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// TestExecutorThatWaitsIsShown checks an executor that waits for a Secret. Only an Event of the executor pod reports
// this reason. The condition and the event of the application contain it too.
func TestExecutorThatWaitsIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runReal()
	app := w.Application("pi", scene.WithDriver)
	driver := w.driverOf(app, 1)
	w.ready(driver.Name)
	executor := w.executor(app, driver, 1)
	w.Create(executor)
	w.kubelet(executor.Name, corev1.PodPending, waiting("ContainerCreating", ""))
	w.Warn(executor.UID, executor.Name, "FailedMount", `secret "absent" not found`)
	w.waitReady("pi", "FailedMount", "executor pod pi-exec-1 waits: ", `secret "absent" not found`)
	w.waitEvent(app, "SparkExecutorPending", "pi-exec-1", `secret "absent" not found`)
	w.kubelet(executor.Name, corev1.PodRunning, running())
	w.waitReady("pi", "Running")

	if reported := w.Get("pi").Status.Conditions; condition(w.Get("pi"), "Degraded").Status == metav1.ConditionTrue {
		t.Errorf("the conditions are %+v", reported)
	}
}
