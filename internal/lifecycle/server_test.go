package lifecycle

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestServerFacts checks that the pod of a Spark Connect server is read like a driver pod, and that messages call it a
// server.
func TestServerFacts(t *testing.T) {
	server := func(pod *corev1.Pod) { pod.Labels["spark-role"] = "connect-server" }
	deleted := func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: noon} }

	addressed := func(pod *corev1.Pod) { pod.Status.PodIP = "10.0.0.7" }
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want Cause
	}{
		"exit code without a known meaning": {podIn(corev1.PodFailed, server, exits(1, "Error", "")),
			Cause{Reason: "Error", Message: "server container failed with exit code 1"}},
		"exit code with a meaning in Spark": {podIn(corev1.PodFailed, server, exits(101, "Error", "")),
			Cause{Reason: "ClassNotFound", Message: "server container failed with exit code 101 (class not found)"}},
		"pod deleted": {podIn(corev1.PodFailed, server, deleted, exits(143, "Error", "")),
			Cause{Reason: ReasonDriverDeleted,
				Message: "server container failed with exit code 143 (SIGTERM): the server pod was deleted before it ended"}},
		"no container status": {podIn(corev1.PodFailed, server),
			Cause{Reason: "PodFailed", Message: "server pod failed; the status of its container is missing"}},
		"a driver is called a driver": {podIn(corev1.PodFailed, exits(1, "Error", "")),
			Cause{Reason: "Error", Message: "driver container failed with exit code 1"}},
	} {
		if diff := cmp.Diff(tc.want, DriverFacts(tc.pod, container).Why, withoutAdvice); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}

	if got := DriverFacts(podIn(corev1.PodRunning, server, addressed, runs()), container); got.Address != "10.0.0.7" ||
		got.Phase != DriverRunning {
		t.Errorf("facts %+v", got)
	}
}
