package sparkoperator

import (
	"cmp"
	"slices"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// executorStates are this API's words for a pod's phase.
var executorStates = map[lifecycle.DriverPhase]v1beta2.ExecutorState{
	lifecycle.DriverPending:   v1beta2.ExecutorStatePending,
	lifecycle.DriverRunning:   v1beta2.ExecutorStateRunning,
	lifecycle.DriverSucceeded: v1beta2.ExecutorStateCompleted,
	lifecycle.DriverFailed:    v1beta2.ExecutorStateFailed,
	lifecycle.DriverUnknown:   v1beta2.ExecutorStateUnknown,
}

// maxExecutorNews bounds how many failed executors one pass makes events of: when a node goes, hundreds may fail at once. The counts have
// them all.
const maxExecutorNews = 10

// trackExecutors brings status.executorState and the counts up to date, and returns the executors that failed since the last time.
// Executors whose pods are gone keep their last entry: Spark deletes an executor that it does not need any more, so one that went while
// the application was well has COMPLETED; one that went with a failed driver has FAILED.
//
// The map holds at most limit entries: those that exist first, then the others. An ended executor that had to leave it stays in the counts.
// Where more executors exist at once than the map has room for, the ended ones of those that have none are not counted: nothing would
// remember that they were.
func trackExecutors(s *v1beta2.SparkApplicationStatus, m lifecycle.Memory, pods []lifecycle.Executor, limit int) (news []lifecycle.Notice) {
	counts := forgottenExecutors(s)
	all := map[string]v1beta2.ExecutorState{}
	for name, was := range s.ExecutorState {
		all[name] = lastState(was, m.Outcome)
	}
	exists := map[string]bool{}
	for _, pod := range pods {
		if pod.Attempt == m.Attempt {
			exists[pod.Name], all[pod.Name] = true, executorStates[pod.Phase]
		}
	}
	kept := bounded(all, exists, limit)
	for name, state := range all {
		_, tracked := kept[name]
		if tracked || !exists[name] || state != v1beta2.ExecutorStateCompleted && state != v1beta2.ExecutorStateFailed {
			count(&counts, state)
		}
	}
	for _, pod := range pods {
		if kept[pod.Name] == v1beta2.ExecutorStateFailed && s.ExecutorState[pod.Name] != v1beta2.ExecutorStateFailed && len(news) < maxExecutorNews {
			news = append(news, lifecycle.Notice{Part: lifecycle.Executors, Name: pod.Name, Attempt: pod.Attempt, Cause: pod.Why})
		}
	}
	s.ExecutorState, s.Executors = nil, nil
	if len(kept) > 0 {
		s.ExecutorState = kept
	}
	if counts != (v1beta2.ExecutorCounts{}) {
		s.Executors = &counts
	}
	return news
}

// lastState is the state of an executor whose pod is gone.
func lastState(was v1beta2.ExecutorState, outcome lifecycle.Outcome) v1beta2.ExecutorState {
	switch {
	case was == v1beta2.ExecutorStateCompleted || was == v1beta2.ExecutorStateFailed:
		return was
	case outcome == lifecycle.Undecided || outcome == lifecycle.Succeeded:
		return v1beta2.ExecutorStateCompleted
	}
	return v1beta2.ExecutorStateFailed
}

// forgottenExecutors are the ended executors that are in the counts and not in the map any more.
func forgottenExecutors(s *v1beta2.SparkApplicationStatus) v1beta2.ExecutorCounts {
	if s.Executors == nil {
		return v1beta2.ExecutorCounts{}
	}
	var kept v1beta2.ExecutorCounts
	for _, state := range s.ExecutorState {
		count(&kept, state)
	}
	return v1beta2.ExecutorCounts{
		Completed: max(0, s.Executors.Completed-kept.Completed),
		Failed:    max(0, s.Executors.Failed-kept.Failed),
	}
}

func count(c *v1beta2.ExecutorCounts, state v1beta2.ExecutorState) {
	switch state {
	case v1beta2.ExecutorStatePending:
		c.Pending++
	case v1beta2.ExecutorStateRunning:
		c.Running++
	case v1beta2.ExecutorStateCompleted:
		c.Completed++
	case v1beta2.ExecutorStateFailed:
		c.Failed++
	default:
		c.Unknown++
	}
}

// bounded keeps at most limit entries, those that exist first, by name.
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
