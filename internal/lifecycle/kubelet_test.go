package lifecycle

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestEvictionsByKubelets checks the line and the way out for the messages that kubelets write into the status of an
// evicted pod (pkg/kubelet/eviction in Kubernetes). A restart does not help a pod that exceeds its own limit.
func TestEvictionsByKubelets(t *testing.T) {
	const used = "Container spark-kubernetes-driver was using 9Gi, request is 0, has larger consumption of "
	for message, c := range map[string]struct{ line, advice string }{
		"The node was low on resource: memory. Threshold quantity: 100Mi, available: 52Mi. " + used +
			"memory. ": {"The node was low on resource: memory. ", "request as much memory"},
		"The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 8Gi. " + used +
			"ephemeral-storage. ": {"The node was low on resource: ephemeral-storage. ",
			"request as much memory and ephemeral storage"},
		"The node had condition: [DiskPressure]. ":                                               {"The node had condition: [DiskPressure].", "request as much"},
		"Container spark-kubernetes-driver exceeded its local ephemeral storage limit \"1Gi\". ": {"exceeded its local ephemeral storage limit \"1Gi\".", "raise the limit"},
		"Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ":          {"Pod ephemeral local storage usage exceeds the total limit of containers 1Gi.", "raise the limit"},
		"Usage of EmptyDir volume \"spark-local-dir-1\" exceeds the limit \"1Gi\". ":             {"Usage of EmptyDir volume \"spark-local-dir-1\" exceeds the limit \"1Gi\".", "raise the limit"},
	} {
		for _, change := range []func(*corev1.Pod){exits(137, "Error", ""), func(*corev1.Pod) {}} {
			pod := podIn(corev1.PodFailed, saying("Evicted", message), change)
			for _, why := range []Cause{DriverFacts(pod, container).Why, ExecutorFacts(pod).Why} {
				checkEnding(t, message, why)

				if why.Reason != ReasonEvicted || !strings.Contains(why.Message, c.line) ||
					!strings.Contains(why.Advice, c.advice) {
					t.Errorf("%q: %+v", message, why)
				}
			}
		}
	}
}
