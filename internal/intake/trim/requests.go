package trim

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// maxShapes is the number of different requests at which shapes is emptied. They take a few megabytes.
const maxShapes = 4096

// shapes holds the requests of pods. All pods with equal requests share one value, which nobody may change. The
// executors of an application usually have equal requests, so the requests take no memory for each of them.
var shapes struct {
	mu    sync.Mutex
	known map[lifecycle.Requests]*corev1.ResourceRequirements
}

// requestsOf returns the requests of a whole pod, as requests of the pod.
func requestsOf(pod *corev1.Pod) *corev1.ResourceRequirements {
	r := lifecycle.EffectiveRequests(pod)

	shapes.mu.Lock()
	defer shapes.mu.Unlock()

	if shared, known := shapes.known[r]; known {
		return shared
	}

	if shapes.known == nil || len(shapes.known) >= maxShapes {
		shapes.known = map[lifecycle.Requests]*corev1.ResourceRequirements{}
	}

	list := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(r.MilliCPU, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(r.MiB<<20, resource.BinarySI),
	}
	if r.GPUs > 0 {
		list[lifecycle.TotalGPU] = *resource.NewQuantity(r.GPUs, resource.DecimalSI)
	}

	shapes.known[r] = &corev1.ResourceRequirements{Requests: list}
	return shapes.known[r]
}
