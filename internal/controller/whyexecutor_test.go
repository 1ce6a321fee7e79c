package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// warn writes an Event about a pod.
func (w *world) warn(uid types.UID, name, reason, message string) {
	w.t.Helper()
	w.create(&corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "event-"},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: w.namespace, Name: name, UID: uid},
		Type:           corev1.EventTypeWarning, Reason: reason, Message: message, LastTimestamp: metav1.Now(),
	})
}

// TestExecutorThatWaitsIsShown: an executor that waits for a Secret says so nowhere but in an Event; condition and event of the application have it.
func TestExecutorThatWaitsIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runReal()
	app := w.application("pi", withDriver)
	driver := w.driverOf(app, 1)
	w.ready(driver.Name)
	executor := w.executor(app, driver, 1)
	w.create(executor)
	w.kubelet(executor.Name, corev1.PodPending, waiting("ContainerCreating", ""))
	w.warn(executor.UID, executor.Name, "FailedMount", `secret "absent" not found`)
	w.waitReady("pi", "FailedMount", "executor pod pi-exec-1 waits: ", `secret "absent" not found`)
	w.waitEvent(app, "SparkExecutorPending", "pi-exec-1", `secret "absent" not found`)
	w.kubelet(executor.Name, corev1.PodRunning, running())
	w.waitReady("pi", "Running")
	if told := w.get("pi").Status.Conditions; condition(w.get("pi"), "Degraded").Status == metav1.ConditionTrue {
		t.Errorf("the conditions are %+v", told)
	}
}
