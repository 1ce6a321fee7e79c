package observe

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/executors"
	"github.com/sparkoperator/spark-operator/internal/dialect/usage"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/churn"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// missingPods returns the last known pods of failed executors that no longer exist. The current pass handles these pods
// as if they existed, so that it counts the failures. Later passes ignore them.
//
// While the attempt is live or is being suspended, missingPods also returns its driver if that exited with code 0,
// because the attempt has then succeeded.
func (o Observer) missingPods(owner client.Object, pods []corev1.Pod, ends []churn.End) []corev1.Pod {
	if len(ends) == 0 {
		return nil
	}

	there := make(map[types.UID]bool, len(pods))
	for i := range pods {
		there[pods[i].UID] = true
	}

	awaited := false
	if counter, counts := o.Kind.(ExecutorCounter); counts {
		status := counter.ExecutorRecord(owner)
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
	counter, counts := o.Kind.(ExecutorCounter)
	if !counts || !slices.ContainsFunc(s.Ended, func(end churn.End) bool { return end.Gone }) {
		return nil
	}

	status := counter.ExecutorRecord(s.Owner)
	if status == nil {
		return nil
	}

	phase, tally, uid := lifecycle.Phase(status.Phase), executors.Decode(status.Executors), s.Owner.GetUID()

	names := make(map[string]bool, len(s.Set.Executors))
	for i := range s.Set.Executors {
		names[s.Set.Executors[i].Name] = true
	}

	var gone, counted []churn.End
	for _, end := range s.Ended {
		attempt := identity.Attempt(&end.Pod)

		end.Taken = end.Taken && driverWorks(s.Seen.Driver(attempt))
		switch {
		case !end.Gone, attempt > status.Attempt, identity.IsDriver(&end.Pod):
		case attempt < status.Attempt, countedIn(&end, tally):
			counted = append(counted, end)
		case (phase.Live() || phase.Terminal()) && !names[end.Pod.Name] && (identity.OwnedBy(&end.Pod, uid) || s.Set.Drives(&end.Pod)):
			gone = append(gone, end)
		}
	}

	o.Ended.Counted(identity.Key(s.Owner), settledIn(status, counted))
	slices.SortFunc(gone, func(a, b churn.End) int {
		return cmp.Or(dependents.CompareNames(a.Pod.Name, b.Pod.Name), cmp.Compare(a.Pod.UID, b.Pod.UID))
	})
	return factsOfEnded(slices.CompactFunc(gone, func(a, b churn.End) bool { return a.Pod.Name == b.Pod.Name }))
}

// countedIn reports whether a deleted executor is in the tally of the status. If somebody deleted the executor while it
// ran, it must be there as failed.
func countedIn(end *churn.End, tally executors.Tally) bool {
	id := executors.ID(end.Pod.Name)
	return tally.Has(id) && (!end.Taken || tally.Failed.Has(id))
}

// settledIn returns those of the counted executors whose end the stored usage has. An executor may be counted since it
// was pending, and have run since then.
func settledIn(status *statusv1.OperatorStatus, counted []churn.End) []churn.End {
	if status.Usage == nil {
		return counted
	}

	settled := executors.ParseIDs(status.Usage.Settled)
	return slices.DeleteFunc(counted, func(end churn.End) bool {
		return identity.Attempt(&end.Pod) == status.Attempt && end.Use.From > 0 && !settled.Has(usage.ID(end.Pod.Name, end.Use.From))
	})
}

// isOpen reports whether the stored usage contains an executor that had not ended.
func isOpen(stored *statusv1.OperatorUsage, end *churn.End) bool {
	return stored != nil && executors.ParseIDs(stored.Open).Has(usage.ID(end.Pod.Name, end.Use.From))
}

// gonePods returns the drivers and executors that events have shown to be gone, for the sums of usage. It leaves out
// executors that may belong to another driver: neither the custom resource nor an existing driver of it owns them, and
// the stored usage does not contain them.
func (o Observer) gonePods(s Observation) (gone []lifecycle.GonePod) {
	accountant, counts := o.Kind.(Accountant)
	if !counts || len(s.Ended) == 0 {
		return nil
	}

	var stored *statusv1.OperatorUsage
	if field := accountant.Usage(s.Owner); field != nil {
		stored = *field
	}

	for i := range s.Ended {
		end := &s.Ended[i]
		if end.Use.Until > 0 && (identity.OwnedBy(&end.Pod, s.Owner.GetUID()) || s.Set.Drives(&end.Pod) || s.Set.Keeps(&end.Pod) || isOpen(stored, end)) {
			gone = append(gone, lifecycle.GonePod{
				Name: end.Pod.Name, Attempt: identity.Attempt(&end.Pod), Driver: identity.IsDriver(&end.Pod), Use: end.Use,
			})
		}
	}
	return gone
}

func factsOfEnded(gone []churn.End) []lifecycle.Executor {
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
