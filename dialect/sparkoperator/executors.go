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
//
// The counts are those of all executors of the attempt (tally). The map holds at most limit entries: those that exist first, then the others,
// which keep their last entry.
func trackExecutors(s *v1beta2.SparkApplicationStatus, m lifecycle.Memory, pods []lifecycle.Executor, limit int) (news []lifecycle.Notice) {
	pods = slices.DeleteFunc(slices.Clone(pods), func(e lifecycle.Executor) bool { return e.Attempt != m.Attempt })
	before := decodeTally(s.Operator.Executors)
	var last v1beta2.ExecutorCounts
	if s.Executors != nil {
		last = *s.Executors
	}
	now, counts := before.next(last, pods)

	most := maxExecutorNews
	if len(before.failed) >= maxRanges {
		most = 0 // some that were told of may not be remembered
	}
	all, exists := map[string]v1beta2.ExecutorState{}, map[string]bool{}
	for name, was := range s.ExecutorState {
		all[name] = lastState(was, before.leaving.has(executorID(name)))
	}
	for i := range pods {
		pod := &pods[i]
		exists[pod.Name], all[pod.Name] = true, executorStates[pod.Phase]
		if pod.Phase == lifecycle.DriverFailed && !before.failed.has(executorID(pod.Name)) && len(news) < most {
			news = append(news, lifecycle.Notice{Part: lifecycle.Executors, Name: pod.Name, Attempt: pod.Attempt, Cause: pod.Why})
		}
	}
	s.ExecutorState, s.Executors, s.Operator.Executors = nil, nil, now.encode()
	if kept := bounded(all, exists, limit); len(kept) > 0 {
		s.ExecutorState = kept
	}
	if counts != (v1beta2.ExecutorCounts{}) {
		s.Executors = &counts
	}
	return news
}

// lastState is the state of an executor whose pod is gone; leaving where it was on its way to failing.
func lastState(was v1beta2.ExecutorState, leaving bool) v1beta2.ExecutorState {
	if was == v1beta2.ExecutorStateFailed || was != v1beta2.ExecutorStateCompleted && leaving {
		return v1beta2.ExecutorStateFailed
	}
	return v1beta2.ExecutorStateCompleted
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
