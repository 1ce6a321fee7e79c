package gang

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Task is a number of pods that are alike.
type Task struct {
	// Pod is one of them, as it will be created. Nil counts as a pod that asks for nothing.
	Pod *corev1.Pod
	// Count of them; none where it is not positive.
	Count int32
}

// Sum returns what all pods of the tasks ask for together. Resources that nobody asks for are missing.
func Sum(tasks ...Task) corev1.ResourceList {
	sum := corev1.ResourceList{}
	for _, task := range tasks {
		if task.Count <= 0 {
			continue
		}
		one := Requests(task.Pod)
		for name, amount := range one {
			amount.Mul(int64(task.Count))
			one[name] = amount
		}
		add(sum, one)
	}
	return sum
}

// Requests returns what a pod asks for as a Kubernetes scheduler counts it: the sum over its containers and those init containers that go on beside
// them (restartPolicy Always), but no less than an init container asks for with what goes on by then; what the pod asks for as a whole
// (spec.resources) in place of that; and the overhead of its runtime class where spec.overhead says it. Where a container has a limit and no
// request, the limit is its request, as the API server makes it. Zeros are left out.
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
		raise(most, need)
	}
	raise(sum, most)
	if pod.Spec.Resources != nil {
		maps.Copy(sum, requests(pod.Spec.Resources))
	}
	add(sum, pod.Spec.Overhead)
	maps.DeleteFunc(sum, func(_ corev1.ResourceName, amount resource.Quantity) bool { return amount.IsZero() })
	return sum
}

// requests are those of one container, as a list of its own.
func requests(of *corev1.ResourceRequirements) corev1.ResourceList {
	need := corev1.ResourceList{}
	for _, said := range []corev1.ResourceList{of.Limits, of.Requests} {
		for name, amount := range said {
			need[name] = amount.DeepCopy()
		}
	}
	return need
}

func add(to, what corev1.ResourceList) {
	for name, amount := range what {
		sum := to[name]
		if sum.IsZero() {
			sum.Format = amount.Format // memory stays in Mi
		}
		sum.Add(amount)
		to[name] = sum
	}
}

// raise makes each resource at least as much.
func raise(to, least corev1.ResourceList) {
	for name, amount := range least {
		if have, found := to[name]; !found || have.Cmp(amount) < 0 {
			to[name] = amount
		}
	}
}
