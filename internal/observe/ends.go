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

// missingPods returns the failed executors whose pods are gone. A pass decides as if these pods existed, and is
// repeated.
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
		if is := &ends[i]; !is.Gone && !there[is.Pod.UID] {
			failed = append(failed, is.Pod)
		}
	}
	return failed
}

// uncountedExecutors returns the executors that are gone and not counted yet: those of the status's attempt that the
// status has not counted and whose names no existing executor has. It forgets executors that the status has counted,
// and those of earlier attempts. Only counts and names include executors that are gone; decisions ignore them, since
// they may never have run.
//
// An executor that somebody deleted while its driver continues has failed. It counts as failed even if the status
// counted it before as running, or as completed because a pass saw it missing before its deletion was noted.
func (o Observer) uncountedExecutors(s Observation) []lifecycle.Executor {
	if o.Kind.Executors.Remembers == nil || !slices.ContainsFunc(s.Ends, func(is feed.End) bool { return is.Gone }) {
		return nil
	}
	was := o.Kind.Executors.Remembers(s.Owner)
	if was == nil {
		return nil
	}
	phase, tally, uid := lifecycle.Phase(was.Phase), dialect.DecodeTally(was.Executors), s.Owner.GetUID()
	names := make(map[string]bool, len(s.Set.Executors))
	for i := range s.Set.Executors {
		names[s.Set.Executors[i].Name] = true
	}
	var gone, counted []feed.End
	for _, is := range s.Ends {
		attempt := identity.Attempt(&is.Pod)
		is.Taken = is.Taken && works(s.Seen.Driver(attempt))
		switch {
		case !is.Gone, attempt > was.Attempt:
		case attempt < was.Attempt, countedIn(&is, tally):
			counted = append(counted, is)
		case (phase.Live() || phase.Terminal()) && !names[is.Pod.Name] && (identity.OwnedBy(&is.Pod, uid) || s.Set.Drives(&is.Pod)):
			gone = append(gone, is)
		}
	}
	o.Ended.Counted(identity.Key(s.Owner), counted)
	slices.SortFunc(gone, func(a, b feed.End) int {
		return cmp.Or(dependents.CompareNames(a.Pod.Name, b.Pod.Name), cmp.Compare(a.Pod.UID, b.Pod.UID))
	})
	return goneFacts(slices.CompactFunc(gone, func(a, b feed.End) bool { return a.Pod.Name == b.Pod.Name }))
}

// countedIn reports whether a tally counts an executor that is gone, and counts it as failed if somebody deleted it.
func countedIn(is *feed.End, tally dialect.Tally) bool {
	id := dialect.ExecutorID(is.Pod.Name)
	return tally.Has(id) && (!is.Taken || tally.Failed.Has(id))
}

func goneFacts(gone []feed.End) []lifecycle.Executor {
	facts := make([]lifecycle.Executor, 0, len(gone))
	for i := range gone {
		executor := lifecycle.ExecutorFacts(&gone[i].Pod, overlay.ExecutorContainer)
		if gone[i].Taken {
			executor = executor.Taken()
		}
		facts = append(facts, executor)
	}
	return facts
}

// works reports whether a driver continues, by the facts of the pass. If it does not, its executors end with it.
func works(driver *lifecycle.Driver) bool {
	return driver != nil && !driver.Deleting && driver.Phase != lifecycle.DriverSucceeded && driver.Phase != lifecycle.DriverFailed
}
