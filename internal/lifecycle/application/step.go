// Package application is the state machine of a Spark application. Step is a pure function from the desired, remembered
// and observed state to a plan.
//
// An application runs in attempts. The number of an attempt is never reused, and every object that the attempt creates
// has this number in a label. Three rules prevent duplicate and lost drivers:
//
//   - A launch uses the number after the remembered one. The next pass therefore finds the objects even if the launch
//     was not stored.
//   - No attempt is launched before all objects of the earlier attempts are deleted. A live read confirms that for the
//     driver.
//   - A missing driver counts as deleted only after a live read. A driver on a lost node never counts as deleted.
//
// A launch creates either the driver pod or a submitter, which is a pod that creates the driver pod by running
// spark-submit. A submitter can create only one driver, and the driver's name is fixed beforehand. The state machine
// therefore waits for a submitter as it waits for a driver. While a submitter may still act, no object of the next
// attempt is created.
//
// Transitions lists every possible change of phase, and Waits lists what each phase waits for.
package application

import (
	"cmp"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/queue"
)

const (
	// repeatDelay is the time after which a deletion without effect is requested again.
	repeatDelay = 15 * time.Second
	// rereadDelay is the time after which a live read is repeated if the last one found nothing new.
	rereadDelay = 5 * time.Second
	// nodeLostGrace is how long a node that was reported lost may take to prove that it works.
	//
	// The node controller also sets Ready to False for pods on a node that works but is itself reported as not ready.
	// The kubelet of such a node sets Ready to True again at its next sync, which happens every 10 s (syncBatch of its
	// status manager). Without the delay, the phase would change twice each time, and readers of the status would
	// assume a failure.
	nodeLostGrace = 15 * time.Second
	// youngExecutor is the age up to which a waiting executor of a running application is not reported.
	youngExecutor = 5 * time.Second
	// youngDriver is the age up to which a driver counts as having all its objects.
	youngDriver = 5 * time.Second
	// maxUnremembered is the maximum by which a pod's attempt label may exceed the remembered attempt. Normally at most
	// one launch was not stored. The maximum is larger in case the status was restored from an older copy. A label with
	// a larger number is ignored: it is forged, because anyone who may create pods can set the label.
	maxUnremembered = 10
	// maxMoves is the maximum number of phases that one pass enters. The longest path, from a finished run through an
	// edit into the next run, is shorter.
	maxMoves = 16
)

// Step makes one decision. It reads nothing but its arguments and is deterministic.
//
// The plan's Next is the memory after the decision. The controller must carry out the plan's Actions before it stores
// Next. A plan that enters a phase requests only the deletions that Unstored allows. The pass after the status write
// requests the others.
//
// If Step is called again with mem = plan.Next and otherwise the same arguments, it enters no phase and requests only
// live reads and deletions.
func Step(app lifecycle.App, mem lifecycle.Memory, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	s := &step{app: app, seen: seen, now: now, m: mem.Corrected(now), stored: mem}
	s.run()
	s.ensureBudget()
	s.settleQuota()
	s.postponeDeletions()

	if rank[s.m.Phase] < rank[lifecycle.Ready] {
		s.m.ShortSince = time.Time{} // no executors are expected before the driver is Ready
	}

	if s.m.Attempt != mem.Attempt {
		s.m.ExecutorFailure, s.m.FailedExecutorCreatedAt, s.m.EnoughExecutors = lifecycle.Cause{}, time.Time{}, 0
	}

	if seen.Logs != nil && seen.Logs.Attempt >= mem.Logs.Attempt {
		s.m.Logs = *seen.Logs
	}

	s.plan.Next = s.m
	return s.plan
}

// step is the state of a decision while Step makes it.
type step struct {
	app  lifecycle.App
	seen lifecycle.Observed
	now  time.Time
	m    lifecycle.Memory
	plan lifecycle.Plan
	// stored is the memory at the start of the pass.
	stored lifecycle.Memory
	// launchTried is set after this pass has decided on a launch. A pass decides on at most one launch, even if the
	// interval is 0.
	launchTried bool
}

func (s *step) run() {
	if s.app.Deleting && s.app.Orphan {
		return // the dependents no longer belong to the application
	}

	if s.app.Deleting {
		s.deleteAll(s.seenAttempts(maxAttempt))
		return
	}

	s.adopt()
	s.noticeEdit()
	s.noticeRestart()

	for range maxMoves {
		if !s.move() {
			return
		}
	}

	s.requeueAfter(rereadDelay) // not reached, as a test with random decisions shows
}

