package cluster

import (
	"fmt"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/queue"
)

const (
	// repeatDelay is the requeue interval while objects are being deleted.
	repeatDelay = 15 * time.Second
	// unbound is the requeue interval in a phase without a time limit. The change for which the phase waits arrives as
	// an event, or from the controller that ensures the objects.
	unbound = 5 * time.Minute
	// maxMoves is the maximum number of phases that one pass enters. The longest path, from a release through an edit
	// to a running cluster, is shorter.
	maxMoves = 10
)

// Step makes one decision. It reads nothing but its arguments and is deterministic.
//
// A pass calls Step twice: before it ensures the objects, with their last known state, and after that, with their new
// state. If Step is called again with mem = plan.Next and otherwise the same arguments, it enters no phase and reports
// nothing.
func Step(want Cluster, mem Memory, seen lifecycle.Observed, objects Objects, now time.Time) Plan {
	s := &step{want: want, seen: seen, objects: objects, now: now, m: mem}
	lifecycle.CorrectTimes(now, &s.m.Since, &s.m.Begun, &s.m.Complete)

	if !want.Deleting {
		s.run()
		s.settleQuota()
	}

	s.plan.Next = s.m
	return s.plan
}

// step is the state of a decision while Step makes it.
type step struct {
	want    Cluster
	seen    lifecycle.Observed
	objects Objects
	now     time.Time
	m       Memory
	plan    Plan
}

func (s *step) run() {
	s.m.Attempt = max(s.m.Attempt, 1)
	if s.m.Generation == 0 {
		s.m.Generation = s.want.Generation
	}

	s.noticeEdit()

	if len(s.plan.Actions) > 0 && s.m.Phase != lifecycle.Running {
		return // the answer of the queue leads to another decision, and only Running is never left before it
	}

	s.noticeRestart()

	for range maxMoves {
		if !s.move() {
			return
		}
	}

	s.requeueAfter(repeatDelay) // not reached, as a test with random decisions shows
}

// noticeEdit starts the rollout of an edited spec. It ignores a finished cluster, whose edits the method `over`
// handles. If the edited spec of a running cluster is invalid, the rollout starts when a later edit makes the spec
// valid. While the cluster is held, its edits wait.
func (s *step) noticeEdit() {
	if s.want.Hold != nil || s.m.Generation == s.want.Generation || !s.m.Wants() || s.m.Phase == lifecycle.Running && s.want.Invalid != nil {
		return
	}

	if s.outgrows() {
		return
	}

	s.m.Generation, s.m.Adopted = s.want.Generation, false
	if s.m.Begun.IsZero() {
		return
	}

	s.m.Begun, s.m.Complete = s.now, time.Time{}
	if s.m.Phase == lifecycle.Running {
		s.m.Cause = lifecycle.Cause{}
		s.notice(ReasonEdited, "the spec changed; the cluster is updated, pod by pod")
	}
}

// move makes the decision of the current phase. It reports whether that decision entered another phase. If it did, the
// decision of the new phase must follow.
func (s *step) move() bool {
	if s.m.Wants() && (s.want.Suspend && s.exists() || s.evicted() && (!s.m.asks() || s.remains())) {
		s.restartDone()
		return s.enter(lifecycle.Suspending, s.stopCause())
	}

	switch s.m.Phase {
	case lifecycle.Suspending:
		return s.suspending()
	case lifecycle.Suspended:
		return s.suspended()
	case lifecycle.Running:
		return s.running()
	case lifecycle.Ended:
		return s.releasing()
	case lifecycle.Done:
		return s.over()
	case lifecycle.Launched, lifecycle.Started:
		return s.starting()
	}
	return s.ensuring()
}

// enter enters a phase. The cause is either the reason for entering the phase, or the wait reason in the phase. The
// result is always true, so that callers can return it.
func (s *step) enter(phase lifecycle.Phase, cause lifecycle.Cause) bool {
	cause = cause.Bounded()
	s.plan.Transitions = append(s.plan.Transitions, lifecycle.Transition{
		From: s.m.Phase, To: phase, Attempt: s.m.Attempt, Outcome: outcome(phase, cause), Cause: cause, At: s.now,
	})
	s.m.Phase, s.m.Since, s.m.Cause = phase, s.now, cause
	return true
}

// outcome returns how a cluster ended, or Undecided if it has not ended.
func outcome(phase lifecycle.Phase, cause lifecycle.Cause) lifecycle.Outcome {
	switch {
	case phase != lifecycle.Ended && phase != lifecycle.Done:
		return lifecycle.Undecided
	case cause.Reason == ReasonStartTimedOut:
		return lifecycle.StartTimedOut
	}
	return lifecycle.Refused
}

