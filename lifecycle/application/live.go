package application

import (
	"fmt"
	"time"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// live follows the driver of a running attempt. The order matters: what is over is over, also when the application is to be suspended,
// has run out of time, or its driver is being deleted.
func (s *step) live() bool {
	d := s.seen.Driver(s.m.Attempt)
	if d != nil {
		if over(d) {
			s.retrace(d)
		}
		switch d.Phase {
		case lifecycle.DriverSucceeded:
			if s.app.Serves {
				return s.end(lifecycle.Failed, servedOut(d), d.EndedAt)
			}
			return s.end(lifecycle.Succeeded, lifecycle.Cause{}, d.EndedAt)
		case lifecycle.DriverFailed:
			return s.end(failedAs(d.Evicted), orReason(d.Why, lifecycle.ReasonDriverFailed, s.noun("driver")+" container failed"), d.EndedAt)
		}
	}
	if s.app.Suspend {
		return s.suspend()
	}
	s.deleteAll(s.seenAttempts(s.m.Attempt - 1))
	switch {
	case d == nil:
		return s.missing()
	case s.silent(&d):
		if outcome, cause, over := s.expired(s.runBound()); over {
			return !s.early(outcome) && s.end(outcome, cause, s.now)
		}
		return s.lostNode(d)
	}
	s.ungate(d)
	if outcome, cause, over := s.deadlines(d); over {
		return !s.early(outcome) && s.timedOut(d, outcome, cause)
	}
	switch s.inspect(d) {
	case unknown:
		return false
	case torn:
		return s.interrupted(d)
	}
	s.progress(d)
	s.await(d)
	return false
}

// await remembers what an attempt waits for that goes on: what its driver does, else what its executors do.
func (s *step) await(d *lifecycle.Driver) {
	cause := s.pendingCause(d)
	if r := s.seen.Submitter(s.m.Attempt); d.Phase == lifecycle.DriverPending && r != nil && !endedPhase(r.Phase) {
		cause = lifecycle.Cause{} // what the driver lacks yet is being made
	}
	if cause.Reason != "" || rank[s.m.Phase] < rank[lifecycle.Ready] {
		s.waitFor(lifecycle.DriverPod, d.Name, cause)
		return
	}
	s.sinceWhen()
	name, cause := s.pendingExecutor()
	if cause.Reason == "" {
		cause = s.unmade()
	}
	s.waitFor(lifecycle.Executors, name, cause)
}

// pendingExecutor is what the executors of the attempt wait for, and one that does. What is remembered stays as long as any of them waits
// for that reason: a burst of executors that all wait for room must not be a burst of status writes. One that is being taken from its node
// waits for nothing, and its reason would be read as the driver's (missing).
//
// Once enough executors run, others come and go as the work does: what a young one waits for is not worth telling yet.
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
		if left := young - s.now.Sub(e.CreatedAt); s.m.Phase.Runs() && left > 0 {
			s.check(min(left, young))
			continue
		}
		if cause.Reason == "" {
			name, cause = e.Name, orReason(e.Why, "", "it cannot start")
			cause.Message = fmt.Sprintf("executor pod %s waits: %s", e.Name, cause.Message)
		}
	}
	return name, cause
}

