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

// Requests returns the requests of a pod as a Kubernetes scheduler counts them. For each resource, this is the sum over
// the pod's containers and restartable init containers (restartPolicy Always). If an init container requests more,
// together with the restartable init containers that start before it, that larger amount counts instead. Requests of
// the pod as a whole (spec.resources) replace the sum. Finally spec.overhead, the overhead of the runtime class, is
// added. If a container has a limit and no request, its limit counts as its request, as the API server sets it.
// Resources whose amount is zero are omitted.
func Requests(pod *corev1.Pod) corev1.ResourceList {
	sum := corev1.ResourceList{}
	if pod == nil {
		return sum
	}
	for i := range pod.Spec.Containers {
		add(sum, requests(&pod.Spec.Containers[i].Resources))
	}
	beside, most := corev1.ResourceList{}, corev1.ResourceList{}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		need := requests(&c.Resources)
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
	if pod.Spec.Resources != nil {
		maps.Copy(sum, requests(pod.Spec.Resources))
	}
	add(sum, pod.Spec.Overhead)
	maps.DeleteFunc(sum, func(_ corev1.ResourceName, amount resource.Quantity) bool { return amount.IsZero() })
	return sum
}

// requests returns the requests of one container as a new list.
func requests(resources *corev1.ResourceRequirements) corev1.ResourceList {
	need := corev1.ResourceList{}
	for _, list := range []corev1.ResourceList{resources.Limits, resources.Requests} {
		for name, amount := range list {
			need[name] = amount.DeepCopy()
		}
	}
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

// raiseTo changes the list to so that it has at least the amounts of the list least.
func raiseTo(to, least corev1.ResourceList) {
	for name, amount := range least {
		if have, found := to[name]; !found || have.Cmp(amount) < 0 {
			to[name] = amount
		}
	}
}
