package sparkoperator

import (
	"hash/fnv"
	"math"
	"strconv"
	"strings"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// A tally counts the executors of an attempt, each once, however many exist at once and whatever status.executorState has room for. What it
// remembers grows with the gaps in Spark's numbers and with the failed pods that are kept, not with the executors.
type tally struct {
	seen    idSet // all that were ever seen
	failed  idSet // of those that exist, the failed ones
	leaving idSet // of those that exist, the ones that failed if they are not there any more: their nodes are lost, or they are taken from them
	gone    int64 // failed and do not exist any more
}

func decodeTally(o *v1beta2.OperatorExecutors) tally {
	if o == nil {
		return tally{}
	}
	return tally{seen: parseIDs(o.Seen), failed: parseIDs(o.Failed), leaving: parseIDs(o.Leaving), gone: int64(o.FailedAndGone)}
}

// encode returns nil for a tally of nothing.
func (t tally) encode() *v1beta2.OperatorExecutors {
	if len(t.seen) == 0 {
		return nil
	}
	return &v1beta2.OperatorExecutors{
		Seen: t.seen.closed(maxRanges).String(), Failed: t.failed.cut(maxRanges).String(), Leaving: t.leaving.cut(maxRanges).String(),
		FailedAndGone: int32(min(t.gone, math.MaxInt32)),
	}
}

// next is the tally of the pods that exist now, with the counts that follow from it and from those of the last time. An executor that is gone
// and neither failed nor was on its way to it has completed: Spark and the operator delete what is not needed any more, and what fails is seen
// to fail first.
func (t tally) next(last v1beta2.ExecutorCounts, pods []lifecycle.Executor) (tally, v1beta2.ExecutorCounts) {
	now := tally{seen: t.seen, gone: t.gone + t.failed.len() + t.leaving.len()}
	total := int64(last.Pending) + int64(last.Running) + int64(last.Completed) + int64(last.Failed) + int64(last.Unknown)
	var counts v1beta2.ExecutorCounts
	for i := range pods {
		id := executorID(pods[i].Name)
		if now.seen.add(id) {
			total++
		}
		if t.failed.has(id) || t.leaving.has(id) {
			now.gone--
		}
		switch {
		case pods[i].Phase == lifecycle.DriverFailed:
			now.failed.add(id)
		case leaving(&pods[i]):
			now.leaving.add(id)
		}
		if pods[i].Phase != lifecycle.DriverSucceeded && pods[i].Phase != lifecycle.DriverFailed {
			count(&counts, executorStates[pods[i].Phase])
		}
	}
	live := int64(counts.Pending) + int64(counts.Running) + int64(counts.Unknown)
	counts.Failed = int32(min(max(now.gone+now.failed.len(), 0), math.MaxInt32))
	counts.Completed = int32(min(max(total-live-int64(counts.Failed), 0), math.MaxInt32))
	return now, counts
}

// leaving reports whether an executor that goes on is being lost.
func leaving(e *lifecycle.Executor) bool {
	switch e.Phase {
	case lifecycle.DriverUnknown:
		return true
	case lifecycle.DriverSucceeded:
		return false
	}
	return e.Why.Reason == lifecycle.ReasonEvicted || e.Why.Reason == lifecycle.ReasonPreempted
}

// executorID is the number that Spark gave an executor, as its pod's name ends (KubernetesClusterManager and ExecutorPodsAllocator number from 1
// on; the name is <prefix>-exec-<number>). Pods of a StatefulSet are numbered in another way: one of theirs is far beyond what Spark comes to.
func executorID(name string) int64 {
	if i := strings.LastIndex(name, "exec-"); i >= 0 {
		if n, err := strconv.ParseUint(name[i+len("exec-"):], 10, 31); err == nil {
			return int64(n)
		}
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return 1<<32 + int64(h.Sum32())
}