func failedAs(evicted bool) lifecycle.Outcome {
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

// pendingCause is what a driver waits for, or what is being done to it; nothing while all goes well.
func (s *step) pendingCause(d *lifecycle.Driver) lifecycle.Cause {
	why := d.Why
	if s.justGated(why, d.CreatedAt) {
		why = lifecycle.Cause{}
	}
	if d.Deleting && why.Reason == "" {
		return lifecycle.Cause{Reason: lifecycle.ReasonDriverDeleting, Message: fmt.Sprintf("%s pod %s is being deleted", s.noun("driver"), d.Name)}
	}
	return why
}

// justGated reports whether a pod waits for its scheduling gates for so short a time that nobody is told.
func (s *step) justGated(why lifecycle.Cause, created time.Time) bool {
	left := lifecycle.GateGrace(why, created, s.now)
	if left > 0 {
		s.check(left)
	}
	return left > 0
}

// missing deals with a driver that is not seen. Right after its creation the cache may be late; later it is looked for live. One that is
// still to be made is waited for.
func (s *step) missing() bool {
	r := s.seen.Submitter(s.m.Attempt)
	if s.m.Phase == lifecycle.Launched && r != nil && !endedPhase(r.Phase) {
		return s.submitting(r)
	}
	if s.m.Phase == lifecycle.Launched && r == nil {
		if left := s.m.SubmittedAt.Add(s.app.MissingGrace).Sub(s.now); left > 0 {
			s.check(left)
			return false
		}
	}
	if !s.seen.Confirmed {
		if s.seen.Weather != nil { // nobody can be asked, and time goes on
			if outcome, cause, over := s.deadlines(nil); over {
				return s.end(outcome, cause, s.now)
			}
		}
		s.confirm(lifecycle.DriverPod, s.m.Attempt)
		return false
	}
	if over, ended := s.unsubmitted(r); over {
		return ended
	}
	// What was seen of a driver that was being taken away is the best account of why it is gone.
	switch before := s.m.Cause; before.Reason {
	case lifecycle.ReasonEvicted, lifecycle.ReasonPreempted:
		return s.end(lifecycle.Evicted, before, s.now)
	case lifecycle.ReasonNodeLost:
		return s.end(lifecycle.Lost, lifecycle.Cause{Reason: before.Reason,
			Message: s.noun("driver") + " pod not found: its node was lost and the pod is gone"}, s.now)
	case lifecycle.ReasonDriverDeleting: // as if its last status had been seen (lifecycle.DriverFacts)
		return s.end(lifecycle.Failed, lifecycle.Cause{Reason: lifecycle.ReasonDriverDeleted,
			Message: s.noun("driver") + " pod not found: it was deleted before it ended"}, s.now)
	}
	return s.end(lifecycle.Lost, lifecycle.Cause{Reason: lifecycle.ReasonDriverLost,
		Message: s.noun("driver") + " pod not found: it was deleted before it ended"}, s.now)
}

// silent reports whether the driver's node is taken to be lost: Kubernetes says so and the node had its time to prove it wrong, or it did not
// carry out a deletion long after that was due. Until then the driver is taken to run on, as it was remembered; d becomes what is known of it.
// A node that was lost is back only when Kubernetes says so.
func (s *step) silent(d **lifecycle.Driver) bool {
	seen := *d
	var since time.Time
	switch {
	case seen.Phase == lifecycle.DriverUnknown && (s.m.Phase == lifecycle.Unknown || seen.SilentSince.IsZero()):
		return true
	case seen.Phase == lifecycle.DriverUnknown:
		since = s.earlier(seen.SilentSince).Add(doubt)
	case seen.Deleting && !seen.GoneBy.IsZero():
		since = seen.GoneBy.Add(overdue)
	default:
		return false
	}
	left := since.Sub(s.now)
	if left <= 0 {
		return true
	}
	s.check(left)
	if seen.Phase == lifecycle.DriverUnknown {
		doubted := *seen
		doubted.Phase, doubted.Why, doubted.Deleting = lifecycle.DriverRunning, s.m.Cause, false // what is done to it shows when the node does
		*d = &doubted
	}
	return false
}

// lostNode waits. The driver may still run where nobody can see it, so nothing is launched beside it. The time of the run is bounded all the same:
// an attempt that ended by it waits in Ended for its driver to be gone.
func (s *step) lostNode(d *lifecycle.Driver) bool {
	cause := orReason(d.Why, lifecycle.ReasonNodeLost, "the "+s.noun("driver")+"'s node does not answer")
	if d.Phase != lifecycle.DriverUnknown {
		cause = lifecycle.Cause{Reason: lifecycle.ReasonNodeLost, Message: fmt.Sprintf(
			"%s pod %s is being deleted and should be gone since %s; its node does not carry that out, and nothing is concluded until it does or the pod is gone",
			s.noun("driver"), d.Name, d.GoneBy.UTC().Format(time.RFC3339))}
	}
	if before := s.m.Phase; before != lifecycle.Unknown {
		s.to(lifecycle.Unknown, cause)
		if s.app.Thresholds != nil {
			s.m.Before = before
		}
	}
	s.m.Cause = cause.Bounded()
	return false
}

// rank orders the phases of a live attempt; a driver never goes back, only reads do.
var rank = map[lifecycle.Phase]int{
	lifecycle.Launched: 0, lifecycle.Started: 1, lifecycle.Ready: 2, lifecycle.Scaling: 3,
	lifecycle.Running: 4, lifecycle.Partial: 4, lifecycle.Below: 4,
}

// progress enters the phases that the driver has come through, each of them, up to where it is. From a lost node it is one step to wherever
// the driver turns out to be.
func (s *step) progress(d *lifecycle.Driver) {
	target, stage := s.phaseOf(d), s.stage()
	switch {
	case stage == lifecycle.Unknown:
		s.to(target, lifecycle.Cause{})
	case s.app.Serves && s.m.Phase == lifecycle.Running && target != lifecycle.Running:
		s.to(lifecycle.Started, s.notServing(d))
	case rank[target] > rank[stage]:
		s.climb(target)
	case stage.Runs() && target.Runs() && target != s.m.Phase:
		s.to(target, s.lack(target))
	case s.m.Phase == lifecycle.Unknown:
		s.to(stage, lifecycle.Cause{})
	}
}

// stage is how far a live attempt has come: of one on a lost node, how far it had, where that is remembered.
func (s *step) stage() lifecycle.Phase {
	if s.m.Phase == lifecycle.Unknown && s.m.Before != lifecycle.New {
		return s.m.Before
	}
	return s.m.Phase
}

// climb enters the phases from where the driver was up to the target, each of them but Scaling, which is a place to wait in.
func (s *step) climb(target lifecycle.Phase) {
	from := rank[s.stage()]
	for _, phase := range s.ladder() {
		switch {
		case rank[phase] <= from, rank[phase] > rank[target], phase == lifecycle.Scaling && target != phase:
			continue
		case rank[phase] == rank[target]:
			phase = target
		}
		s.to(phase, s.lack(phase))
	}
}

func (s *step) phaseOf(d *lifecycle.Driver) lifecycle.Phase {
	switch {
	case d.Phase == lifecycle.DriverPending:
		return lifecycle.Launched
	case !d.Ready, s.app.Serves && d.Deleting: // a pod that is being deleted is no Service's any more, and takes no new session
		return lifecycle.Started
	case s.app.Serves:
		return lifecycle.Running
	case s.app.Thresholds != nil:
		running := s.running()
		return s.standing(running, running)
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

// executors counts the attempt's executors that are seen, and those that came to run.
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

// deadline is one bound of a live attempt.
type deadline struct {
	at      time.Time
	outcome lifecycle.Outcome
	cause   lifecycle.Cause
}

// deadlines asks for a look at the next deadline, or reports the first one that has passed. D is nil where it is not seen.
func (s *step) deadlines(d *lifecycle.Driver) (lifecycle.Outcome, lifecycle.Cause, bool) {
	return s.expired(s.bounds(d))
}

// early reports whether nobody has yet looked live that an attempt's time is over, or that look found more than is seen: after an outage the cache may be behind
// for a minute, while what should have started by then did. In bad weather nobody can be asked, and time goes on.
func (s *step) early(outcome lifecycle.Outcome) bool {
	looked, part := s.seen.Confirmed, lifecycle.DriverPod
	if outcome == lifecycle.ExecutorsTimedOut {
		looked, part = s.seen.Reread, lifecycle.Attempt
	}
	switch {
	case s.seen.Weather != nil:
		return false
	case !looked:
		s.confirm(part, s.m.Attempt)
		return true
	case s.seen.Behind:
		s.check(reassert) // if what is behind does not come by itself
		return true
	}
	return false
}

// timedOut ends an attempt whose time is over.
func (s *step) timedOut(d *lifecycle.Driver, outcome lifecycle.Outcome, cause lifecycle.Cause) bool {
	if s.app.Retrace {
		s.progress(d) // to where it was then
	}
	return s.end(outcome, cause, s.now)
}

func (s *step) expired(bounds []deadline) (lifecycle.Outcome, lifecycle.Cause, bool) {
	var first *deadline
	for _, next := range bounds {
		if first == nil || next.at.Before(first.at) {
			first = &next
		}
	}
	switch {
	case first == nil:
		return "", lifecycle.Cause{}, false
	case s.now.Before(first.at):
		s.check(first.at.Sub(s.now))
		return "", lifecycle.Cause{}, false
	}
	why := s.m.Cause
	if s.seen.Weather != nil {
		why = s.seen.Weather.Cause
	}
	if why.Reason != "" {
		first.cause.Message += fmt.Sprintf("; it waited for %s: %s", why.Reason, why.Message)
	}
	return first.outcome, first.cause, true
}

// bound is a deadline, or none where there is no limit.
func bound(from time.Time, limit time.Duration, outcome lifecycle.Outcome, reason, what string) []deadline {
	if limit <= 0 {
		return nil
	}
	return []deadline{{from.Add(limit), outcome, lifecycle.Cause{Reason: reason, Message: fmt.Sprintf("%s within %s", what, limit)}}}
}

// runBound is the deadline of the whole run. It holds wherever the driver stands, and whether or not its node answers.
func (s *step) runBound() []deadline {
	return bound(s.m.SubmittedAt, s.app.Limits.Run, lifecycle.RunTimedOut, lifecycle.ReasonRunTimedOut, "the run did not end")
}

// startBound is the deadline of the driver's start. The time that a queue holds the pod up does not count.
func (s *step) startBound(d *lifecycle.Driver) []deadline {
	if d.Gated {
		return nil
	}
	from := s.m.SubmittedAt
	if s.m.UngatedAt.After(from) {
		from = s.m.UngatedAt
	}
	return bound(from, s.app.Limits.DriverStart, lifecycle.StartTimedOut, lifecycle.ReasonStartTimedOut, "the driver did not start")
}

// ungate remembers when the driver pod lost its scheduling gates. Gates that were not reported held nothing up
// (lifecycle.GateGrace). Kubernetes does not store that time, but the gates were gone when the pod was given a node.
func (s *step) ungate(d *lifecycle.Driver) {
	held := s.m.Phase == lifecycle.Launched && s.m.Cause.Reason == lifecycle.ReasonSchedulingGated
	if held && !d.Gated && s.m.UngatedAt.IsZero() {
		s.m.UngatedAt = s.earlier(d.ScheduledAt)
	}
}

// bounds lists the deadlines that hold where the driver stands.
func (s *step) bounds(d *lifecycle.Driver) []deadline {
	limits := s.app.Limits
	phase := lifecycle.Launched
	switch {
	case d != nil:
		phase = s.phaseOf(d)
	case s.m.Phase == lifecycle.Unknown:
		return s.runBound()
	default:
		d = &lifecycle.Driver{}
	}
	if stage := s.stage(); rank[stage] > rank[phase] {
		phase = stage // it once was further: an executor that went, or a read that is late
	}
	var here []deadline
	switch phase {
	case lifecycle.Launched:
		here = s.startBound(d)
	case lifecycle.Started:
		here = bound(s.from(d.StartedAt), limits.DriverReady, lifecycle.ReadyTimedOut, lifecycle.ReasonReadyTimedOut, "the driver was not ready")
	case lifecycle.Ready, lifecycle.Scaling:
		here = bound(s.scalesFrom(phase, d), limits.ExecutorsStart, lifecycle.ExecutorsTimedOut, lifecycle.ReasonExecutorsTimedOut,
			fmt.Sprintf("fewer than %d executors ran", s.initial()))
	}
	return append(s.runBound(), here...)
}

// from is the time that a deadline counts from: as the pod tells, else when we entered the phase.
func (s *step) from(t time.Time) time.Time {
	if t.IsZero() {
		return s.m.Since
	}
	return s.earlier(t)
}
