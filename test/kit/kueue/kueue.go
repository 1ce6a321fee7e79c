// Package kueue plays the queue Kueue in tests: its definitions, and a scheduler that reserves quota, admits, preempts,
// evicts, backs off and deactivates as Kueue's documents say. It is written from these documents, and contains no code
// of Kueue.
//
// The scheduler (Scheduler.Cycle) works on Workloads in memory, so that a simulation can use it without an API server.
// Queues runs it on a real API server.
package kueue

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/engine/kueue"
)

// ClusterQueue is a pool of quota.
type ClusterQueue struct {
	// Flavors are tried in this order. The quota of a flavor is by resource; other resources are not limited.
	Flavors []string
	Quota   map[string]corev1.ResourceList
	// Checks are admission checks, which somebody else has to set to Ready.
	Checks []string
	// Preempts lets Workloads take the quota of those of lower priority.
	Preempts bool
}

// Scheduler decides about Workloads.
type Scheduler struct {
	ClusterQueues map[string]*ClusterQueue
	LocalQueues   map[string]string // from NAMESPACE/NAME to a ClusterQueue
	// Backoff is the first back-off after a PodsReadyTimeout; each following one is twice as long.
	Backoff time.Duration
	// BackoffLimit is the number of such evictions after which a Workload is deactivated; 0: never.
	BackoffLimit int32
}

// Is reports whether a condition of a Workload is True.
func Is(w *kueue.Workload, condition string) bool {
	return meta.IsStatusConditionTrue(w.Status.Conditions, condition)
}

func set(w *kueue.Workload, condition string, status bool, reason, message string, now time.Time) {
	value := metav1.ConditionFalse
	if status {
		value = metav1.ConditionTrue
	}

	meta.SetStatusCondition(&w.Status.Conditions, metav1.Condition{
		Type: condition, Status: value, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now), ObservedGeneration: w.Generation,
	})
}

// Requests returns what the pods of a pod set request together: the sum of the containers and of the sidecars, or the
// largest init container if that is more.
func Requests(set *kueue.PodSet) corev1.ResourceList {
	sum, most := corev1.ResourceList{}, corev1.ResourceList{}
	add := func(list corev1.ResourceList) {
		for name, quantity := range list {
			all := sum[name]
			all.Add(quantity)
			sum[name] = all
		}
	}

	spec := &set.Template.Spec
	for i := range spec.Containers {
		add(spec.Containers[i].Resources.Requests)
	}

	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if c.RestartPolicy != nil {
			add(c.Resources.Requests)
			continue
		}

		for name, quantity := range c.Resources.Requests {
			if before, known := most[name]; !known || quantity.Cmp(before) > 0 {
				most[name] = quantity
			}
		}
	}

	for name, quantity := range most {
		if quantity.Cmp(sum[name]) > 0 {
			sum[name] = quantity
		}
	}

	add(spec.Overhead)

	for name, quantity := range sum {
		quantity.Mul(int64(set.Count))
		sum[name] = quantity
	}
	return sum
}

// usage is the used quota of a ClusterQueue, by flavor and resource.
type usage map[string]corev1.ResourceList

func (u usage) add(flavor string, list corev1.ResourceList, sign int) {
	if u[flavor] == nil {
		u[flavor] = corev1.ResourceList{}
	}

	for name, quantity := range list {
		all := u[flavor][name]
		if sign > 0 {
			all.Add(quantity)
		} else {
			all.Sub(quantity)
		}

		u[flavor][name] = all
	}
}

// of adds or subtracts what a Workload uses.
func (u usage) of(w *kueue.Workload, sign int) {
	for _, assigned := range w.Status.Admission.PodSetAssignments {
		for name, flavor := range assigned.Flavors {
			u.add(flavor, corev1.ResourceList{name: assigned.ResourceUsage[name]}, sign)
		}
	}
}

func (u usage) clone() usage {
	all := usage{}
	for flavor, list := range u {
		all[flavor] = maps.Clone(list)
	}
	return all
}

