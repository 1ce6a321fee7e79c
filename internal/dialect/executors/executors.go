// Package executors counts the executors of an attempt, each exactly once. executors.go has the tally that a status
// stores, and ids.go the sets of executor numbers in it.
package executors

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// A Tally counts each executor of an attempt exactly once, even if status.executorState does not list all executors. It
// stays small even with many executors, because it stores ranges of executor numbers. It grows only with the gaps in
// these numbers and with the failed pods that still exist.
type Tally struct {
	seen          IDSet // all executors that were ever observed
	Failed        IDSet // failed executors whose pods still exist
	Leaving       IDSet // executors that count as failed when their pods no longer exist: lost node, eviction, preemption
	failedAndGone int64 // number of failed executors whose pods no longer exist
}

// Decode returns the tally that Encode stored.
func Decode(o *statusv1.OperatorExecutors) Tally {
	if o == nil {
		return Tally{}
	}
	return Tally{seen: ParseIDs(o.Seen), Failed: ParseIDs(o.Failed), Leaving: ParseIDs(o.Leaving), failedAndGone: int64(o.FailedAndGone)}
}

// Has reports whether an executor was counted.
func (t Tally) Has(id int64) bool { return t.seen.Has(id) }

// Encode returns the tally in the form in which a status stores it, or nil if the tally is empty.
func (t Tally) Encode() *statusv1.OperatorExecutors {
	if len(t.seen) == 0 {
		return nil
	}
	return &statusv1.OperatorExecutors{
		Seen: t.seen.Closed(MaxRanges).String(), Failed: t.Failed.Cut(MaxRanges).String(), Leaving: t.Leaving.Cut(MaxRanges).String(),
		FailedAndGone: int32(min(t.failedAndGone, math.MaxInt32)),
	}
}

// Of returns the observed executors of the memory's current attempt. If the driver succeeded, executors that
// still run count as completed at once. This saves one status write for each application, because the counts do not
// change again when Kubernetes has deleted the executors.
func Of(m lifecycle.Memory, seen []lifecycle.Executor) []lifecycle.Executor {
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

// Count updates the tally in an operator's part of a status (the argument o) with the existing pods of an
// attempt. The argument last contains the counts that the previous call returned. The results are the new counts (nil
// if all are zero), and a notice for each executor that failed since the previous call, up to MaxNotices.
func Count(o *statusv1.OperatorStatus, last *statusv1.ExecutorCounts, pods []lifecycle.Executor) (counts *statusv1.ExecutorCounts, notices []lifecycle.Notice) {
	before := Decode(o.Executors)

	if last == nil {
		last = &statusv1.ExecutorCounts{}
	}

	now, counted := before.Next(*last, pods)

	most := MaxNotices
	if len(before.Failed) >= MaxRanges {
		most = 0 // the set is full, so it may lack executors that were already reported
	}

	var failed []*lifecycle.Executor
	for i := range pods {
		if pods[i].Phase == lifecycle.DriverFailed && !before.Failed.Has(ID(pods[i].Name)) {
			failed = append(failed, &pods[i])
		}
	}

	notices = Notices(failed, most)
	o.Executors = now.Encode()

	if counted != (statusv1.ExecutorCounts{}) {
		counts = &counted
	}
	return counts, notices
}

// Notices returns notices of failed executors, at most the given number. Executors with lower numbers have
// precedence, because the first failures often explain the others.
func Notices(failed []*lifecycle.Executor, most int) (notices []lifecycle.Notice) {
	slices.SortFunc(failed, func(a, b *lifecycle.Executor) int { return cmp.Compare(ID(a.Name), ID(b.Name)) })

	for _, pod := range failed[:min(len(failed), most)] {
		notices = append(notices, lifecycle.Notice{Part: lifecycle.Executors, Name: pod.Name, Attempt: pod.Attempt, Cause: pod.Why})
	}
	return notices
}

// Next adds the existing pods to the tally. It returns the new tally and the new counts.
//
// Executors whose pods no longer exist are counted by their last observation. If the executor had failed or was leaving
// (IsLeaving), it counts as failed. Otherwise it counts as completed. This is correct because the operator observes a
// failure before the pod is deleted, and pods without a failure are deleted when Spark or the operator no longer needs
// them.
func (t Tally) Next(last statusv1.ExecutorCounts, pods []lifecycle.Executor) (Tally, statusv1.ExecutorCounts) {
	now := Tally{seen: t.seen, failedAndGone: t.failedAndGone + t.Failed.Len() + t.Leaving.Len()}
	total := int64(last.Pending) + int64(last.Running) + int64(last.Completed) + int64(last.Failed) + int64(last.Unknown)

	var counts statusv1.ExecutorCounts
	for i := range pods {
		id := ID(pods[i].Name)
		if now.seen.Add(id) {
			total++
		}

		if t.Failed.Has(id) || t.Leaving.Has(id) {
			now.failedAndGone--
		}

		switch {
		case pods[i].Phase == lifecycle.DriverFailed:
			now.Failed.Add(id)
		case IsLeaving(&pods[i]):
			now.Leaving.Add(id)
		}

		if pods[i].Phase != lifecycle.DriverSucceeded && pods[i].Phase != lifecycle.DriverFailed {
			Increment(&counts, States[pods[i].Phase])
		}
	}

	live := int64(counts.Pending) + int64(counts.Running) + int64(counts.Unknown)
	counts.Failed = int32(min(max(now.failedAndGone+now.Failed.Len(), 0), math.MaxInt32))
	counts.Completed = int32(min(max(total-live-int64(counts.Failed), 0), math.MaxInt32))
	return now, counts
}

// IsLeaving reports whether the operator expects an executor to fail, because its node is lost or because its pod was
// evicted or preempted.
func IsLeaving(e *lifecycle.Executor) bool {
	switch e.Phase {
	case lifecycle.DriverUnknown:
		return true
	case lifecycle.DriverSucceeded:
		return false
	}
	return e.Why.Reason == lifecycle.ReasonEvicted || e.Why.Reason == lifecycle.ReasonPreempted
}

// ID returns the number at the end of an executor's pod name, <prefix>-exec-<number> (KubernetesClusterManager
// and ExecutorPodsAllocator count from 1). For other names, such as those of a StatefulSet's pods, it returns a hash of
// the name. A hash is always larger than the numbers that Spark uses.
func ID(name string) int64 {
	if i := strings.LastIndex(name, "exec-"); i >= 0 {
		if n, err := strconv.ParseUint(name[i+len("exec-"):], 10, 31); err == nil {
			return int64(n)
		}
	}

	h := fnv.New32a()
	h.Write([]byte(name))
	return 1<<32 + int64(h.Sum32())
}

// States maps a pod's phase to the executor's state in a status.
var States = map[lifecycle.DriverPhase]statusv1.ExecutorState{
	lifecycle.DriverPending:   statusv1.ExecutorStatePending,
	lifecycle.DriverRunning:   statusv1.ExecutorStateRunning,
	lifecycle.DriverSucceeded: statusv1.ExecutorStateCompleted,
	lifecycle.DriverFailed:    statusv1.ExecutorStateFailed,
	lifecycle.DriverUnknown:   statusv1.ExecutorStateUnknown,
}

// MaxNotices is the maximum number of failed executors that one pass reports as events, because hundreds of
// executors may fail at once when a node fails. The counts in the status include all of them.
const MaxNotices = 10

// Increment increments the counter of one state.
func Increment(c *statusv1.ExecutorCounts, state statusv1.ExecutorState) {
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