// move makes the decision of the current phase. It reports whether that decision entered another phase. If it did, the
// decision of the new phase must follow.
func (s *step) move() bool {
	switch s.m.Phase {
	case lifecycle.New:
		return s.launchNew()
	case lifecycle.Waiting:
		return s.waiting()
	case lifecycle.Ended:
		return s.ended()
	case lifecycle.Retained, lifecycle.Done:
		return s.finished()
	case lifecycle.Suspending:
		return s.suspending()
	case lifecycle.Suspended:
		return s.suspended()
	case lifecycle.Resuming:
		return s.resuming()
	case lifecycle.Editing:
		return s.editing()
	}
	return s.live()
}

// enter enters a phase. The cause is either the reason for entering the phase, or the wait reason in the phase. The
// result is always true, so that callers can return it.
func (s *step) enter(phase lifecycle.Phase, cause lifecycle.Cause) bool {
	cause = cause.Bounded()

	s.resetFailures()
	s.plan.Transitions = append(s.plan.Transitions, lifecycle.Transition{
		From: s.m.Phase, To: phase, Attempt: s.m.Attempt, Outcome: s.m.Outcome, Cause: cause, At: s.now,
	})
	s.m.Phase, s.m.Since, s.m.Cause, s.m.PhaseBeforeUnknown = phase, s.now, cause, lifecycle.New
	return true
}

// resetFailures resets the counts of earlier failures if the application leaves the phase Running after it was there
// for long enough. The next interval is then as short as after a first failure.
func (s *step) resetFailures() {
	if long := s.app.Restart.ResetAfter; s.m.Phase == lifecycle.Running && s.m.Runs > 0 && long > 0 && s.now.Sub(s.m.Since) >= long {
		s.m.Runs, s.m.Submissions, s.m.SuspendedRuns = 1, 1, 0
	}
}

func (s *step) do(verb lifecycle.Verb, part lifecycle.Part, attempt int32) {
	s.plan.Actions = append(s.plan.Actions, lifecycle.Action{Verb: verb, Part: part, Attempt: attempt})
}

// requeueAfter requests another pass after at most d.
func (s *step) requeueAfter(d time.Duration) {
	s.plan.RequeueAfter = lifecycle.RequeueWithin(s.plan.RequeueAfter, d)
}

// requeueAt requests another pass at the time of a limit, which has not passed yet.
func (s *step) requeueAt(limit lifecycle.Limit) {
	s.requeueAfter(limit.At.Sub(s.now))
	s.plan.Limit = s.plan.Limit.Sooner(limit)
}

// waitFor stores the wait reason of the current phase in the memory. It reports a new reason, but not a new message
// with the same reason, because Kubernetes describes the same problem in many ways.
func (s *step) waitFor(part lifecycle.Part, name string, cause lifecycle.Cause) {
	if cause = cause.Bounded(); cause.Reason == "" && s.seen.QuerySkipped {
		return
	}

	if cause.Reason != "" && cause.Reason != s.m.Cause.Reason {
		s.plan.Notices = append(s.plan.Notices, lifecycle.Notice{
			Part: part, Name: name, Waits: part == lifecycle.Executors || s.m.Phase == lifecycle.Launched, Attempt: s.m.Attempt, Cause: cause,
		})
	}

	s.m.Cause = cause
}

// launchNew handles a new application. It launches the application, or enters Suspended if the spec requests a
// suspension from the beginning. The result reports whether the decision entered another phase.
func (s *step) launchNew() bool {
	if s.suspendsUnlaunched() {
		s.restartDone(s.app.RestartRequest)
		return s.enter(lifecycle.Suspended, s.stopCause())
	}
	return s.launch()
}

