package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/queue"
)

// This file stops a cluster whose spec is suspended, and starts it again. The phase Suspending is stored before
// anything is deleted. No pod is deleted by force, because the pods of a resumed cluster have the same names.

// remainLimit is the time after which the pods of a suspended cluster should be gone.
const remainLimit = 5 * time.Minute

func (s *step) evicted() bool { return s.seen.Quota != nil && s.seen.Quota.Evicted != nil }

// stopCause returns why a cluster must be stopped, or why it was stopped. The spec comes before the queue.
func (s *step) stopCause() lifecycle.Cause {
	switch evicted, is := queue.Eviction(s.seen, "cluster"); {
	case s.want.Suspend:
	case is:
		return evicted
	case s.m.Cause.Reason == lifecycle.ReasonQueueEviction:
		return s.m.Cause
	}
	return lifecycle.Cause{Reason: lifecycle.ReasonSuspended, Message: "the cluster is suspended"}
}

// exists reports whether a suspension has something to stop. A cluster of which nothing was created is only held.
func (s *step) exists() bool {
	switch s.m.Phase {
	case lifecycle.New, lifecycle.Waiting:
		return s.remains()
	}
	return true
}

// remains reports whether a pod of the cluster, or an object other than its Services, exists.
func (s *step) remains() bool {
	return len(s.seen.Members) > 0 || s.seen.AuxiliaryCount > s.seen.AuxiliaryServices
}

// suspending waits until the pods and the objects of the cluster are gone. It does so even if the suspension was lifted
// meanwhile. The result reports whether the decision entered another phase.
func (s *step) suspending() bool {
	if !s.remains() {
		return s.enter(lifecycle.Suspended, s.stopCause())
	}

	s.requeueAfter(repeatDelay)

	if len(s.seen.Members) > 0 && s.now.Sub(s.m.Since) >= remainLimit && s.m.Cause.Reason != ReasonPodsRemain {
		s.m.Cause = s.podsRemain()
		s.notice(s.m.Cause.Reason, "%s", s.m.Cause.Message)
	}
	return false
}

// podsRemain returns the cause that names pods which should be gone.
func (s *step) podsRemain() lifecycle.Cause {
	const named = 5

	var names []string
	for i := range s.seen.Members {
		names = append(names, s.seen.Members[i].Name)
	}

	slices.Sort(names)

	list := strings.Join(names[:min(named, len(names))], ", ")
	if more := len(names) - named; more > 0 {
		list += " and " + bounds.Count(more, "other")
	}
	return lifecycle.Cause{Reason: ReasonPodsRemain, Message: fmt.Sprintf(
		"pods of the suspended cluster remain after %s: %s; the cluster can be resumed when they are gone, so look at their nodes and finalizers", remainLimit, list)}.Bounded()
}

// suspended waits until the suspension is lifted and nothing of the cluster is left. The cluster then starts again from
// the current spec, as the same attempt. The result reports whether the decision entered another phase.
func (s *step) suspended() bool {
	if s.remains() {
		s.requeueAfter(repeatDelay) // the caches were late
		return false
	}

	if s.want.Hold != nil || s.evicted() { // a suspension sets Hold too
		s.m.Cause = s.stopCause().Bounded()
		return false
	}

	if q := s.seen.Quota; q != nil && q.Reserved && !q.Asked && s.m.Cause.Reason != lifecycle.ReasonQueueEviction {
		s.requeueAfter(repeatDelay) // settleQuota gives the quota of the suspended cluster back first
		return false
	}

	s.m.Generation, s.m.Adopted, s.m.Begun, s.m.Complete = s.want.Generation, false, time.Time{}, time.Time{}
	return s.enter(lifecycle.Resuming, lifecycle.Cause{Reason: ReasonResumed, Message: "the suspension is lifted; the cluster starts again"})
}
