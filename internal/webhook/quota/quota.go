// Package quota decides whether the pods of a custom resource can ever fit the ResourceQuotas of their namespace. It
// compares the pods with the quotas' limits (spec.hard) and not with the amounts that are free now, because the used
// amounts change all the time.
//
// The result is a lower bound, so that a custom resource that fits is never reported. Admission controllers may still
// change pods: a LimitRange adds requests, a RuntimeClass adds overhead, and a global default adds a priority class.
// Therefore the package counts only what the pods themselves request. It compares a pod with a quota only if no such
// change can make the quota ignore the pod.
package quota

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

// Excess describes a resource for which the pods of a custom resource need more than a quota allows.
type Excess struct {
	// Quota is the name of the ResourceQuota, and Resource the name of the resource in its spec.hard.
	Quota    string
	Resource corev1.ResourceName
	// Needed is the amount that the pods need together, and Hard the amount that the quota allows.
	Needed, Hard resource.Quantity
	// Pods describes the pods that the quota counts, such as "1 driver and 10 executors".
	Pods string
}

// counted is a group of equal pods: their number, and the amounts that one pod uses.
type counted struct {
	dialect.Pods
	requests, limits corev1.ResourceList
}

// Exceeded returns the resources for which the pods together need more than a quota allows, sorted by quota and
// resource. The result is empty if the pods fit into the namespace while nothing else runs there.
func Exceeded(quotas []corev1.ResourceQuota, pods []dialect.Pods) (all []Excess) {
	if len(quotas) == 0 {
		return nil
	}

	var each []counted
	for _, p := range pods {
		if p.Count > 0 && p.Pod != nil {
			each = append(each, counted{Pods: p, requests: gang.Requests(p.Pod), limits: gang.Limits(p.Pod)})
		}
	}

	for i := range quotas {
		all = append(all, exceededOf(&quotas[i], each)...)
	}

	slices.SortStableFunc(all, func(a, b Excess) int { return strings.Compare(a.Quota, b.Quota) })
	return all
}

func exceededOf(quota *corev1.ResourceQuota, pods []counted) (all []Excess) {
	pods = slices.Clone(pods)

	pods = slices.DeleteFunc(pods, func(p counted) bool { return !counts(&quota.Spec, &p) })
	if len(pods) == 0 {
		return nil
	}

	for _, name := range slices.Sorted(maps.Keys(quota.Spec.Hard)) {
		var needed resource.Quantity
		for i := range pods {
			amount := pods[i].amount(name)
			amount.Mul(int64(pods[i].Count))

			if needed.IsZero() {
				needed.Format = amount.Format // otherwise memory would not be printed in Mi
			}

			needed.Add(amount)
		}

		if hard := quota.Spec.Hard[name]; needed.Cmp(hard) > 0 {
			all = append(all, Excess{Quota: quota.Name, Resource: name, Needed: needed, Hard: hard.DeepCopy(), Pods: described(pods)})
		}
	}
	return all
}

// These are the prefixes of resource names in a quota.
const (
	requestsPrefix = "requests."
	limitsPrefix   = "limits."
)

// isCount reports whether a resource of a quota is the number of pods.
func isCount(name corev1.ResourceName) bool {
	return name == corev1.ResourcePods || name == "count/pods"
}

// countsPods reports whether a quota's resource is about pods: their number, or an amount that they request or may use
// at most.
func countsPods(name corev1.ResourceName) bool {
	text := string(name)
	return isCount(name) || name == corev1.ResourceCPU || name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage ||
		strings.HasPrefix(text, corev1.ResourceHugePagesPrefix) || strings.HasPrefix(text, limitsPrefix) ||
		strings.HasPrefix(text, requestsPrefix) && name != corev1.ResourceRequestsStorage
}

// amount returns the amount of a quota's resource that one pod uses. It is zero for a resource that is not about pods.
func (p *counted) amount(name corev1.ResourceName) resource.Quantity {
	switch text := string(name); {
	case isCount(name):
		return *resource.NewQuantity(1, resource.DecimalSI)
	case strings.HasPrefix(text, limitsPrefix):
		return quantityOf(p.limits, text[len(limitsPrefix):])
	case countsPods(name):
		return quantityOf(p.requests, strings.TrimPrefix(text, requestsPrefix))
	}
	return resource.Quantity{}
}

func quantityOf(list corev1.ResourceList, name string) resource.Quantity {
	amount := list[corev1.ResourceName(name)]
	return amount.DeepCopy()
}

// described returns the pods as text, such as "1 driver and 10 executors".
func described(pods []counted) string {
	var parts []string
	for i := range pods {
		part := fmt.Sprintf("%d %s", pods[i].Count, pods[i].Role)
		if pods[i].Count > 1 {
			part += "s"
		}

		parts = append(parts, part)
	}
	return strings.Join(parts, " and ")
}

// counts reports whether a quota certainly applies to a pod. It does if each scope of the quota certainly contains the
// pod (inScope).
func counts(quota *corev1.ResourceQuotaSpec, p *counted) bool {
	for _, scope := range quota.Scopes {
		if !inScope(corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists}, p) {
			return false
		}
	}

	if quota.ScopeSelector == nil {
		return true
	}

	for _, requirement := range quota.ScopeSelector.MatchExpressions {
		if !inScope(requirement, p) {
			return false
		}
	}
	return true
}

// inScope reports whether a scope certainly contains a pod. It returns false if the answer depends on how admission
// controllers change the pod: a pod without a priority class may get the global default, and a pod without requests may
// get those of a LimitRange. A pod is therefore never certainly in the scope BestEffort. inScope also returns false for
// all scopes that it does not evaluate, such as CrossNamespacePodAffinity.
func inScope(requirement corev1.ScopedResourceSelectorRequirement, p *counted) bool {
	deadline := p.Pod.Spec.ActiveDeadlineSeconds
	switch requirement.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return deadline != nil
	case corev1.ResourceQuotaScopeNotTerminating:
		return deadline == nil
	case corev1.ResourceQuotaScopeNotBestEffort:
		for _, list := range []corev1.ResourceList{p.requests, p.limits} {
			if !list.Cpu().IsZero() || !list.Memory().IsZero() {
				return true
			}
		}
		return false
	case corev1.ResourceQuotaScopePriorityClass:
		class := p.Pod.Spec.PriorityClassName
		if class == "" {
			return false
		}

		switch requirement.Operator {
		case corev1.ScopeSelectorOpExists:
			return true
		case corev1.ScopeSelectorOpIn:
			return slices.Contains(requirement.Values, class)
		case corev1.ScopeSelectorOpNotIn:
			return !slices.Contains(requirement.Values, class)
		}
	}
	return false
}