// launch creates the next attempt. If the spec is invalid or the creation was just rejected, the attempt ends instead.
// The result reports whether the decision entered another phase.
//
// Before any later launch, the method cleared has already confirmed by a live read that no object of the earlier
// attempts is left.
func (s *step) launch() bool {
	switch {
	case s.app.Hold != nil:
		return false // an edit of the custom resource ends the hold, and starts a pass
	case s.launchTried:
		s.requeueAfter(rereadDelay)
		return false
	case s.m.Attempt == maxAttempt:
		return s.end(lifecycle.Refused, lifecycle.Cause{Reason: lifecycle.ReasonNoAttempts,
			Message: "the attempt numbers are used up; delete the custom resource and create it again"}, s.now)
	case s.app.Invalid == nil && s.seen.Rejection == nil && s.seen.TransientError != nil:
		if s.seen.Rejection = s.launchTimedOut(); s.seen.Rejection != nil {
			return s.launch()
		}

		s.requeueAfter(repeatDelay)
		return false
	case s.waitsInQueue():
		return false
	case s.confirmsBeforeLaunch():
		s.confirm(lifecycle.DriverPod, s.m.Attempt+1)
		return false
	case s.waitsForQuota():
		return false
	}

	s.launchTried = true
	s.m.Attempt++
	s.m.Submissions++
	s.m.AttemptID = lifecycle.AttemptID(s.app.UID, s.m.Attempt)
	s.m.SpecHash = s.app.SpecHash
	s.restartDone(s.app.RestartRequest)
	s.m.SubmittedAt, s.m.UngatedAt, s.m.EndedAt, s.m.NextAttempt = s.now, time.Time{}, time.Time{}, time.Time{}

	s.m.Outcome = lifecycle.Undecided
	if s.app.Invalid != nil {
		return s.end(lifecycle.Refused, *s.app.Invalid, s.now)
	}

	if s.seen.Rejection != nil {
		s.do(lifecycle.Delete, lifecycle.Attempt, s.m.Attempt) // objects created before the rejection
		return s.end(lifecycle.Refused, *s.seen.Rejection, s.now)
	}
	s.m.Runs++
	s.enter(lifecycle.Launched, s.submission())
	s.do(lifecycle.Create, lifecycle.Submission, s.m.Attempt)
	s.plan.Notices = append(s.plan.Notices, queue.Admitted(s.seen, s.m.Attempt)...)
	s.requeueAfter(s.app.MissingGrace)
	s.deadlines(nil)
	return false
}

// waitsForQuota reports whether a launch waits because a quota rejected one of its pods. An application that has run,
// or that its queue has admitted, waits until there is room, and loses no retry. The deadline of the driver's start
// limits the wait. A new application, and the retry of a rejected submission, end instead, so that the user learns at
// once that the quota is too small. A server never runs out of retries.
func (s *step) waitsForQuota() bool {
	refused := s.seen.Rejection
	switch {
	case refused == nil, refused.Reason != lifecycle.ReasonQuota, s.app.Invalid != nil:
		return false
	case s.app.IsServer, s.m.Phase == lifecycle.New, s.m.Outcome == lifecycle.Refused:
		return false
	}

	due := s.m.Since
	if s.m.Phase == lifecycle.Waiting && !s.m.EndedAt.IsZero() {
		due = lifecycle.NotInFuture(s.m.EndedAt.Add(s.restartDelay()), s.now)
	}

	if limit := s.app.Deadlines.DriverStart; limit > 0 && s.now.Sub(due) >= limit {
		return false
	}

	cause := lifecycle.Cause{Reason: refused.Reason, Message: "the next attempt waits for quota: " + refused.Message}
	if s.stored.Cause.Reason == cause.Reason {
		cause = s.stored.Cause // the numbers in the message change with every pod in the namespace
	}

	s.do(lifecycle.Delete, lifecycle.Attempt, s.m.Attempt+1) // objects created before the rejection
	s.waitFor(lifecycle.Application, "", cause)
	s.requeueAfter(repeatDelay)
	return true
}

// confirmsBeforeLaunch reports whether a launch needs a live read first, because an earlier launch may not have been
// stored. There are three cases:
//
//   - before a rejection is accepted, because the driver of the earlier launch may use up the quota, and so cause the
//     rejection;
//   - before a submitter is launched, because the driver of the earlier launch has another name and would not block the
//     new driver;
//   - before the first launch after an edit, because the driver of the earlier launch may have another name.
func (s *step) confirmsBeforeLaunch() bool {
	if s.app.Invalid != nil || s.seen.Confirmed {
		return false
	}
	return s.seen.Rejection != nil || s.app.Submitter != nil || s.app.Edited && s.m.Attempt == 0
}

// launchTimedOut returns a cause if transient errors have delayed a launch for longer than a driver may take to start,
// and nil otherwise. A launch that was delayed for so long counts as a rejected submission, because no attempt ran.
func (s *step) launchTimedOut() *lifecycle.Cause {
	if s.seen.TransientError == nil {
		return nil
	}

	if outcome, cause, over := s.expired(deadlineAfter(lifecycle.NotInFuture(s.seen.TransientError.Since, s.now), s.app.Deadlines.DriverStart, lifecycle.Refused, lifecycle.ReasonStartTimedOut,
		"the driver pod could not be created")); over && outcome == lifecycle.Refused {
		return &cause
	}
	return nil
}

// actionsBlocked reports whether further actions in this pass would fail: the API server has already rejected one, or
// transient errors prevent them.
func (s *step) actionsBlocked() bool { return s.seen.Rejection != nil || s.seen.TransientError != nil }

// confirm requests a live read that the decision needs, and another pass. During transient errors it requests only the
// pass, unless a launch has exceeded its deadline.
func (s *step) confirm(part lifecycle.Part, attempt int32) {
	launches := !s.m.Phase.Live() && !s.m.Phase.Terminal()
	if s.seen.TransientError == nil || launches && s.launchTimedOut() != nil {
		s.do(lifecycle.Confirm, part, attempt)
	}

	s.requeueAfter(rereadDelay)
}

