package gang

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Task is a number of pods that have the same spec.
type Task struct {
	// Pod is one of the pods, in the form in which it will be created. Nil counts as a pod without requests.
	Pod *corev1.Pod
	// Count is the number of pods. Zero and negative numbers mean no pods.
	Count int32
}

// Sum returns the sum of the requests of all pods of the tasks. It omits resources without a request.
func Sum(tasks ...Task) corev1.ResourceList {
	sum := corev1.ResourceList{}
	for _, task := range tasks {
		if task.Count <= 0 {
			continue
		}

		each := Requests(task.Pod)
		for name, amount := range each {
			amount.Mul(int64(task.Count))
			each[name] = amount
		}

		add(sum, each)
	}
	return sum
}

// Requests returns the requests of a pod as a Kubernetes scheduler counts them, without resources whose amount is zero.
// It computes the amount of each resource in these steps:
//
//   - The amount is the sum over the pod's containers and its restartable init containers (restartPolicy Always).
//   - An ordinary init container runs together with the restartable init containers that start before it. If the sum of
//     these is larger, the amount is this sum.
//   - If a container has a limit and no request, its limit counts as its request, as the API server sets it.
//   - A request of the pod as a whole (spec.resources) replaces the amount. A limit of the pod as a whole counts as its
//     request only if no container requests the resource.
//   - Finally, spec.overhead, the overhead of the runtime class, is added.
//
// A negative amount counts as zero. The API server refuses it, but only when the pod is created.
func Requests(pod *corev1.Pod) corev1.ResourceList {
	if pod == nil {
		return corev1.ResourceList{}
	}

	sum := peak(&pod.Spec, requests)
	if whole := pod.Spec.Resources; whole != nil {
		for name, amount := range clone(whole.Limits) {
			if _, found := sum[name]; !found {
				sum[name] = amount
			}
		}

		maps.Copy(sum, clone(whole.Requests))
	}

	add(sum, clone(pod.Spec.Overhead))
	return withoutZeros(sum)
}

// Limits returns the limits of a pod as a ResourceQuota counts them. For each resource, it takes the highest sum of the
// limits of containers that run at the same time. A limit of the pod as a whole (spec.resources) replaces this sum. The
// overhead of the runtime class (spec.overhead) is added only to resources that have a limit. Resources without a limit
// are omitted.
func Limits(pod *corev1.Pod) corev1.ResourceList {
	if pod == nil {
		return corev1.ResourceList{}
	}

	sum := peak(&pod.Spec, func(resources *corev1.ResourceRequirements) corev1.ResourceList { return clone(resources.Limits) })
	if pod.Spec.Resources != nil {
		maps.Copy(sum, clone(pod.Spec.Resources.Limits))
	}

	for name, amount := range clone(pod.Spec.Overhead) {
		if _, limited := sum[name]; limited {
			add(sum, corev1.ResourceList{name: amount})
		}
	}
	return withoutZeros(sum)
}

// peak returns the highest sum over the containers of a pod that run at the same time. The function amounts returns
// the resources of one container as a new list.
func peak(spec *corev1.PodSpec, amounts func(*corev1.ResourceRequirements) corev1.ResourceList) corev1.ResourceList {
	sum := corev1.ResourceList{}
	for i := range spec.Containers {
		add(sum, amounts(&spec.Containers[i].Resources))
	}

	beside, most := corev1.ResourceList{}, corev1.ResourceList{}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]

		need := amounts(&c.Resources)
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(sum, need)
			add(beside, need)
			need = maps.Clone(beside)
		} else {
			add(need, beside)
		}

		raiseTo(most, need)
	}

	raiseTo(sum, most)
	return sum
}

func withoutZeros(list corev1.ResourceList) corev1.ResourceList {
	maps.DeleteFunc(list, func(_ corev1.ResourceName, amount resource.Quantity) bool { return amount.IsZero() })
	return list
}

// clone returns a copy of a list in which negative amounts are zero.
func clone(list corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, amount := range list {
		if amount.Sign() < 0 {
			amount = resource.Quantity{Format: amount.Format}
		}

		out[name] = amount.DeepCopy()
	}
	return out
}

// requests returns the requests of one container as a new list.
func requests(resources *corev1.ResourceRequirements) corev1.ResourceList {
	need := clone(resources.Limits)
	maps.Copy(need, clone(resources.Requests))
	return need
}

func add(to, amounts corev1.ResourceList) {
	for name, amount := range amounts {
		sum := to[name]
		if sum.IsZero() {
			sum.Format = amount.Format // memory stays in Mi
		}

		sum.Add(amount)
		to[name] = sum
	}
}

// raiseTo raises each amount in list to at least the amount in minimum.
func raiseTo(list, minimum corev1.ResourceList) {
	for name, amount := range minimum {
		if have, found := list[name]; !found || have.Cmp(amount) < 0 {
			list[name] = amount
		}
	}
}
