package application

import (
	"fmt"
	"slices"
	"time"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// live handles the phases of a live attempt by following its driver. The order of the checks matters: an ended driver
// is handled first, even if the application is being suspended, a deadline has passed, or the driver is being deleted.
// A deadline that has passed comes before a suspension, and a suspension before an eviction by the queue.
// The result reports whether the decision entered another phase.
func (s *step) live() bool {
	s.rememberExecutorFailure()
	s.rememberEnough()

	d := s.seen.Driver(s.m.Attempt)
	if d != nil && driverEnded(d) {
		return s.driverEnd(d)
	}

	if s.stops() {
		return s.suspendLive(d)
	}

	s.deleteAll(s.seenAttempts(s.m.Attempt - 1))

	switch {
	case d == nil:
		return s.driverMissing()
	case s.nodeLost(&d):
		if outcome, cause, over := s.expired(s.runDeadline()); over {
			return !s.needsLiveRead(outcome) && s.end(outcome, cause, s.now)
		}
		return s.lostNode(d)
	}

	s.rememberUngated(d)

	if outcome, cause, over := s.deadlines(d); over {
		return !s.needsLiveRead(outcome) && s.timedOut(d, outcome, cause)
	}

	switch s.inspectMounts(d) {
	case mountsUnknown:
		return false
	case mountsMissing:
		return s.endInterrupted(d)
	}

	s.progress(d)
	s.restoreObjects(d)
	s.rememberWait(d)
	return false
}

// driverEnd ends an attempt whose driver has ended. It always enters the phase Ended, and therefore always returns
// true.
func (s *step) driverEnd(d *lifecycle.Driver) bool {
	s.enterMissedPhases(d)

	switch {
	case d.Phase == lifecycle.DriverFailed:
		why := orReason(d.Why, lifecycle.ReasonDriverFailed, s.noun("driver")+" container failed")
		return s.end(failureOutcome(d.Evicted), lifecycle.ExecutorsFailed(d, why, s.m.ExecutorFailure), d.EndedAt)
	case s.app.IsServer:
		return s.end(lifecycle.Failed, serverEndCause(d), d.EndedAt)
	}
	return s.end(lifecycle.Succeeded, lifecycle.Cause{}, d.EndedAt)
}

// rememberExecutorFailure stores in the memory why the executor failed that was created last. Spark may delete its pod
// at any time, and the pods of executors that failed before it may exist for longer.
func (s *step) rememberExecutorFailure() {
	var last *lifecycle.Executor
	for _, executors := range [][]lifecycle.Executor{s.seen.UncountedExecutors, s.seen.Executors} {
		for i := range executors {
			e := &executors[i]
			if e.Attempt == s.m.Attempt && e.Phase == lifecycle.DriverFailed && (last == nil || !e.CreatedAt.Before(last.CreatedAt)) {
				last = e
			}
		}
	}

	if last != nil && (s.m.FailedExecutorCreatedAt.IsZero() || last.CreatedAt.After(s.m.FailedExecutorCreatedAt)) {
		s.m.FailedExecutorCreatedAt = last.CreatedAt
		s.m.ExecutorFailure = last.Why.Bounded()
		s.m.ExecutorFailure.Log = ""
	}
}

// restoreObjects requests the creation of objects that the driver or its next executors need and that somebody deleted,
// such as the driver's Service. The caches of these objects may be later than the cache of pods, so a young driver
// lacks none.
func (s *step) restoreObjects(d *lifecycle.Driver) {
	if d.MissingObjects <= 0 || d.Deleting || s.actionsBlocked() {
		return
	}

	if left := lifecycle.NotInFuture(d.CreatedAt, s.now).Add(youngDriver).Sub(s.now); left > 0 {
		s.requeueAfter(left)
		return
	}

	s.do(lifecycle.Create, lifecycle.DriverObjects, s.m.Attempt)
	s.requeueAfter(lifecycle.StopDuration)
}

// rememberWait stores the wait reason of a live attempt in the memory. It is the driver's wait reason or, if the driver
// has none, the wait reason of the executors.
func (s *step) rememberWait(d *lifecycle.Driver) {
	cause := s.pendingCause(d)
	if r := s.seen.Submitter(s.m.Attempt); d.Phase == lifecycle.DriverPending && r != nil && !endedPhase(r.Phase) {
		cause = lifecycle.Cause{} // the submitter is still creating the objects that the driver lacks
	}

	if cause.Reason == "" && d.MissingObjects > 0 && s.seen.Rejection != nil {
		cause = lifecycle.Cause{Reason: s.seen.Rejection.Reason, Message: fmt.Sprintf(
			"objects that driver pod %s and its executors need were deleted and cannot be created again: %s", d.Name, s.seen.Rejection.Message)}
		s.requeueAfter(repeatDelay)
	}

	if cause.Reason != "" || rank[s.m.Phase] < rank[lifecycle.Ready] {
		s.waitFor(lifecycle.DriverPod, d.Name, cause)
		return
	}

	s.rememberShortage()

	name, cause := s.pendingExecutor()
	if cause.Reason == "" {
		cause = s.missingExecutorsCause()
	}

	s.waitFor(lifecycle.Executors, name, cause)
}

// pendingExecutor returns the wait reason of the attempt's executors, and the name of an executor that has this wait
// reason.
//
// If any executor still has the wait reason that the memory contains, pendingExecutor returns this wait reason again.
// Otherwise a burst of executors that all wait for capacity would cause a burst of status writes.
//
// Two sorts of executors are skipped: those that are being removed from their node (evicted, preempted, or on a lost
// node), and, while the application runs, those that were created shortly before.
func (s *step) pendingExecutor() (name string, cause lifecycle.Cause) {
	for i := range s.seen.Executors {
		e := &s.seen.Executors[i]
		if e.Attempt != s.m.Attempt || e.Phase != lifecycle.DriverPending {
			continue
		}

		switch e.Why.Reason {
		case "", lifecycle.ReasonEvicted, lifecycle.ReasonPreempted, lifecycle.ReasonNodeLost:
			continue
		case s.m.Cause.Reason:
			return e.Name, s.m.Cause
		}

		if s.justGated(e.Why, e.CreatedAt) {
			continue
		}

		if left := youngExecutor - s.now.Sub(e.CreatedAt); s.m.Phase.Runs() && left > 0 {
			s.requeueAfter(min(left, youngExecutor))
			continue
		}

		if cause.Reason == "" {
			name, cause = e.Name, orReason(e.Why, "", "it cannot start")
			cause.Message = fmt.Sprintf("executor pod %s waits: %s", e.Name, cause.Message)
		}
	}
	return name, cause
}

func failureOutcome(evicted bool) lifecycle.Outcome {
	if evicted {
		return lifecycle.Evicted
	}
	return lifecycle.Failed
}

func orReason(c lifecycle.Cause, reason, message string) lifecycle.Cause {
	if c.Reason == "" {
		c.Reason = reason
	}

	if c.Message == "" {
		c.Message = message
	}
	return c
}

// pendingCause returns the wait reason of a driver. If there is none and the driver is being deleted, it returns the
// cause of the deletion. Otherwise it returns the zero Cause.
func (s *step) pendingCause(d *lifecycle.Driver) lifecycle.Cause {
	why := d.Why
	if s.justGated(why, d.CreatedAt) {
		why = lifecycle.Cause{}
	}

	if kept := s.finalizersCause(d); kept.Reason != "" {
		return kept
	}

	if d.Deleting && why.Reason == "" {
		return lifecycle.Cause{Reason: lifecycle.ReasonDriverDeleting, Message: fmt.Sprintf("%s pod %s is being deleted", s.noun("driver"), d.Name)}
	}
	return why
}

// justGated reports whether a pod waits for scheduling gates, but not yet long enough to be reported.
func (s *step) justGated(why lifecycle.Cause, created time.Time) bool {
	left := lifecycle.GateGrace(why, created, s.now)
	if left > 0 {
		s.requeueAfter(left)
	}
	return left > 0
}

// driverMissing handles a driver that is not in the cache. Shortly after the driver's creation the cache may be behind,
// so the pass waits; later, a live read decides. While a submitter may still create the driver, driverMissing waits for
// the submitter. The result reports whether the decision entered another phase.
func (s *step) driverMissing() bool {
	r := s.seen.Submitter(s.m.Attempt)
	if s.m.Phase == lifecycle.Launched && r != nil && !endedPhase(r.Phase) {
		return s.submitting(r)
	}

	if s.m.Phase == lifecycle.Launched && r == nil {
		if left := s.m.SubmittedAt.Add(s.app.MissingGrace).Sub(s.now); left > 0 {
			s.requeueAfter(left)
			return false
		}
	}

	if !s.seen.Confirmed {
		if s.seen.TransientError != nil { // no live read is possible, but deadlines still apply
			if outcome, cause, over := s.deadlines(nil); over {
				return s.end(outcome, cause, s.now)
			}
		}

		s.confirm(lifecycle.DriverPod, s.m.Attempt)
		return false
	}

	if over, ended := s.endUnsubmitted(r); over {
		return ended
	}
	// If the driver disappeared while it was being evicted, preempted or deleted, the cause remembered at that time is
	// the best explanation of its end.
	switch before := s.m.Cause; before.Reason {
	case lifecycle.ReasonEvicted, lifecycle.ReasonPreempted:
		return s.end(lifecycle.Evicted, before, s.now)
	case lifecycle.ReasonNodeLost:
		return s.end(lifecycle.Lost, lifecycle.Cause{Reason: before.Reason,
			Message: s.noun("driver") + " pod not found: its node was lost and the pod is gone"}, s.now)
	case lifecycle.ReasonDriverDeleting: // the same cause as if its last status had been observed (lifecycle.DriverFacts)
		return s.end(lifecycle.Failed, lifecycle.Cause{Reason: lifecycle.ReasonDriverDeleted,
			Message: s.noun("driver") + " pod not found: it was deleted before it ended"}, s.now)
	}
	return s.end(lifecycle.Lost, lifecycle.Cause{Reason: lifecycle.ReasonDriverLost,
		Message: s.noun("driver") + " pod not found: it was deleted before it ended"}, s.now)
}

// nodeLost reports whether the driver's node counts as lost. There are two cases: Kubernetes has reported the node as
// lost for longer than nodeLostGrace, or the driver still exists long after it should have been deleted.
//
// During nodeLostGrace the driver counts as running: nodeLost makes d point to a copy of the driver with the phase
// Running and the remembered cause. After that, the node counts as lost until Kubernetes reports that it works again.
func (s *step) nodeLost(d **lifecycle.Driver) bool {
	seen := *d

	var since time.Time
	switch {
	case s.finalizersCause(seen).Reason != "":
		return false // the pod does not need its node any more
	case seen.Phase == lifecycle.DriverUnknown && (s.m.Phase == lifecycle.Unknown || seen.NodeLostSince.IsZero()):
		return true
	case seen.Phase == lifecycle.DriverUnknown:
		since = lifecycle.NotInFuture(seen.NodeLostSince, s.now).Add(nodeLostGrace)
	case seen.Deleting && !seen.GoneBy.IsZero():
		since = seen.GoneBy.Add(overdue)
	default:
		return false
	}

	left := since.Sub(s.now)
	if left <= 0 {
		return true
	}

	s.requeueAfter(left)

	if seen.Phase == lifecycle.DriverUnknown {
		doubted := *seen
		// The real state becomes visible when the node reports again.
		doubted.Phase, doubted.Why, doubted.Deleting = lifecycle.DriverRunning, s.m.Cause, false
		*d = &doubted
	}
	return false
}

// lostNode enters or keeps the phase Unknown, in which the attempt waits for its lost node. The driver may still run
// unobserved, so no other attempt is launched. The deadline of the run still applies. An attempt that exceeds it waits
// in the phase Ended until its driver no longer exists. The result reports whether the decision entered another phase.
func (s *step) lostNode(d *lifecycle.Driver) bool {
	cause := orReason(d.Why, lifecycle.ReasonNodeLost, "the "+s.noun("driver")+"'s node does not answer")
	if d.Phase != lifecycle.DriverUnknown {
		cause = lifecycle.Cause{Reason: lifecycle.ReasonNodeLost, Message: fmt.Sprintf(
			"%s pod %s should have been deleted before %s, but its node does not carry out the deletion; the operator waits until the pod is gone",
			s.noun("driver"), d.Name, d.GoneBy.UTC().Format(time.RFC3339))}
	}

	if before := s.m.Phase; before != lifecycle.Unknown {
		s.enter(lifecycle.Unknown, cause)

		if s.app.Thresholds != nil {
			s.m.PhaseBeforeUnknown = before
		}
	}

	s.m.Cause = cause.Bounded()
	return false
}

// rank orders the phases of a live attempt. A driver never returns to a phase with a lower rank. If an observation
// shows such a phase, the observation is outdated.
var rank = map[lifecycle.Phase]int{
	lifecycle.Launched: 0, lifecycle.Started: 1, lifecycle.Ready: 2, lifecycle.Scaling: 3,
	lifecycle.Running: 4, lifecycle.Partial: 4, lifecycle.Below: 4,
}

// progress enters every phase that the driver has reached since the last pass, one after the other. If the driver's
// node was lost, it enters only the driver's current phase.
func (s *step) progress(d *lifecycle.Driver) {
	target, stage := s.phaseOf(d), s.stage()
	switch {
	case stage == lifecycle.Unknown:
		s.enter(target, lifecycle.Cause{})
	case s.app.IsServer && s.m.Phase == lifecycle.Running && target != lifecycle.Running:
		s.enter(lifecycle.Started, s.notReadyCause(d))
	case rank[target] > rank[stage]:
		s.enterPhasesUpTo(target)
	case stage.Runs() && target.Runs() && target != s.m.Phase:
		s.enter(target, s.shortageCause(target))
	case s.m.Phase == lifecycle.Unknown:
		s.enter(stage, lifecycle.Cause{})
	}
}

// stage returns the last phase that a live attempt has entered. If the node is lost (phase Unknown), this is the phase
// before the loss. If the memory does not contain that phase, stage returns Unknown.
func (s *step) stage() lifecycle.Phase {
	if s.m.Phase == lifecycle.Unknown && s.m.PhaseBeforeUnknown != lifecycle.New {
		return s.m.PhaseBeforeUnknown
	}
	return s.m.Phase
}

// enterPhasesUpTo enters every phase after the current one, up to and including the target. It skips Scaling unless
// Scaling is the target, because an application enters Scaling only to wait for executors.
func (s *step) enterPhasesUpTo(target lifecycle.Phase) {
	from := rank[s.stage()]
	for _, phase := range s.phasesInOrder() {
		switch {
		case rank[phase] <= from, rank[phase] > rank[target], phase == lifecycle.Scaling && target != phase:
			continue
		case rank[phase] == rank[target]:
			phase = target
		}

		s.enter(phase, s.shortageCause(phase))
	}
}

func (s *step) phaseOf(d *lifecycle.Driver) lifecycle.Phase {
	switch {
	case d.Phase == lifecycle.DriverPending:
		return lifecycle.Launched
	// A pod that is being deleted receives no new sessions from its Service.
	case !d.Ready, s.app.IsServer && d.Deleting:
		return lifecycle.Started
	case s.app.IsServer:
		return lifecycle.Running
	case s.app.Thresholds != nil:
		return s.phaseByThresholds(s.running(), s.present(), d.ReadyAt)
	}

	seen, started := s.executors()
	switch {
	case started >= s.app.InitialExecutors:
		return lifecycle.Running
	case seen > 0:
		return lifecycle.Scaling
	}
	return lifecycle.Ready
}

// executors returns how many executors of the attempt were observed, and how many of these have started.
func (s *step) executors() (seen, started int32) {
	for i := range s.seen.Executors {
		e := &s.seen.Executors[i]
		if e.Attempt != s.m.Attempt {
			continue
		}
		seen++

		if e.Phase == lifecycle.DriverRunning || e.Phase == lifecycle.DriverSucceeded {
			started++
		}
	}
	return seen, started
}

// deadline is a time limit of a live attempt, with the outcome and the cause if the attempt exceeds it.
type deadline struct {
	at      time.Time
	outcome lifecycle.Outcome
	cause   lifecycle.Cause
}

// deadlines returns the outcome and the cause of the first deadline that has passed. If no deadline has passed, the
// last result is false, and a pass is requested at the next deadline. The driver d is nil if it is missing.
func (s *step) deadlines(d *lifecycle.Driver) (lifecycle.Outcome, lifecycle.Cause, bool) {
	return s.expired(s.phaseDeadlines(d))
}

// needsLiveRead reports whether a live read must confirm that an attempt has exceeded a deadline, before the deadline
// may end the attempt. After an outage the cache may be a minute behind, and the missing pods may have started
// meanwhile. If the live read finds a later state than the cache, the result stays true until the cache has caught up.
// During transient errors no live read is possible, so a deadline ends the attempt without one.
func (s *step) needsLiveRead(outcome lifecycle.Outcome) bool {
	looked, part := s.seen.Confirmed, lifecycle.DriverPod
	if outcome == lifecycle.ExecutorsTimedOut {
		looked, part = s.seen.PodsConfirmed, lifecycle.Attempt
	}

	switch {
	case s.seen.TransientError != nil:
		return false
	case !looked:
		s.confirm(part, s.m.Attempt)
		return true
	case s.seen.CacheBehind:
		s.requeueAfter(repeatDelay) // in case the cache does not catch up by itself
		return true
	}
	return false
}

// timedOut ends an attempt that has exceeded a deadline. It always enters the phase Ended, and therefore always returns
// true.
func (s *step) timedOut(d *lifecycle.Driver, outcome lifecycle.Outcome, cause lifecycle.Cause) bool {
	if s.app.EnterMissedPhases {
		s.progress(d) // first enters the phases that the driver has reached by the deadline
	}
	return s.end(outcome, cause, s.now)
}

func (s *step) expired(bounds []deadline) (lifecycle.Outcome, lifecycle.Cause, bool) {
	if len(bounds) == 0 {
		return "", lifecycle.Cause{}, false
	}

	first := slices.MinFunc(bounds, func(a, b deadline) int { return a.at.Compare(b.at) })
	if s.now.Before(first.at) {
		s.requeueAt(lifecycle.Limit{At: first.at, Part: lifecycle.Attempt, Reason: first.cause.Reason})
		return "", lifecycle.Cause{}, false
	}

	why := s.m.Cause
	if s.seen.TransientError != nil {
		why = s.seen.TransientError.Cause
	}

	if why.Reason != "" {
		first.cause.Message += fmt.Sprintf("; it waited for %s: %s", why.Reason, why.Message)
	}
	return first.outcome, first.cause, true
}

// deadlineAfter returns a list with one deadline, which passes when the given limit has passed since the time from. The
// list is empty if the limit is 0 or less, because that means no deadline. An attempt that exceeds the deadline ends
// with the given outcome and reason. Its message begins with the last argument, which says what did not happen in time.
func deadlineAfter(from time.Time, limit time.Duration, outcome lifecycle.Outcome, reason, what string) []deadline {
	if limit <= 0 {
		return nil
	}
	return []deadline{{from.Add(limit), outcome, lifecycle.Cause{Reason: reason, Message: fmt.Sprintf("%s within %s", what, limit)}}}
}

// runDeadline returns the deadline of the whole run. This deadline applies in every phase, even if the driver's node
// does not respond.
func (s *step) runDeadline() []deadline {
	return deadlineAfter(s.m.SubmittedAt, s.app.Deadlines.Run, lifecycle.RunTimedOut, lifecycle.ReasonRunTimedOut, "the run did not end")
}

// startDeadline returns the deadline of the driver's start. Time that the pod spends behind scheduling gates does not
// count.
func (s *step) startDeadline(d *lifecycle.Driver) []deadline {
	if d.Gated {
		return nil
	}

	return deadlineAfter(lifecycle.Latest(s.m.SubmittedAt, s.m.UngatedAt), s.app.Deadlines.DriverStart, lifecycle.StartTimedOut, lifecycle.ReasonStartTimedOut, "the driver did not start")
}

// rememberUngated stores in the memory when the scheduling gates of the driver pod, or of all executors, were removed.
// Kubernetes does not record that time. For the driver, the stored time is when the pod was assigned to a node, which
// happens after the gates are removed. Nothing is stored if the gates were removed so early that they were never
// reported as a wait reason (lifecycle.GateGrace), because they caused no noticeable delay.
func (s *step) rememberUngated(d *lifecycle.Driver) {
	waits := s.m.Phase == lifecycle.Ready || s.m.Phase == lifecycle.Scaling
	switch {
	case s.m.Cause.Reason != lifecycle.ReasonSchedulingGated:
	case s.m.Phase == lifecycle.Launched && !d.Gated && s.m.UngatedAt.IsZero():
		s.m.UngatedAt = lifecycle.NotInFuture(d.ScheduledAt, s.now)
	case waits && !s.seen.HasGatedExecutor(s.m.Attempt):
		s.m.UngatedAt = s.now
	}
}

// executorsDeadline returns the deadline of the start of the executors in a phase. Time in which an executor waits
// behind scheduling gates does not count.
func (s *step) executorsDeadline(phase lifecycle.Phase, d *lifecycle.Driver) []deadline {
	if s.seen.HasGatedExecutor(s.m.Attempt) {
		return nil
	}

	return deadlineAfter(lifecycle.Latest(s.executorsDeadlineStart(phase, d), s.m.UngatedAt), s.app.Deadlines.ExecutorsStart, lifecycle.ExecutorsTimedOut, lifecycle.ReasonExecutorsTimedOut,
		"fewer than "+bounds.Count(s.initialExecutors(), "executor")+" ran")
}

// phaseDeadlines returns the deadlines that apply in the driver's current phase.
func (s *step) phaseDeadlines(d *lifecycle.Driver) []deadline {
	limits := s.app.Deadlines

	phase := lifecycle.Launched
	switch {
	case d != nil:
		phase = s.phaseOf(d)
	case s.m.Phase == lifecycle.Unknown:
		return s.runDeadline()
	default:
		d = &lifecycle.Driver{}
	}

	if stage := s.stage(); rank[stage] > rank[phase] {
		phase = stage // the attempt was further before: an executor no longer exists, or the read is late
	}

	var here []deadline
	switch phase {
	case lifecycle.Launched:
		here = s.startDeadline(d)
	case lifecycle.Started:
		here = deadlineAfter(s.deadlineStart(d.StartedAt), limits.DriverReady, lifecycle.ReadyTimedOut, lifecycle.ReasonReadyTimedOut, "the driver was not ready")
	case lifecycle.Ready, lifecycle.Scaling:
		here = s.executorsDeadline(phase, d)
	}
	return append(s.runDeadline(), here...)
}

// deadlineStart returns the time from which a deadline counts. This is the given time, which was read from the pod. If
// that time is zero, the result is the start of the current phase.
func (s *step) deadlineStart(t time.Time) time.Time {
	if t.IsZero() {
		return s.m.Since
	}
	return lifecycle.NotInFuture(t, s.now)
}