// submission returns the wait reason to store for a launch. If a submitter creates the driver pod, it says why a
// submitter is used. If the operator creates the driver pod itself, it is the zero Cause.
func (s *step) submission() lifecycle.Cause {
	if s.app.Submitter == nil {
		return lifecycle.Cause{}
	}
	return *s.app.Submitter
}

// adopt continues a launch that was not stored, because the operator died between the launch and its status write. Such
// a launch has a pod whose attempt number is higher than the remembered number. This attempt becomes the current one,
// whatever the memory says. The pod may also be an executor whose driver no longer exists, because an executor proves
// that its driver existed.
func (s *step) adopt() {
	newest := s.m.Attempt

	take := func(attempt int32) {
		if int64(attempt)-int64(s.m.Attempt) <= maxUnremembered {
			newest = max(newest, attempt)
		}
	}
	for i := range s.seen.Drivers {
		take(s.seen.Drivers[i].Attempt)
	}

	for i := range s.seen.Submitters {
		take(s.seen.Submitters[i].Attempt)
	}

	for i := range s.seen.Executors {
		take(s.seen.Executors[i].Attempt)
	}

	d, r := s.seen.Driver(newest), s.seen.Submitter(newest)
	if newest > s.m.Attempt {
		s.countUnremembered()

		if s.isSuspended() {
			s.forgetRejections() // the resume was not stored
		}

		s.m.Attempt = newest
		s.m.AttemptID = lifecycle.AttemptID(s.app.UID, newest)
		s.m.SpecHash = s.app.SpecHash
		s.m.Runs++
		s.m.Submissions++
		s.m.SubmittedAt, s.m.UngatedAt, s.m.EndedAt, s.m.NextAttempt = s.now, time.Time{}, time.Time{}, time.Time{}

		cause := lifecycle.Cause{}
		switch {
		case d != nil:
			s.m.SubmittedAt = lifecycle.NotInFuture(d.CreatedAt, s.now)
			s.m.AttemptID = cmp.Or(d.AttemptID, s.m.AttemptID)
			s.restartDone(d.RestartRequest)
		case r != nil:
			s.m.SubmittedAt = lifecycle.NotInFuture(r.CreatedAt, s.now)
			s.restartDone(r.RestartRequest)
			cause = s.submission()
		}

		s.m.Outcome = lifecycle.Undecided
		s.enter(lifecycle.Launched, cause)
	}

	if !s.m.Phase.Live() {
		return
	}
	// The hash on the pod is more reliable than the current spec, which may have been edited between the launch and
	// this pass.
	switch {
	case d != nil && d.SpecHash != "":
		s.m.SpecHash = d.SpecHash
	case d == nil && r != nil && r.SpecHash != "":
		s.m.SpecHash = r.SpecHash
	}
}

// noticeEdit replaces the run if the current spec differs from the spec of the run. If the hashes of the two specs
// cannot be compared, noticeEdit stores the new hash and replaces nothing.
//
// An edit of a finished or a running application resets the counts. An edit during a suspension, or together with the
// start or the end of a suspension, does not reset the counts and replaces nothing, because a suspension leaves no run
// to replace. A queue that preempts and admits applications makes such edits: it writes node selectors and tolerations
// together with suspend.
//
// A running server is not replaced if the new spec is invalid, because a server with an invalid spec cannot be created.
func (s *step) noticeEdit() {
	switch {
	case s.m.Phase == lifecycle.New || s.m.Phase == lifecycle.Editing || s.m.Attempt == 0:
		return
	case s.keepsServer():
		return
	case !lifecycle.Edited(s.m.SpecHash, s.app.SpecHash):
		s.m.SpecHash = s.app.SpecHash
		return
	}

	s.m.SpecHash = s.app.SpecHash
	if s.isSuspended() {
		s.replaceSuspending()
		return
	}

	if !s.app.Suspend || s.m.Phase.Terminal() {
		s.m.Runs, s.m.Submissions, s.m.SuspendedRuns, s.m.Restarts = 0, 0, 0, lifecycle.Restarts{}
	}

	if s.app.Suspend {
		s.suspend()
		return
	}

	s.m.Outcome, s.m.EndedAt, s.m.NextAttempt = lifecycle.Undecided, time.Time{}, time.Time{}
	s.enter(lifecycle.Editing, lifecycle.Cause{Reason: lifecycle.ReasonEdited, Message: "the spec was edited; the " + s.noun("run") + " of the old spec is replaced"})
}