// requeueAfter requests another pass after at most d.
func (s *step) requeueAfter(d time.Duration) {
	s.plan.RequeueAfter = lifecycle.RequeueWithin(s.plan.RequeueAfter, d)
}

func (s *step) notice(reason, format string, args ...any) {
	s.plan.Notices = append(s.plan.Notices, lifecycle.Notice{
		Part: lifecycle.Application, Attempt: s.m.Attempt, Cause: lifecycle.Cause{Reason: reason, Message: fmt.Sprintf(format, args...)},
	})
}

// waitFor stores the wait reason of the cluster in the memory. It reports a new reason, but not a new message with the
// same reason, because Kubernetes describes the same problem in many ways. While the cluster starts, it reports a
// reason only if a pod or the API server gives it, because a mere delay is normal.
func (s *step) waitFor(what shortage) {
	cause := what.cause.Bounded()
	// The cluster still lacks something, so the last known reason is kept.
	if s.seen.QuerySkipped && !what.explained && cause.Reason != "" && s.m.Cause.Reason != "" {
		return
	}

	if cause.Reason != "" && cause.Reason != s.m.Cause.Reason && (what.explained || s.m.Phase == lifecycle.Running) {
		s.plan.Notices = append(s.plan.Notices, lifecycle.Notice{
			Part: what.part(), Name: what.pod, Waits: s.m.Phase != lifecycle.Running, Attempt: s.m.Attempt, Cause: cause,
		})
	}

	s.m.Cause = cause
}

// ensuring waits until all objects exist as wanted. It requests no retries, because the controller that creates the
// objects also retries. The result reports whether the decision entered another phase.
func (s *step) ensuring() bool {
	switch {
	case s.want.Hold != nil:
		return false // an edit of the custom resource ends the hold, and starts a pass
	case s.want.Invalid != nil:
		return s.enter(lifecycle.Ended, *s.want.Invalid)
	case s.seen.Rejection != nil: // what the queue adds to the pods is contradictory
		return s.enter(lifecycle.Ended, *s.seen.Rejection)
	case s.waitsInQueue():
		return false
	case s.objects.Stand:
		s.m.Begun, s.m.Complete = s.now, time.Time{}
		s.plan.Notices = append(s.plan.Notices, queue.Admitted(s.seen, s.m.Attempt)...)
		return s.enter(lifecycle.Launched, lifecycle.Cause{})
	case s.objects.Refused != nil && s.m.Phase != lifecycle.Waiting:
		return s.enter(lifecycle.Waiting, *s.objects.Refused)
	case s.objects.Refused != nil:
		s.waitFor(shortage{cause: *s.objects.Refused, explained: true})
	}
	// All objects may exist at the end of this pass, and then the time limit of the start begins. The next pass must run
	// before the limit ends.
	s.requeueAfter(s.bound())
	return false
}

// bound returns the time limit of the master's start. If there is no limit, it returns the constant unbound, which is
// the requeue interval for that case.
func (s *step) bound() time.Duration {
	if s.want.Start > 0 {
		return s.want.Start
	}
	return unbound
}

// starting waits for the master and then for the workers. Only the wait for the master has a time limit, because a
// cluster with too few workers is still useful. The result reports whether the decision entered another phase.
func (s *step) starting() bool {
	counts := s.count()

	master := counts.masters > 0
	switch {
	case s.want.Invalid != nil && s.want.Hold == nil:
		return s.enter(lifecycle.Ended, *s.want.Invalid)
	case s.objects.Refused != nil:
		return s.enter(lifecycle.Waiting, *s.objects.Refused)
	case master && counts.workers >= s.want.Workers && s.objects.Stand:
		return s.enter(lifecycle.Running, lifecycle.Cause{})
	case master && s.m.Phase == lifecycle.Launched:
		return s.enter(lifecycle.Started, lifecycle.Cause{})
	case !master && s.m.Phase == lifecycle.Started:
		s.m.Begun = s.now
		return s.enter(lifecycle.Launched, lifecycle.Cause{})
	}

	lacks := s.shortage(counts)
	if !master && s.want.Start > 0 && !s.gated() {
		left := s.m.Begun.Add(s.want.Start).Sub(s.now)
		if left <= 0 {
			return s.enter(lifecycle.Ended, lifecycle.Cause{Reason: ReasonStartTimedOut,
				Message: fmt.Sprintf("no master was ready within %s: %s", s.want.Start, lacks.cause.Message)})
		}

		s.requeueAfter(left)
	}

	s.waitFor(lacks)
	s.requeueAfter(s.bound())
	return false
}

