package cluster

import (
	"slices"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/queue"
)

// inQueue returns what the rules of a queue need to know about the cluster. Objects that remain could create pods
// again.
func (s *step) inQueue() queue.Resource {
	return queue.Resource{Seen: s.seen, Stage: s.quotaStage(), Last: s.m.Attempt, Next: s.m.Attempt, Enters: len(s.plan.Transitions) > 0,
		Exists: s.remains(), AllPods: true,
		Blocked: s.seen.Rejection != nil || s.seen.TransientError != nil || !s.m.Wants() && s.remains()}
}

// quotaStage returns what the cluster does with its quota in the current phase.
func (s *step) quotaStage() queue.Stage {
	switch counts := s.count(); {
	case s.m.Phase == lifecycle.Running && counts.masters > 0 && counts.workers >= s.want.Workers:
		return queue.Ready
	case s.m.Phase == lifecycle.Suspending, s.m.Wants() && (!s.m.asks() || s.remains()):
		return queue.Runs
	case s.want.Hold != nil:
		return queue.Over
	case s.m.Phase == lifecycle.Suspended && s.evicted():
		return queue.Evicted
	case s.m.asks(), s.m.Phase == lifecycle.Suspended && s.m.Cause.Reason == lifecycle.ReasonQueueEviction:
		return queue.Waits
	}
	return queue.Over
}

// waitsInQueue reports whether the creation of the objects waits for quota.
func (s *step) waitsInQueue() bool {
	if s.seen.TransientError != nil {
		return s.m.WaitsInQueue(s.seen)
	}

	decided := s.inQueue().Wait()
	if decided.Cause.Reason != "" {
		s.waitFor(shortage{cause: decided.Cause, explained: true})
	}

	s.follow(decided)
	return decided.Waits
}

// outgrows reports whether an edit of a cluster that exists has to wait, because its quota may be for other pods. It
// asks the queue. If the quota is for other pods, the queue's answer stops the cluster.
func (s *step) outgrows() bool {
	q := s.seen.Quota

	waits := s.m.EditWaits(s.seen, s.want.Generation)
	switch {
	case q == nil, s.m.asks(), s.want.Invalid != nil:
		return false
	case s.evicted():
		return true
	case waits && s.seen.TransientError == nil:
		s.plan.Actions = append(s.plan.Actions, queue.Compare(s.m.Attempt))
	}
	return waits
}

// settleQuota tells the queue what has become of the quota.
func (s *step) settleQuota() {
	if !slices.ContainsFunc(s.plan.Actions, queue.LeadsToDecision) {
		s.follow(s.inQueue().Settle())
	}
}

// follow adds a decision of the queue's rules to the plan.
func (s *step) follow(decided queue.Decision) {
	if decided.Action != (lifecycle.Action{}) {
		s.plan.Actions = append(s.plan.Actions, decided.Action)
	}

	if decided.After > 0 {
		s.requeueAfter(decided.After)
	}
}
