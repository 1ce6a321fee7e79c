package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/spark/gang"
)

// count checks the number of executors.
func (r *refusals) count(workers dialect.Workers) {
	limits := r.set.limits
	switch {
	case workers.Unlimited:
		r.add(workers.Field, "an unlimited or unreadable number of executors", "limits", "set a maximum as a plain number")
	case limits.Executors != nil && workers.Max > *limits.Executors:
		r.add(workers.Field, fmt.Sprintf("the number %d", workers.Max), "limits.executors", fmt.Sprintf("use at most %d", *limits.Executors))
	}
}

// These are the prefixes of names in Limits.Hard, as in a ResourceQuota.
const requestsPrefix, limitsPrefix = "requests.", "limits."

// sum is a limit of the sum of what the pods request, or of their limits (capped).
type sum struct {
	rule     string
	resource corev1.ResourceName
	capped   bool
	most     resource.Quantity
}

// extended reports whether the resource is an extended one such as nvidia.com/gpu. A container without a limit for it
// has none of it.
func (s sum) extended() bool { return strings.Contains(string(s.resource), "/") }

// sums returns the limits of sums. A name without a prefix is a request, as in a ResourceQuota.
func (l Limits) sums() (all []sum) {
	if l.Cores != nil {
		all = append(all, sum{"limits.cores", corev1.ResourceCPU, false, *l.Cores})
	}

	if l.Memory != nil {
		all = append(all, sum{"limits.memory", corev1.ResourceMemory, false, *l.Memory})
	}

	for _, name := range slices.Sorted(maps.Keys(l.Hard)) {
		plain, capped := strings.CutPrefix(string(name), limitsPrefix)
		plain = strings.TrimPrefix(plain, requestsPrefix)
		all = append(all, sum{"limits.hard[" + string(name) + "]", corev1.ResourceName(plain), capped, l.Hard[name]})
	}
	return all
}

// isCounted reports whether a name in Limits.Hard is an amount that containers request: CPU, memory, ephemeral storage,
// huge pages or an extended resource such as nvidia.com/gpu.
func isCounted(name string) bool {
	plain := strings.TrimPrefix(strings.TrimPrefix(name, requestsPrefix), limitsPrefix)
	switch corev1.ResourceName(plain) {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return true
	}
	return strings.HasPrefix(plain, corev1.ResourceHugePagesPrefix) || strings.Contains(plain, "/") && !strings.HasPrefix(plain, "count/") && !strings.Contains(plain, "storageclass.storage.k8s.io/")
}

// amounts checks the sums of the requests and of the limits of all pods.
func (r *refusals) amounts(pods []dialect.Pod, workers dialect.Workers) {
	if workers.Unlimited || len(r.set.sums) == 0 {
		return // count refuses an unlimited number
	}

	requests, limits := amountsOf(pods, gang.Requests), amountsOf(pods, gang.Limits)

	for _, limit := range r.set.sums {
		what, amounts := "requests", requests
		if limit.capped {
			what, amounts = "limits", limits
		}

		var total resource.Quantity
		for i := range pods {
			if limit.capped {
				r.capped(&pods[i], limit)
			}

			amount := amounts[i][limit.resource].DeepCopy() // Mul changes large amounts in place
			if pods[i].Worker && !amount.Mul(workers.Max) {
				amount = resource.MustParse("8E") // more than any limit
			}

			total.Add(amount)
		}

		if total.Cmp(limit.most) > 0 {
			r.add("spec", fmt.Sprintf("the sum %s of the pods' %s for %s", total.String(), what, limit.resource), limit.rule,
				fmt.Sprintf("use at most %s, with fewer or smaller executors", limit.most.String()))
		}
	}
}

// amountsOf returns the amounts of each pod.
func amountsOf(pods []dialect.Pod, count func(*corev1.Pod) corev1.ResourceList) (all []corev1.ResourceList) {
	for i := range pods {
		all = append(all, count(&corev1.Pod{Spec: *pods[i].Spec}))
	}
	return all
}

// capped refuses containers without a limit for a resource, or with the limit 0, which may use all of a node.
func (r *refusals) capped(pod *dialect.Pod, limit sum) {
	has := func(limits corev1.ResourceList) bool {
		return limits.Name(limit.resource, resource.DecimalSI).Sign() > 0
	}
	if limit.extended() || pod.Spec.Resources != nil && has(pod.Spec.Resources.Limits) {
		return
	}

	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			if !has(containers[i].Resources.Limits) {
				r.add(pod.Field, fmt.Sprintf("the container %s without a limit for %s", containers[i].Name, limit.resource), limit.rule, "set its limit")
			}
		}
	}
}

// devices refuses resource claims if extended resources are limited, because a claim can ask for the same devices.
func (r *refusals) devices(pod *dialect.Pod) {
	for _, limit := range r.set.sums {
		if limit.extended() && len(pod.Spec.ResourceClaims) > 0 {
			r.add(pod.Field, "the resource claim "+pod.Spec.ResourceClaims[0].Name+", whose devices the operator cannot count,", limit.rule, "request "+string(limit.resource))
		}
	}
}
