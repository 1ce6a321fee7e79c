package application

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/queue"
)

// maxAttempt is the largest attempt number. As an upper bound of attempt numbers, it selects all attempts.
const maxAttempt = math.MaxInt32

// overdue is the time after which the deletion of a pod counts as stuck. It begins when the pod should have been
// deleted.
const overdue = 30 * time.Second

// finalizersGrace is how long the programs that set finalizers may take to remove them before the pod counts as stuck.
const finalizersGrace = 5 * time.Second

// suspendsUnlaunched reports whether a suspension changes the phase of an application that has no live attempt.
func (s *step) suspendsUnlaunched() bool { return s.app.Suspend && s.app.Hold == nil }

// stops reports whether the spec or the queue requests the end of what runs.
func (s *step) stops() bool { return s.app.Suspend || s.evicted() && s.m.Phase.Live() }

func (s *step) evicted() bool { return s.seen.Quota != nil && s.seen.Quota.Evicted != nil }

// stopCause returns why a live attempt must be stopped, or why it was stopped. The spec comes before the queue.
func (s *step) stopCause() lifecycle.Cause {
	switch evicted, is := queue.Eviction(s.seen, s.noun("application")); {
	case s.app.Suspend:
	case is:
		return evicted
	case s.m.Cause.Reason == lifecycle.ReasonQueueEviction:
		return s.m.Cause
	}
	return lifecycle.Cause{Reason: lifecycle.ReasonSuspended, Message: "the " + s.noun("application") + " is suspended"}
}

// inQueue returns what the rules of a queue need to know about the application.
func (s *step) inQueue() queue.Resource {
	deletes := slices.ContainsFunc(s.plan.Actions, func(a lifecycle.Action) bool { return a.Verb == lifecycle.Delete })
	return queue.Resource{Seen: s.seen, Stage: s.quotaStage(), Last: s.m.Attempt, Next: min(s.m.Attempt, maxAttempt-1) + 1,
		Enters: len(s.plan.Transitions) > 0, Blocked: deletes || s.actionsBlocked()}
}

// quotaStage returns what the application does with its quota in the current phase.
func (s *step) quotaStage() queue.Stage {
	d := s.seen.Driver(s.m.Attempt)
	switch phase := s.m.Phase; {
	case phase.Live() && d != nil && d.Ready && !d.Deleting && s.running() >= max(s.app.InitialExecutors, s.app.MinExecutors):
		return queue.Ready
	case phase.Live(), phase == lifecycle.Suspending:
		return queue.Runs
	case s.app.Hold != nil, s.app.Suspend, phase == lifecycle.Waiting && !s.m.NextAttempt.IsZero():
		return queue.Over
	case phase == lifecycle.Suspended && s.evicted():
		return queue.Evicted
	case phase == lifecycle.Retained && !s.retentionOver():
		return queue.Kept
	case phase == lifecycle.New, phase == lifecycle.Resuming, phase == lifecycle.Editing, phase == lifecycle.Waiting:
		return queue.Waits
	}
	return queue.Over
}

// waitsInQueue reports whether a launch waits for quota.
func (s *step) waitsInQueue() bool {
	if s.app.Invalid != nil || s.actionsBlocked() || s.m.Attempt == maxAttempt {
		return false
	}

	rules := s.inQueue()
	rules.Stage = queue.Waits

	decided := rules.Wait()
	if decided.Cause.Reason != "" {
		s.waitFor(lifecycle.Application, "", decided.Cause)
	}

	s.follow(decided)
	return decided.Waits
}