// assign returns an admission of a Workload that fits beside the usage, or nil and the reason.
func (q *ClusterQueue) assign(name string, w *kueue.Workload, used usage) (*kueue.Admission, string) {
	used = used.clone()

	admission := &kueue.Admission{ClusterQueue: name}
	for i := range w.Spec.PodSets {
		set := &w.Spec.PodSets[i]
		requests, why := Requests(set), ""

		chosen := slices.IndexFunc(q.Flavors, func(flavor string) bool {
			for _, resource := range slices.Sorted(maps.Keys(q.Quota[flavor])) {
				free := q.Quota[flavor][resource].DeepCopy()
				free.Sub(used[flavor][resource])

				if wanted := requests[resource]; wanted.Cmp(free) > 0 {
					missing := wanted.DeepCopy()
					missing.Sub(free)

					why = fmt.Sprintf("insufficient unused quota for %s in flavor %s, %s more needed", resource, flavor, missing.String())
					return false
				}
			}
			return true
		})
		if chosen < 0 {
			return nil, "couldn't assign flavors to pod set " + set.Name + ": " + why
		}

		flavor, limited := q.Flavors[chosen], corev1.ResourceList{}

		assignment := kueue.PodSetAssignment{Name: set.Name, Count: new(set.Count), Flavors: map[corev1.ResourceName]string{}}
		for resource := range q.Quota[flavor] {
			if quantity, requested := requests[resource]; requested {
				limited[resource], assignment.Flavors[resource] = quantity, flavor
			}
		}

		assignment.ResourceUsage = limited
		used.add(flavor, limited, 1)

		admission.PodSetAssignments = append(admission.PodSetAssignments, assignment)
	}
	return admission, ""
}

// Used returns the quota that Workloads hold in a ClusterQueue.
func Used(name string, all []*kueue.Workload) map[string]corev1.ResourceList {
	used := usage{}
	for _, w := range all {
		if Is(w, kueue.QuotaReserved) && !Is(w, kueue.Finished) && w.Status.Admission != nil && w.Status.Admission.ClusterQueue == name {
			used.of(w, 1)
		}
	}
	return used
}

// Evict evicts a Workload with quota.
func (s *Scheduler) Evict(w *kueue.Workload, reason, message string, now time.Time) {
	set(w, kueue.Evicted, true, reason, message, now)

	for i := range w.Status.AdmissionChecks {
		check := &w.Status.AdmissionChecks[i]
		check.State, check.Message, check.PodSetUpdates = "Pending", "Reset to Pending after eviction. Previously: "+check.State, nil
	}

	if reason != "PodsReadyTimeout" {
		return
	}

	count := int32(1)
	if state := w.Status.RequeueState; state != nil && state.Count != nil {
		count += *state.Count
	}

	if s.BackoffLimit > 0 && count > s.BackoffLimit {
		w.Spec.Active = new(false)
		set(w, kueue.Evicted, true, "DeactivatedDueToRequeuingLimitExceeded", "The workload is deactivated after too many evictions", now)
		return
	}

	w.Status.RequeueState = &kueue.RequeueState{Count: &count, RequeueAt: new(metav1.NewTime(now.Add(s.Backoff << (count - 1))))}
}

// requeue makes an evicted Workload without quota wait in its queue again when nothing is against it any more.
func requeue(w *kueue.Workload, now time.Time) {
	requeued := meta.FindStatusCondition(w.Status.Conditions, kueue.Requeued)
	if requeued == nil || requeued.Status == metav1.ConditionTrue {
		return
	}

	state := w.Status.RequeueState
	switch {
	case strings.HasPrefix(requeued.Reason, "DeactivatedDueTo"): // older releases of Kueue know only the plain reason
	case requeued.Reason == "Deactivated":
		set(w, kueue.Requeued, true, "Reactivated", "The workload was reactivated", now)

		w.Status.RequeueState = nil
	case state == nil || state.RequeueAt == nil || !state.RequeueAt.After(now):
		set(w, kueue.Requeued, true, "BackoffFinished", "The workload backoff was finished", now)
	}
}

// Cycle decides once about all Workloads, and changes their statuses.
func (s *Scheduler) Cycle(all []*kueue.Workload, now time.Time) {
	var pending []*kueue.Workload
	for _, w := range all {
		inactive := w.Spec.Active != nil && !*w.Spec.Active
		switch {
		case Is(w, kueue.Finished) || w.DeletionTimestamp != nil:
		case inactive && !Is(w, kueue.Evicted):
			s.Evict(w, "Deactivated", "The workload is deactivated", now)

			if !Is(w, kueue.QuotaReserved) {
				set(w, kueue.Requeued, false, "Deactivated", "The workload is deactivated", now)
			}
		case inactive || Is(w, kueue.Evicted) && Is(w, kueue.QuotaReserved):
		case Is(w, kueue.QuotaReserved):
			s.admit(w, now)
		default:
			requeue(w, now)

			if c := meta.FindStatusCondition(w.Status.Conditions, kueue.Requeued); c == nil || c.Status == metav1.ConditionTrue {
				pending = append(pending, w)
			}
		}
	}

	slices.SortStableFunc(pending, func(a, b *kueue.Workload) int {
		return cmp.Or(cmp.Compare(priority(b), priority(a)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name))
	})

	used := s.used(all)
	for _, w := range pending {
		s.reserve(w, all, used, now)
	}
}