// running handles the phase Running. It reports what the cluster lacks, and reports the end of a rollout. It never
// leaves the phase, so its result is always false.
func (s *step) running() bool {
	counts := s.count()
	if s.outdated() {
		// This version of the operator renders other StatefulSets than the previous version.
		s.m.Begun, s.m.Complete = s.now, time.Time{}
	}

	s.rolledOut(counts)

	lacks := s.shortage(counts)
	switch overdue := s.overdue(); {
	case s.objects.Refused != nil:
		lacks = shortage{cause: *s.objects.Refused}
	case s.m.Rolling() && overdue:
		lacks = shortage{pod: lacks.pod, cause: s.rolloutTimedOut(lacks)}
	case s.m.Rolling() && !lacks.explained:
		lacks = shortage{} // a pod that is being replaced is not ready for a while
	}

	if s.m.Cause.Reason != "" && lacks.cause.Reason == "" && !s.m.Rolling() {
		s.notice(ReasonRecovered, "the cluster has recovered from %s", s.m.Cause.Reason)
	}

	s.waitFor(lacks)
	return false
}

// rolledOut stores in the memory that all pods match the spec, and reports the end of the rollout.
func (s *step) rolledOut(counts counts) {
	if !s.m.Rolling() || !s.objects.Stand || s.want.Invalid != nil || !s.current(counts) {
		return
	}

	s.m.Complete = s.now

	s.m.Cause = lifecycle.Cause{}
	if !s.m.Adopted && s.m.Begun.After(s.m.Since) {
		s.notice(ReasonRolledOut, "all pods of the cluster match its spec")
	}
}

func (s *step) rolloutTimedOut(lacks shortage) lifecycle.Cause {
	cause := lifecycle.Cause{Reason: ReasonRolloutTimedOut, Message: fmt.Sprintf("the rollout makes no progress: not all pods match the cluster's spec, and no pod was created from it for %s", s.want.Start)}
	if lacks.cause.Message != "" {
		cause.Message += ": " + lacks.cause.Message
	}
	return cause
}

// overdue reports whether a rollout has exceeded its time limit. If it has not, overdue requests a pass at the end of
// the limit. There may be many workers, and they are replaced one after the other. The limit therefore starts again
// with each pod that is created from the new spec.
func (s *step) overdue() bool {
	if !s.m.Rolling() || s.want.Start <= 0 {
		return false
	}

	since := s.m.Begun
	for i := range s.seen.Members {
		if m := &s.seen.Members[i]; m.CreatedAt.After(since) && !s.outdatedPod(m) {
			since = m.CreatedAt
		}
	}

	left := min(since.Add(s.want.Start).Sub(s.now), s.want.Start)
	if left > 0 {
		s.requeueAfter(left)
	}
	return left <= 0
}

// releasing waits until no pod and no object of a failed cluster is left. The result reports whether the decision
// entered another phase.
func (s *step) releasing() bool {
	if len(s.seen.Members) == 0 && s.seen.AuxiliaryCount == 0 {
		return s.enter(lifecycle.Done, s.m.Cause)
	}

	s.requeueAfter(repeatDelay)
	return false
}

// over handles a finished cluster, which only an edit or a restart request can start again. If the spec was invalid and
// is now valid without an edit, the cluster starts again too. In that case the operator had another configuration when
// it rejected the spec. A cluster that is held does not start again. The result reports whether the decision entered
// another phase.
func (s *step) over() bool {
	if s.want.Hold != nil {
		return false
	}

	edited := s.m.Generation != s.want.Generation
	cause := lifecycle.Cause{Reason: ReasonEdited, Message: "the spec changed; the cluster starts again"}

	restart := s.want.Invalid == nil && lifecycle.RestartRequested(s.m.RestartRequest, s.want.RestartRequest)
	if restart {
		s.m.RestartRequest = s.want.RestartRequest
		cause = lifecycle.Cause{Reason: ReasonRestarted, Message: "a restart was requested; the cluster starts again"}
	}

	switch {
	case s.want.Invalid != nil:
		if edited {
			s.m.Generation = s.want.Generation
			s.waitFor(shortage{cause: *s.want.Invalid})
		}
		return false
	case !edited && !restart && s.m.Cause.Reason != lifecycle.ReasonInvalid:
		return false
	}
	s.m.Attempt++
	s.m.Generation, s.m.Adopted, s.m.Begun, s.m.Complete = s.want.Generation, false, time.Time{}, time.Time{}
	return s.enter(lifecycle.Resuming, cause)
}
