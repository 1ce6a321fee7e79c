package dialect

import (
	"hash/fnv"
	"math"
	"strconv"
	"strings"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// A Tally counts the executors of an attempt, each once, however many exist at once and whatever status.executorState has room for. What it
// remembers grows with the gaps in Spark's numbers and with the failed pods that are kept, not with the executors.
type Tally struct {
	seen    IDSet // all that were ever seen
	Failed  IDSet // of those that exist, the failed ones
	Leaving IDSet // of those that exist, the ones that failed if they are not there any more: their nodes are lost, or they are taken from them
	gone    int64 // failed and do not exist any more
}

// DecodeTally reads what Encode stored.
func DecodeTally(o *statusv1.OperatorExecutors) Tally {
	if o == nil {
		return Tally{}
	}
	return Tally{seen: ParseIDs(o.Seen), Failed: ParseIDs(o.Failed), Leaving: ParseIDs(o.Leaving), gone: int64(o.FailedAndGone)}
}

// Has reports whether an executor was counted.
func (t Tally) Has(id int64) bool { return t.seen.Has(id) }

// Encode returns nil for a tally of nothing.
func (t Tally) Encode() *statusv1.OperatorExecutors {
	if len(t.seen) == 0 {
		return nil
	}
	return &statusv1.OperatorExecutors{
		Seen: t.seen.closed(MaxRanges).String(), Failed: t.Failed.Cut(MaxRanges).String(), Leaving: t.Leaving.Cut(MaxRanges).String(),
		FailedAndGone: int32(min(t.gone, math.MaxInt32)),
	}
}

// ExecutorsOf are the executors of the attempt that a memory speaks of. What a driver that ended well leaves behind has nothing more to do: it has completed then,
// and not only when Kubernetes has taken it away, which would be one more write of each status.
func ExecutorsOf(m lifecycle.Memory, seen []lifecycle.Executor) []lifecycle.Executor {
	over := m.Outcome == lifecycle.Succeeded && !m.Phase.Live()
	var pods []lifecycle.Executor
	for i := range seen {
		if seen[i].Attempt != m.Attempt {
			continue
		}
		pods = append(pods, seen[i])
		if pod := &pods[len(pods)-1]; over && (pod.Phase == lifecycle.DriverPending || pod.Phase == lifecycle.DriverRunning) {
			pod.Phase = lifecycle.DriverSucceeded
		}
	}
	return pods
}

// CountExecutors brings the tally in o up to date with the pods of an attempt that exist now, and returns the counts, nil where there are none, and the
// executors that failed since the last time. Last are the counts of that time.
func CountExecutors(o *statusv1.OperatorStatus, last *statusv1.ExecutorCounts, pods []lifecycle.Executor) (counts *statusv1.ExecutorCounts, news []lifecycle.Notice) {
	before := DecodeTally(o.Executors)
	if last == nil {
		last = &statusv1.ExecutorCounts{}
	}
	now, counted := before.Next(*last, pods)
	most := MaxExecutorNews
	if len(before.Failed) >= MaxRanges {
		most = 0 // some that were told of may not be remembered
	}
	for i := range pods {
		pod := &pods[i]
		if pod.Phase == lifecycle.DriverFailed && !before.Failed.Has(ExecutorID(pod.Name)) && len(news) < most {
			news = append(news, lifecycle.Notice{Part: lifecycle.Executors, Name: pod.Name, Attempt: pod.Attempt, Cause: pod.Why})
		}
	}
	o.Executors = now.Encode()
	if counted != (statusv1.ExecutorCounts{}) {
		counts = &counted
	}
	return counts, news
}

// Next is the tally of the pods that exist now, with the counts that follow from it and from those of the last time. An executor that is gone
// and neither failed nor was on its way to it has completed: Spark and the operator delete what is not needed any more, and what fails is seen
// to fail first.
func (t Tally) Next(last statusv1.ExecutorCounts, pods []lifecycle.Executor) (Tally, statusv1.ExecutorCounts) {
	now := Tally{seen: t.seen, gone: t.gone + t.Failed.len() + t.Leaving.len()}
	total := int64(last.Pending) + int64(last.Running) + int64(last.Completed) + int64(last.Failed) + int64(last.Unknown)
	var counts statusv1.ExecutorCounts
	for i := range pods {
		id := ExecutorID(pods[i].Name)
		if now.seen.Add(id) {
			total++
		}
		if t.Failed.Has(id) || t.Leaving.Has(id) {
			now.gone--
		}
		switch {
		case pods[i].Phase == lifecycle.DriverFailed:
			now.Failed.Add(id)
		case Leaving(&pods[i]):
			now.Leaving.Add(id)
		}
		if pods[i].Phase != lifecycle.DriverSucceeded && pods[i].Phase != lifecycle.DriverFailed {
			Count(&counts, ExecutorStates[pods[i].Phase])
		}
	}
	live := int64(counts.Pending) + int64(counts.Running) + int64(counts.Unknown)
	counts.Failed = int32(min(max(now.gone+now.Failed.len(), 0), math.MaxInt32))
	counts.Completed = int32(min(max(total-live-int64(counts.Failed), 0), math.MaxInt32))
	return now, counts
}

// Leaving reports whether an executor that goes on is being lost.
func Leaving(e *lifecycle.Executor) bool {
	switch e.Phase {
	case lifecycle.DriverUnknown:
		return true
	case lifecycle.DriverSucceeded:
		return false
	}
	return e.Why.Reason == lifecycle.ReasonEvicted || e.Why.Reason == lifecycle.ReasonPreempted
}

// ExecutorID is the number that Spark gave an executor, as its pod's name ends (KubernetesClusterManager and ExecutorPodsAllocator number from 1
// on; the name is <prefix>-exec-<number>). Pods of a StatefulSet are numbered in another way: one of theirs is far beyond what Spark comes to.
func ExecutorID(name string) int64 {
	if i := strings.LastIndex(name, "exec-"); i >= 0 {
		if n, err := strconv.ParseUint(name[i+len("exec-"):], 10, 31); err == nil {
			return int64(n)
		}
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return 1<<32 + int64(h.Sum32())
}

// ExecutorStates are the words of statuses for a pod's phase.
var ExecutorStates = map[lifecycle.DriverPhase]statusv1.ExecutorState{
	lifecycle.DriverPending:   statusv1.ExecutorStatePending,
	lifecycle.DriverRunning:   statusv1.ExecutorStateRunning,
	lifecycle.DriverSucceeded: statusv1.ExecutorStateCompleted,
	lifecycle.DriverFailed:    statusv1.ExecutorStateFailed,
	lifecycle.DriverUnknown:   statusv1.ExecutorStateUnknown,
}

// MaxExecutorNews bounds how many failed executors one pass makes events of: when a node goes, hundreds may fail at once. The counts have
// them all.
const MaxExecutorNews = 10

// Count counts an executor of a state.
func Count(c *statusv1.ExecutorCounts, state statusv1.ExecutorState) {
	switch state {
	case statusv1.ExecutorStatePending:
		c.Pending++
	case statusv1.ExecutorStateRunning:
		c.Running++
	case statusv1.ExecutorStateCompleted:
		c.Completed++
	case statusv1.ExecutorStateFailed:
		c.Failed++
	default:
		c.Unknown++
	}
}
