package status

import (
	"cmp"
	"slices"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/executors"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// trackExecutors updates status.executorState and the counts of executors. It returns a notice for each executor that
// failed after the previous pass. The argument pods contains the executors whose pods exist. The argument gone contains
// the executors whose pods were deleted before they were counted.
//
// The counts include all executors of the attempt (executors.Tally). The map executorState has at most limit entries.
// The executors whose pods exist come first, then the others with their last state.
func trackExecutors(s *v1beta2.SparkApplicationStatus, m lifecycle.Memory, pods, gone []lifecycle.Executor, limit int) (notices []lifecycle.Notice) {
	pods, gone = executors.Of(m, pods), executors.Of(m, gone)
	before := executors.Decode(s.Operator.Executors)

	all, exists := map[string]v1beta2.ExecutorState{}, map[string]bool{}
	for name, old := range s.ExecutorState {
		all[name] = lastState(old, before.Leaving.Has(executors.ID(name)))
	}

	for i := range pods {
		exists[pods[i].Name], all[pods[i].Name] = true, executors.States[pods[i].Phase]
	}

	for i := range gone {
		all[gone[i].Name] = executors.States[gone[i].Phase]
	}

	s.ExecutorState = nil
	if kept := bounded(all, exists, limit); len(kept) > 0 {
		s.ExecutorState = kept
	}

	s.Executors, notices = executors.Count(s.Operator, s.Executors, append(pods, gone...))
	return notices
}

// lastState returns the final state of an executor whose pod no longer exists. The argument old is the executor's last
// observed state. The argument leaving is true if the executor's node was lost, or if its pod was being evicted or
// preempted (executors.IsLeaving).
func lastState(old v1beta2.ExecutorState, leaving bool) v1beta2.ExecutorState {
	if old == v1beta2.ExecutorStateFailed || old != v1beta2.ExecutorStateCompleted && leaving {
		return v1beta2.ExecutorStateFailed
	}
	return v1beta2.ExecutorStateCompleted
}

// bounded returns at most limit entries of the map: first the existing executors, then the others, each sorted by name.
func bounded(all map[string]v1beta2.ExecutorState, exists map[string]bool, limit int) map[string]v1beta2.ExecutorState {
	if len(all) <= limit {
		return all
	}

	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}

	slices.SortFunc(names, func(a, b string) int {
		if exists[a] != exists[b] {
			if exists[a] {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) // exec-9 before exec-10
	})

	kept := make(map[string]v1beta2.ExecutorState, limit)
	for _, name := range names[:limit] {
		kept[name] = all[name]
	}
	return kept
}
