package lifecycle

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// PodUse is what a pod requests from its node, and for how long. All times in a pod are whole seconds, so the product
// of requests and time is exact.
type PodUse struct {
	Node     string // empty if it has no node yet
	Requests Requests
	// From is when the pod was assigned to a node, in seconds since 1970; 0 if it has no node yet.
	From int64
	// Until is when the pod stopped using its requests, in seconds since 1970; 0 if it still uses them.
	Until int64
}

// Requests are the requests of a pod: thousandths of a CPU, MiB of memory, and GPUs.
type Requests struct {
	MilliCPU, MiB, GPUs int64
}

// GonePod is a pod that ended or that no longer exists, as an event showed it.
type GonePod struct {
	Name    string
	Attempt int32
	Driver  bool // otherwise the pod is an executor
	Use     PodUse
}

// GPUResources are the resources that count as GPUs. Spark requests DOMAIN/gpu
// (spark.executor.resource.gpu.vendor); the other names are those of Intel's device plugin.
var GPUResources = []corev1.ResourceName{"nvidia.com/gpu", "amd.com/gpu", "intel.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe"}

// TotalGPU is the name under which a pod in the caches has the number of all its GPUs.
const TotalGPU corev1.ResourceName = "gpu"

// Use returns what a pod uses. The caches write the requests of the whole pod into its spec.resources.
func Use(pod *corev1.Pod) PodUse {
	use := PodUse{Requests: EffectiveRequests(pod)}
	if at := scheduledAt(pod); !at.IsZero() {
		use.Node, use.From = pod.Spec.NodeName, at.Unix()
		if end := releasedAt(pod); !end.IsZero() {
			use.Until = max(end.Unix(), use.From)
		}
	}
	return use
}

// GoneAt returns what a pod used that no longer exists since the given time.
func (u PodUse) GoneAt(at time.Time) PodUse {
	if u.From > 0 && u.Until == 0 {
		u.Until = max(at.Unix(), u.From)
	}
	return u
}

// releasedAt returns when a pod stopped using its requests: when its last container ended. It returns the zero time
// while a container may still run or restart. If the end of a container of an ended pod is unknown, because its node
// was lost or the pod was evicted before the container started, the last change of the pod's conditions counts.
func releasedAt(pod *corev1.Pod) (last time.Time) {
	over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if !over && (pod.DeletionTimestamp == nil || len(pod.Status.ContainerStatuses) == 0) {
		return time.Time{}
	}

	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			if end := statuses[i].State.Terminated; end == nil && !over {
				return time.Time{}
			} else if end != nil && end.FinishedAt.After(last) {
				last = end.FinishedAt.Time
			}
		}
	}

	if last.IsZero() || slices.ContainsFunc(pod.Status.ContainerStatuses, endUnknown) {
		for i := range pod.Status.Conditions {
			if at := pod.Status.Conditions[i].LastTransitionTime; at.After(last) {
				last = at.Time
			}
		}
	}
	return last
}

func endUnknown(c corev1.ContainerStatus) bool {
	return c.State.Terminated == nil || c.State.Terminated.FinishedAt.IsZero()
}

// EffectiveRequests returns what the scheduler reserves for a pod: the requests of its containers, or of an init
// container that needs more, and the overhead of its runtime class (KEP 753). Requests of the pod as a whole replace
// those of its containers (KEP 2837).
func EffectiveRequests(pod *corev1.Pod) Requests {
	var sum, most Requests // of what runs beside each other, and of the largest init container
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sum = sum.plus(requested(c.Resources.Requests))
			most = most.larger(sum)
		} else {
			most = most.larger(sum.plus(requested(c.Resources.Requests)))
		}
	}

	for i := range pod.Spec.Containers {
		sum = sum.plus(requested(pod.Spec.Containers[i].Resources.Requests))
	}

	sum = sum.larger(most)
	if pod.Spec.Resources != nil {
		whole := requested(pod.Spec.Resources.Requests)
		sum = Requests{MilliCPU: cmp.Or(whole.MilliCPU, sum.MilliCPU), MiB: cmp.Or(whole.MiB, sum.MiB), GPUs: cmp.Or(whole.GPUs, sum.GPUs)}
	}
	return sum.plus(requested(pod.Spec.Overhead))
}

func (r Requests) plus(o Requests) Requests {
	return Requests{MilliCPU: r.MilliCPU + o.MilliCPU, MiB: r.MiB + o.MiB, GPUs: r.GPUs + o.GPUs}
}

func (r Requests) larger(o Requests) Requests {
	return Requests{MilliCPU: max(r.MilliCPU, o.MilliCPU), MiB: max(r.MiB, o.MiB), GPUs: max(r.GPUs, o.GPUs)}
}

// maxRequest is larger than each request of a pod in a cluster. The limit keeps sums from overflowing.
const maxRequest = 1 << 40

// requested returns the requests in a list. It rounds an amount of memory to MiB.
func requested(list corev1.ResourceList) (r Requests) {
	for name, quantity := range list {
		switch {
		case name == corev1.ResourceCPU:
			r.MilliCPU = min(max(quantity.MilliValue(), 0), maxRequest)
		case name == corev1.ResourceMemory:
			r.MiB = min((max(quantity.Value(), 0)>>19+1)>>1, maxRequest)
		case name == TotalGPU || slices.Contains(GPUResources, name):
			r.GPUs += min(max(quantity.Value(), 0), maxRequest)
		}
	}
	return r
}