// used returns the used quota by ClusterQueue.
func (s *Scheduler) used(all []*kueue.Workload) map[string]usage {
	used := map[string]usage{}
	for name := range s.ClusterQueues {
		used[name] = Used(name, all)
	}
	return used
}

func priority(w *kueue.Workload) int32 {
	if w.Spec.Priority == nil {
		return 0
	}
	return *w.Spec.Priority
}

// reserve gives a Workload quota, or takes it from others.
func (s *Scheduler) reserve(w *kueue.Workload, all []*kueue.Workload, usedBy map[string]usage, now time.Time) {
	name := s.LocalQueues[w.Namespace+"/"+w.Spec.QueueName]

	queue := s.ClusterQueues[name]
	if queue == nil {
		set(w, kueue.QuotaReserved, false, "Inadmissible", fmt.Sprintf("LocalQueue %s doesn't exist", w.Spec.QueueName), now)
		return
	}

	used := usedBy[name]

	admission, why := queue.assign(name, w, used)
	if admission == nil {
		set(w, kueue.QuotaReserved, false, "WaitingForQuota", why, now)

		if queue.Preempts {
			s.preempt(queue, name, w, all, used, now)
		}
		return
	}

	w.Status.Admission = admission
	used.of(w, 1)
	set(w, kueue.QuotaReserved, true, "QuotaReserved", "Quota reserved in ClusterQueue "+name, now)

	if Is(w, kueue.Evicted) {
		set(w, kueue.Evicted, false, "QuotaReserved", "Previously: evicted", now)
	}

	for _, check := range queue.Checks {
		if !slices.ContainsFunc(w.Status.AdmissionChecks, func(c kueue.AdmissionCheckState) bool { return c.Name == check }) {
			w.Status.AdmissionChecks = append(w.Status.AdmissionChecks, kueue.AdmissionCheckState{Name: check, State: "Pending", LastTransitionTime: metav1.NewTime(now)})
		}
	}

	s.admit(w, now)
}

// admit admits a Workload with quota when its admission checks are ready.
func (s *Scheduler) admit(w *kueue.Workload, now time.Time) {
	open := slices.IndexFunc(w.Status.AdmissionChecks, func(c kueue.AdmissionCheckState) bool { return c.State != "Ready" })
	switch {
	case open < 0:
		set(w, kueue.Admitted, true, "Admitted", "The workload is admitted", now)
	case w.Status.AdmissionChecks[open].State == "Retry":
		s.Evict(w, "AdmissionCheck", "At least one admission check is false", now)
	}
}

// preempt evicts Workloads of lower priority until the given one would fit. Their quota is free only when their owners
// have given it back.
func (s *Scheduler) preempt(queue *ClusterQueue, name string, w *kueue.Workload, all []*kueue.Workload, used usage, now time.Time) {
	var victims []*kueue.Workload
	for _, other := range all {
		if Is(other, kueue.QuotaReserved) && !Is(other, kueue.Finished) && other.Status.Admission.ClusterQueue == name && priority(other) < priority(w) {
			victims = append(victims, other)
		}
	}

	if len(victims) == 0 {
		return
	}

	slices.SortStableFunc(victims, func(a, b *kueue.Workload) int {
		return cmp.Or(-compare(Is(a, kueue.Evicted), Is(b, kueue.Evicted)), cmp.Compare(priority(a), priority(b)), -a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
	})

	used = used.clone()
	for i, victim := range victims {
		used.of(victim, -1)

		if admission, _ := queue.assign(name, w, used); admission == nil {
			continue
		}

		for _, victim := range victims[:i+1] {
			if !Is(victim, kueue.Evicted) {
				s.Evict(victim, "Preempted", fmt.Sprintf("Preempted to accommodate a workload (%s) due to prioritization in the ClusterQueue", w.Name), now)
				set(victim, "Preempted", true, "InClusterQueue", "Preempted", now)
			}
		}
		return
	}
}

func compare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// Quantities returns a list of resources, from their names and values in turn.
func Quantities(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i+1 < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}