// settleQuota tells the queue what has become of the quota. If the application is being deleted, it does nothing,
// because the request is deleted with it.
func (s *step) settleQuota() {
	if !s.app.Deleting && !slices.ContainsFunc(s.plan.Actions, queue.LeadsToDecision) {
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

// suspendLive suspends a live attempt, unless its driver has exceeded a deadline. The result reports whether the
// decision entered another phase.
func (s *step) suspendLive(d *lifecycle.Driver) bool {
	if d != nil && d.Phase != lifecycle.DriverUnknown {
		if outcome, cause, over := s.deadlines(d); over {
			return !s.needsLiveRead(outcome) && s.timedOut(d, outcome, cause)
		}
	}
	return !s.mayHaveEnded() && s.suspend()
}

// mayHaveEnded reports whether the driver of a live attempt may have ended although the cache does not show it. If it
// may, mayHaveEnded requests a live read. A suspension that holds the next launch, and an eviction, would otherwise
// hide a failure: the attempt would neither end the application nor count as a restart.
func (s *step) mayHaveEnded() bool {
	switch {
	case s.app.Hold == nil && !s.evicted():
		return false
	case !s.seen.Confirmed:
		s.confirm(lifecycle.DriverPod, s.m.Attempt)
		return true
	case s.seen.CacheBehind:
		s.requeueAfter(repeatDelay) // in case the cache does not catch up by itself
		return true
	}
	return false
}

// suspend enters the phase Suspending, in which the attempt is deleted. A live run that is stopped here does not use up
// a retry, because it did not end by itself. It always enters another phase, and therefore always returns true.
//
// An attempt that had ended before, or that an edit or a restart replaces, keeps the time of its end. A live attempt
// has none, so that the phase Suspending distinguishes the two.
func (s *step) suspend() bool {
	spared := s.m.Phase.Live()
	s.enter(lifecycle.Suspending, s.stopCause()) // may reset the counts (resetFailures)

	if spared {
		s.m.SuspendedRuns++
		s.m.EndedAt = time.Time{}
		return true
	}

	s.replaceSuspending()
	return true
}

// replaceSuspending stores that the attempt that is being suspended does not end the application, whatever its exit
// code is, because an edit or a restart request asks for another run.
func (s *step) replaceSuspending() {
	if s.m.Phase == lifecycle.Suspending && s.m.EndedAt.IsZero() {
		s.m.EndedAt = s.now
	}
}

// suspending deletes the attempt, and enters Suspended when all its objects are deleted. It does so even if the
// suspension was lifted meanwhile, because the phase Suspended handles that. The result reports whether the decision
// entered another phase.
//
// A driver that exits with code 0 before the suspension stops it has finished its work. The attempt has then succeeded,
// as in a suspended Job of Kubernetes, and does not run again.
func (s *step) suspending() bool {
	s.m.Outcome, s.m.NextAttempt = lifecycle.Undecided, time.Time{}

	d := s.seen.Driver(s.m.Attempt)
	if d != nil && d.Phase == lifecycle.DriverSucceeded && s.m.EndedAt.IsZero() && !s.app.IsServer {
		s.m.SuspendedRuns = max(s.m.SuspendedRuns-1, 0)
		return s.end(lifecycle.Succeeded, lifecycle.Cause{}, d.EndedAt)
	}

	if !s.cleared(maxAttempt) {
		return false
	}

	s.m.EndedAt = time.Time{}
	return s.enter(lifecycle.Suspended, s.stopCause())
}

// suspended waits until the suspension is lifted, or until the queue that evicted the attempt has its quota back. It
// deletes objects that appear meanwhile. The result reports whether the decision entered another phase.
func (s *step) suspended() bool {
	if s.app.Suspend || s.evicted() {
		if s.m.Cause.Reason == lifecycle.ReasonQueueEviction {
			s.m.Cause = s.stopCause().Bounded()
		}

		s.deleteAll(s.seenAttempts(maxAttempt))
		return false
	}

	s.forgetRejections()
	return s.enter(lifecycle.Resuming, lifecycle.Cause{})
}

// forgetRejections resets the count of rejections, because a resume starts it anew.
func (s *step) forgetRejections() {
	if s.app.Restart.Limits != nil {
		s.m.Restarts.Rejections = 0
	}
}

// resuming launches the next attempt after all objects of the last attempt are deleted. The next attempt has the next
// number. The result reports whether the decision entered another phase.
func (s *step) resuming() bool {
	if s.suspendsUnlaunched() {
		return s.enter(lifecycle.Suspended, s.stopCause())
	}

	if !s.mayFollow() {
		return false
	}
	return s.launch()
}

// editing deletes the run of the old spec, and then launches an attempt with the new spec. The result reports whether
// the decision entered another phase.
func (s *step) editing() bool {
	s.m.SpecHash = s.app.SpecHash // the spec may have been edited again
	if s.app.Suspend {
		return s.suspend()
	}

	if !s.cleared(maxAttempt) {
		return false
	}
	return s.launch()
}

// mayFollow reports whether the next attempt may be launched, as far as the objects of the earlier attempts are
// concerned. While the application is held, it deletes these objects, but requests no live read.
func (s *step) mayFollow() bool {
	if s.app.Hold != nil && len(s.seenAttempts(s.m.Attempt)) == 0 {
		return false
	}

	if q := s.seen.Quota; q != nil && !q.Reserved && len(s.seenAttempts(s.m.Attempt)) == 0 && s.waitsInQueue() {
		return false // a pending request needs no live read, because nothing runs on it
	}
	return s.cleared(s.m.Attempt)
}

// cleared reports whether no object is left of the attempts up to the number upTo. If objects are left, it requests
// their deletion.
//
// The cache may be late, so cleared requires a live read of the drivers before it returns true. Otherwise an old driver
// could still exist, and the API server would create the next driver too if it has another name. Before the first
// attempt, cleared requires no live read. If the spec was edited before that attempt, the method `launch` requires one.
func (s *step) cleared(upTo int32) bool {
	left := s.seenAttempts(upTo)
	if len(left) > 0 {
		s.deleteAll(left)
		name, cause := s.waitForLeftovers(left)
		s.waitFor(lifecycle.DriverPod, name, cause)
		return false
	}

	if s.m.Attempt > 0 && !s.seen.Confirmed {
		s.confirm(lifecycle.DriverPod, s.m.Attempt)
		return false
	}
	return true
}

// waitForLeftovers returns why the deletion of the given attempts is not complete yet, and the name of the pod that
// delays it. If the deletion takes no longer than usual, it returns the remembered cause, so that the status still
// shows why the last attempt failed.
func (s *step) waitForLeftovers(left []int32) (pod string, cause lifecycle.Cause) {
	if s.seen.Rejection != nil {
		return "", *s.seen.Rejection
	}

	for _, attempt := range left {
		if d := s.seen.Driver(attempt); d != nil {
			if cause := s.finalizersCause(d); cause.Reason != "" {
				return d.Name, cause
			}

			if cause := s.stuckPodCause(s.noun("driver")+" pod "+d.Name, d.Phase, d.Deleting, d.GoneBy); cause.Reason != "" {
				return d.Name, cause
			}
		}
		// A submitter that may still create a driver blocks the next attempt like a driver.
		if r := s.seen.Submitter(attempt); r != nil {
			if cause := s.stuckPodCause("pod "+r.Name+", which runs spark-submit,", r.Phase, r.Deleting, r.GoneBy); cause.Reason != "" {
				return r.Name, cause
			}
		}
	}
	return "", s.m.Cause
}

// finalizersCause returns which finalizers keep a driver pod whose deletion is otherwise complete. A pod that never ran
// or has ended does not need its node. Its deletion is complete finalizersGrace after the end of its grace period.
func (s *step) finalizersCause(d *lifecycle.Driver) lifecycle.Cause {
	if !d.Deleting || len(d.Finalizers) == 0 || d.Phase != lifecycle.DriverPending && !driverEnded(d) {
		return lifecycle.Cause{}
	}

	if left := d.GoneBy.Add(finalizersGrace).Sub(s.now); left > 0 {
		s.requeueAfter(left)
		return lifecycle.Cause{}
	}
	return lifecycle.Cause{Reason: lifecycle.ReasonFinalizers, Message: fmt.Sprintf(
		"%s pod %s is deleted except for its finalizers (%s); the pod is gone when the programs that set them remove them",
		s.noun("driver"), d.Name, strings.Join(d.Finalizers, ", "))}
}

// stuckPodCause returns why a pod that is to be deleted still exists. It returns the zero Cause if the deletion is not
// overdue.
func (s *step) stuckPodCause(what string, phase lifecycle.DriverPhase, deleting bool, goneBy time.Time) lifecycle.Cause {
	if phase == lifecycle.DriverUnknown {
		return lifecycle.Cause{Reason: lifecycle.ReasonNodeLost, Message: fmt.Sprintf(
			"%s is on a node that does not answer; the next attempt starts when the pod is gone", what)}
	}

	if deleting && !goneBy.IsZero() && s.now.Sub(goneBy) > overdue {
		return lifecycle.Cause{Reason: lifecycle.ReasonDriverDeleting, Message: fmt.Sprintf(
			"%s should have been deleted before %s, so its node may be dead; the next attempt starts when the pod is gone",
			what, goneBy.UTC().Format(time.RFC3339))}
	}
	return lifecycle.Cause{}
}

// deleteAll requests the deletion of attempts. It also requests another pass, which repeats the request if objects are
// left.
//
// If the driver of an attempt still runs, only the driver is deleted at first. During its grace period (for a streaming
// batch or a commit) the driver needs its executors, and the executors need the driver's Service. If the application
// itself is being deleted, everything is deleted at once, as the garbage collector does.
func (s *step) deleteAll(attempts []int32) {
	if len(attempts) == 0 {
		return
	}

	s.requeueAfter(s.cleanupInterval())

	if s.actionsBlocked() {
		return
	}

	for _, attempt := range attempts {
		switch {
		case s.stillStops(attempt) && !s.app.Deleting:
			s.remove(lifecycle.DriverPod, attempt)
		default:
			s.remove(lifecycle.Attempt, attempt)
		}
	}
}

// stillStops reports whether an attempt has a pod that can still be stopped cleanly. This is a running driver, or a
// submitter that may create a driver. If the deletion of the pod is overdue, the pod's node counts as dead, so the pod
// cannot be stopped cleanly.
func (s *step) stillStops(attempt int32) bool {
	goesOn := func(phase lifecycle.DriverPhase, deleting bool, goneBy time.Time) bool {
		late := s.now.Sub(goneBy) - overdue
		if endedPhase(phase) || deleting && !goneBy.IsZero() && late > 0 {
			return false
		}

		if deleting && !goneBy.IsZero() {
			s.requeueAfter(max(-late, time.Second))
		}
		return true
	}
	if d := s.seen.Driver(attempt); d != nil && goesOn(d.Phase, d.Deleting, d.GoneBy) {
		return true
	}

	r := s.seen.Submitter(attempt)
	return r != nil && goesOn(r.Phase, r.Deleting, r.GoneBy)
}

// maxDeletedAttempts is the maximum number of attempts that one decision deletes. Normally there is at most one to
// delete. However, the attempt number is a label, so anyone who may create pods can create pods with thousands of
// numbers.
const maxDeletedAttempts = 20

// seenAttempts returns the numbers of the observed attempts up to upTo, in ascending order. An attempt is observed if
// any of its objects is. The result has at most maxDeletedAttempts numbers; later passes return the others, after the
// first ones are deleted.
func (s *step) seenAttempts(upTo int32) []int32 {
	found := s.attempts(func(attempt int32) bool { return attempt <= upTo })
	return found[:min(len(found), maxDeletedAttempts)]
}

// attemptsAt returns a list that contains only the given attempt if any of its objects was observed, and an empty list
// otherwise.
func (s *step) attemptsAt(attempt int32) []int32 {
	return s.attempts(func(other int32) bool { return other == attempt })
}

func (s *step) attempts(wanted func(int32) bool) []int32 {
	var found []int32

	add := func(attempt int32) {
		if wanted(attempt) {
			found = append(found, attempt)
		}
	}
	for i := range s.seen.Drivers {
		add(s.seen.Drivers[i].Attempt)
	}

	for i := range s.seen.Submitters {
		add(s.seen.Submitters[i].Attempt)
	}

	for i := range s.seen.Executors {
		add(s.seen.Executors[i].Attempt)
	}

	for _, attempt := range s.seen.RemainingAttempts {
		add(attempt)
	}

	slices.Sort(found)
	return slices.Compact(found)
}
