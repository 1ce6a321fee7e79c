package lifecycle

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// TestExecutorContainerHasSparksName checks that the facts of an executor are read from the container of the template.
func TestExecutorContainerHasSparksName(t *testing.T) {
	if executorContainer != overlay.ExecutorContainer {
		t.Errorf("the facts come from the container %s, the template has %s", executorContainer,
			overlay.ExecutorContainer)
	}
}

// TestExecutorReadiness checks that a running executor is Unready if Kubernetes reports that its pod is not Ready, and
// not Unready if Kubernetes reports nothing.
func TestExecutorReadiness(t *testing.T) {
	for _, c := range []struct {
		name string
		pod  *corev1.Pod
		want bool
	}{
		{"no condition", podIn(corev1.PodRunning, runs()), false},
		{"Ready", podIn(corev1.PodRunning, runs(), ready(corev1.ConditionTrue, "")), false},
		{"not Ready", podIn(corev1.PodRunning, runs(), ready(corev1.ConditionFalse, "ContainersNotReady")), true},
		{"it does not run", podIn(corev1.PodPending, ready(corev1.ConditionFalse, "ContainersNotReady")), false},
		{"it has ended", podIn(corev1.PodSucceeded, exits(0, "", ""), ready(corev1.ConditionFalse, "PodCompleted")),
			false},
	} {
		if got := ExecutorFacts(c.pod).Unready; got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestExecutorTaken checks for which pods DeletedWhileRunning returns true. The container must still run in the last
// state of the pod, even if an earlier deletion of the pod had a grace period. Some sorts of pods are exempt.
func TestExecutorTaken(t *testing.T) {
	deleting := func(pod *corev1.Pod) { pod.DeletionTimestamp = new(metav1.NewTime(noon)) }

	grace := func(seconds int64) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.TerminationGracePeriodSeconds = &seconds }
	}
	for _, c := range []struct {
		name string
		pod  *corev1.Pod
		want bool
	}{
		{"it runs", podIn(corev1.PodRunning, runs()), true},
		{"it runs, and an earlier deletion had a grace period",
			podIn(corev1.PodRunning, runs(), deleting, grace(30)), true},
		{"Spark deleted it, and it stopped", podIn(corev1.PodFailed, exits(143, "Error", ""), deleting), false},
		{"it exited, and a sidecar does not stop", podIn(corev1.PodRunning, exits(0, "Completed", ""), deleting),
			false},
		{"it exited, and Spark deleted it", podIn(corev1.PodSucceeded, exits(0, "Completed", ""), deleting), false},
		{"it failed", podIn(corev1.PodFailed, exits(1, "Error", "")), false},
		{"it never ran", podIn(corev1.PodPending, waits("ContainerCreating", ""), deleting), false},
		{"it was not even scheduled", podIn(corev1.PodPending), false},
		{"its own grace period is 0", podIn(corev1.PodRunning, runs(), deleting, grace(0)), false},
		{"Kubernetes evicts it", podIn(corev1.PodRunning, runs(), deleting, taint), false},
		{"its node no longer exists", podIn(corev1.PodFailed, runs(), taint), false},
		{"its node is lost", podIn(corev1.PodRunning, runs(), ready(corev1.ConditionFalse, ""), containersReady),
			false},
	} {
		if got := DeletedWhileRunning(c.pod); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
