package observe

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/intake/handlers"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// missingPods returns the last known pods of failed executors that no longer exist. The current pass handles these pods
// as if they existed, so that it counts the failures. Later passes ignore them.
//
// While the attempt is live or is being suspended, missingPods also returns its driver if that exited with code 0,
// because the attempt has then succeeded.
func (o Observer) missingPods(owner client.Object, pods []corev1.Pod, ends []handlers.End) []corev1.Pod {
	if len(ends) == 0 {
		return nil
	}

	there := make(map[types.UID]bool, len(pods))
	for i := range pods {
		there[pods[i].UID] = true
	}

	awaited := false
	if o.Kind.Executors.Remembers != nil {
		status := o.Kind.Executors.Remembers(owner)
		awaited = status != nil && (lifecycle.Phase(status.Phase).Live() || lifecycle.Phase(status.Phase) == lifecycle.Suspending)
	}

	var failed []corev1.Pod
	for i := range ends {
		if end := &ends[i]; !end.Gone && !there[end.Pod.UID] && (awaited || !identity.IsDriver(&end.Pod)) {
			failed = append(failed, end.Pod)
		}
	}
	return failed
}

// uncountedExecutors returns the deleted executors of the current attempt that the status does not count yet. It skips
// a deleted executor if an existing executor has the same name. The result affects only the counts and names in the
// status. Decisions ignore it, because a deleted executor may never have run. uncountedExecutors also removes from
// o.Ended the executors that the status has counted, and those of earlier attempts.
//
// An executor has failed if somebody deleted it while its driver continued. The status may already count this executor
// as running or as completed, for example because an earlier pass found the pod missing before o.Ended had a record of
// the deletion. The executor nevertheless counts as failed.
func (o Observer) uncountedExecutors(s Observation) []lifecycle.Executor {
	if o.Kind.Executors.Remembers == nil || !slices.ContainsFunc(s.Ended, func(end handlers.End) bool { return end.Gone }) {
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

	var gone, counted []handlers.End
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
	slices.SortFunc(gone, func(a, b handlers.End) int {
		return cmp.Or(dependents.CompareNames(a.Pod.Name, b.Pod.Name), cmp.Compare(a.Pod.UID, b.Pod.UID))
	})
	return factsOfEnded(slices.CompactFunc(gone, func(a, b handlers.End) bool { return a.Pod.Name == b.Pod.Name }))
}

// countedIn reports whether a deleted executor is in the tally of the status. If somebody deleted the executor while it
// ran, it must be there as failed.
func countedIn(end *handlers.End, tally dialect.Tally) bool {
	id := dialect.ExecutorID(end.Pod.Name)
	return tally.Has(id) && (!end.Taken || tally.Failed.Has(id))
}

func factsOfEnded(gone []handlers.End) []lifecycle.Executor {
	facts := make([]lifecycle.Executor, 0, len(gone))
	for i := range gone {
		executor := lifecycle.ExecutorFacts(&gone[i].Pod)
		if gone[i].Taken {
			executor = executor.AsDeleted()
		}

		facts = append(facts, executor)
	}
	return facts
}

// driverWorks reports whether the driver exists, is not being deleted and has not ended, according to the facts of the
// pass. Executors end with their driver, so the deletion of an executor is a failure only while the driver works.
func driverWorks(driver *lifecycle.Driver) bool {
	return driver != nil && !driver.Deleting && driver.Phase != lifecycle.DriverSucceeded && driver.Phase != lifecycle.DriverFailed
}
