package observe

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/feed"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// missingPods returns the last known pods of failed executors if these pods no longer exist. The current pass treats
// them as existing pods, and a later pass ignores them.
func missingPods(pods []corev1.Pod, ends []feed.End) []corev1.Pod {
	if len(ends) == 0 {
		return nil
	}
	there := make(map[types.UID]bool, len(pods))
	for i := range pods {
		there[pods[i].UID] = true
	}
	var failed []corev1.Pod
	for i := range ends {
		if end := &ends[i]; !end.Gone && !there[end.Pod.UID] {
			failed = append(failed, end.Pod)
		}
	}
	return failed
}

// uncountedExecutors returns the deleted executors that the status does not count yet. They belong to the attempt in
// the status, and no existing executor has their names. uncountedExecutors also drops executors from o.Ended: those
// that the status has counted, and those of earlier attempts. Deleted executors affect only the counts and names in the
// status. Decisions ignore them, because a deleted executor may never have run.
//
// An executor has failed if somebody deleted it while its driver continued. It counts as failed even if the status has
// counted it as running, or as completed. The status counts an executor as completed if a pass finds the pod missing
// before o.Ended has a record of the deletion.
func (o Observer) uncountedExecutors(s Observation) []lifecycle.Executor {
	if o.Kind.Executors.Remembers == nil || !slices.ContainsFunc(s.Ended, func(end feed.End) bool { return end.Gone }) {
		return nil
	}
	status := o.Kind.Executors.Remembers(s.Owner)
	if status == nil {
		return nil
	}
	phase, tally, uid := lifecycle.Phase(status.Phase), dialect.DecodeTally(status.Executors), s.Owner.GetUID()
	names := make(map[string]bool, len(s.Set.Executors))
	for i := range s.Set.Executors {
		names[s.Set.Executors[i].Name] = true
	}
	var gone, counted []feed.End
	for _, end := range s.Ended {
		attempt := identity.Attempt(&end.Pod)
		end.Taken = end.Taken && driverWorks(s.Seen.Driver(attempt))
		switch {
		case !end.Gone, attempt > status.Attempt:
		case attempt < status.Attempt, countedIn(&end, tally):
			counted = append(counted, end)
		case (phase.Live() || phase.Terminal()) && !names[end.Pod.Name] && (identity.OwnedBy(&end.Pod, uid) || s.Set.Drives(&end.Pod)):
			gone = append(gone, end)
		}
	}
	o.Ended.Counted(identity.Key(s.Owner), counted)
	slices.SortFunc(gone, func(a, b feed.End) int {
		return cmp.Or(dependents.CompareNames(a.Pod.Name, b.Pod.Name), cmp.Compare(a.Pod.UID, b.Pod.UID))
	})
	return factsOfEnded(slices.CompactFunc(gone, func(a, b feed.End) bool { return a.Pod.Name == b.Pod.Name }))
}

// countedIn reports whether a tally has counted a deleted executor. An executor that somebody deleted while it ran is
// counted only if the tally has it as failed.
func countedIn(end *feed.End, tally dialect.Tally) bool {
	id := dialect.ExecutorID(end.Pod.Name)
	return tally.Has(id) && (!end.Taken || tally.Failed.Has(id))
}

func factsOfEnded(gone []feed.End) []lifecycle.Executor {
	facts := make([]lifecycle.Executor, 0, len(gone))
	for i := range gone {
		executor := lifecycle.ExecutorFacts(&gone[i].Pod, overlay.ExecutorContainer)
		if gone[i].Taken {
			executor = executor.AsDeleted()
		}
		facts = append(facts, executor)
	}
	return facts
}

// driverWorks reports whether the driver exists, is not being deleted and has not ended, according to the facts of the
// pass. If it does not work, the deletion of an executor is no failure, because executors end with their driver.
func driverWorks(driver *lifecycle.Driver) bool {
	return driver != nil && !driver.Deleting && driver.Phase != lifecycle.DriverSucceeded && driver.Phase != lifecycle.DriverFailed
}
