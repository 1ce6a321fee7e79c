package lifecycle

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestExecutorReadiness: an executor that runs is Unready where Kubernetes says so, and one of which nobody said anything is not.
func TestExecutorReadiness(t *testing.T) {
	for _, c := range []struct {
		name string
		pod  *corev1.Pod
		want bool
	}{
		{"nobody says", podIn(corev1.PodRunning, runs()), false},
		{"Ready", podIn(corev1.PodRunning, runs(), ready(corev1.ConditionTrue, "")), false},
		{"not Ready", podIn(corev1.PodRunning, runs(), ready(corev1.ConditionFalse, "ContainersNotReady")), true},
		{"it does not run", podIn(corev1.PodPending, ready(corev1.ConditionFalse, "ContainersNotReady")), false},
		{"it has ended", podIn(corev1.PodSucceeded, exits(0, "", ""), ready(corev1.ConditionFalse, "PodCompleted")), false},
	} {
		if got := ExecutorFacts(c.pod, container).Unready; got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
