package application

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// end is where an attempt is over, however.
func (s *step) end(outcome lifecycle.Outcome, cause lifecycle.Cause, at time.Time) bool {
	s.m.Outcome = outcome
	s.m.EndedAt = s.earlier(at)
	s.m.NextAttempt = time.Time{}
	return s.to(lifecycle.Ended, cause)
}

// ended sees to it that the driver does not go on (an attempt that ran out of time has one that does), then follows the restart policy.
func (s *step) ended() bool {
	if s.stray() {
		return false
	}
	if !s.again() {
		return s.finish()
	}
	s.m.NextAttempt = s.m.EndedAt.Add(s.delay())
	s.count(s.m.Outcome)
	return s.to(lifecycle.Waiting, s.m.Cause)
}

// stray deletes a driver that goes on although its attempt is over: it ran out of time, or its launch was not remembered and a later try at
// the same launch was refused. A submitter that could still make one goes as well; beside a driver that has ended it cannot. It reports
// whether there is one.
func (s *step) stray() bool {
	d, r := s.seen.Driver(s.m.Attempt), s.seen.Submitter(s.m.Attempt)
	switch {
	case d != nil && over(d), d == nil && (r == nil || endedPhase(r.Phase)):
		return false
	}
	s.deleteAll([]int32{s.m.Attempt})
	return true
}

func over(d *lifecycle.Driver) bool { return endedPhase(d.Phase) }

func endedPhase(p lifecycle.DriverPhase) bool {
	return p == lifecycle.DriverSucceeded || p == lifecycle.DriverFailed
}

// kept reports whether a pod of the attempt that is over is kept for its log: the driver's, or the submitter's where that is all there was.
func (s *step) kept() bool {
	d, r := s.seen.Driver(s.m.Attempt), s.seen.Submitter(s.m.Attempt)
	stays := func(deleting bool) bool { return !deleting || !s.accounts() }
	return d != nil && stays(d.Deleting) || s.m.Outcome == lifecycle.Refused && r != nil && stays(r.Deleting)
}

// finish ends the application for good. Its driver pod, or the pod that failed to submit one, is kept for its log, as long as the application, where it
// is to be retained. Else everything of it goes first.
func (s *step) finish() bool {
	keeps := s.retains() && s.kept()
	switch {
	case !s.accounts():
	case s.m.Phase == lifecycle.Waiting && !s.seen.Confirmed:
		s.confirm(lifecycle.DriverPod, s.m.Attempt) // the next launch may have been, and not be remembered
		return false
	case !keeps && !s.released():
		return false
	}
	s.m.NextAttempt = time.Time{}
	cause := s.unserved()
	if limit := cmp.Or(s.exhausted(), s.unfit()); limit != "" {
		cause = exhaustedBy(limit, s.m)
	}
	if keeps {
		return s.to(lifecycle.Retained, cause)
	}
	return s.to(lifecycle.Done, cause)
}

// again reports whether the restart policy wants another attempt after the one that ended. Failed runs and refused submissions are
// counted apart, each since the last edit: what was submitted and did not run was refused; what was suspended is neither. Where restarts are
// counted otherwise (lifecycle.Counted) that decides.
func (s *step) again() bool {
	if s.app.Invalid != nil || s.m.Attempt == maxAttempt {
		return false
	}
	rule := s.app.Restart
	switch {
	case s.m.Outcome == lifecycle.Refused && s.refusals() <= onceMore(s.m) && (rule.Counted == nil || onceMore(s.m) > 0):
		return true
	case !asksFor(rule.Policy, s.m.Outcome):
		return false
	case rule.Counted != nil:
		return s.exhausted() == ""
	case rule.Policy == lifecycle.Always:
		return true
	case s.m.Outcome == lifecycle.Refused:
		return s.refusals() <= rule.SubmissionRetries
	}
	return s.failures() <= rule.FailureRetries
}

// failures counts the runs that ended by themselves. One that was suspended did not, however often a queue preempts it.
func (s *step) failures() int32 { return s.m.Runs - s.m.Spared }

func (s *step) refusals() int32 { return s.m.Submissions - s.m.Runs }

// MinDelay is the shortest time from the end of an attempt to the next, whatever the spec says. An attempt costs the
// API server tens of requests: without a bound a spec that fails at once and is always tried again would be a loop.
const MinDelay = time.Second

// delay is the time from the end of the last attempt to the next.
func (s *step) delay() time.Duration { return max(s.wantedDelay(), MinDelay) }

// wantedDelay is the time that the restart policy wants from the end of the last attempt to the next. A run that
// succeeded is followed after the plain interval: there is
// nothing to back off from.
func (s *step) wantedDelay() time.Duration {
	rule := s.app.Restart
	if rule.Counted != nil {
		return rule.Counted.Delay(s.m.Outcome)
	}
	interval, failures := rule.FailureInterval, s.failures()
	switch s.m.Outcome {
	case lifecycle.Refused:
		interval, failures = rule.SubmissionInterval, s.refusals()
	case lifecycle.Succeeded:
		return max(interval, 0)
	}
	factor := float64(max(s.m.Submissions-s.m.Spared, 1)) // linear
	if rule.Factor > 0 {
		factor = math.Pow(rule.Factor, float64(max(failures, 1)-1))
	}
	delay := float64(max(interval, 0)) * factor
	limit := time.Duration(math.MaxInt64 / 2)
	if rule.Max > 0 {
		limit = rule.Max
	}
	if !(delay < float64(limit)) { // also when it is no number
		return limit
	}
	return time.Duration(delay).Truncate(time.Microsecond) // what a status can hold
}

// waiting holds the next attempt back for the interval, during which the driver's log can still be read, and then until everything of
// the last one is gone.
func (s *step) waiting() bool {
	if s.app.Suspend {
		return s.suspend()
	}
	if !s.m.NextAttempt.IsZero() {
		if !s.again() && s.unfit() == "" { // an unfit spec may be mended until then; else the attempt fails of it
			return s.finish()
		}
		if left := s.m.NextAttempt.Sub(s.now); left > 0 {
			if !s.stray() {
				s.releaseExecutors()
			}
			s.check(left)
			return false
		}
		s.m.NextAttempt = time.Time{}
	}
	if !s.cleared(s.m.Attempt) {
		return false
	}
	return s.launch()
}

// over is the end of the road: nothing happens without an edit but expiry and the removal of what outlived the run.
func (s *step) over() bool {
	if s.m.EndedAt.IsZero() {
		s.m.EndedAt = s.now // a status of another operator may not tell
	}
	if s.app.TTL != nil {
		left := s.m.EndedAt.Add(*s.app.TTL).Sub(s.now)
		if left <= 0 {
			s.check(reassert)
			if !s.barred() {
				s.do(lifecycle.Delete, lifecycle.Application, 0)
			}
			return false
		}
		s.check(left)
	}
	if s.app.Serves && s.again() {
		return s.to(lifecycle.Waiting, s.m.Cause) // what was against the spec was the operator's configuration, and is so no more
	}
	if s.m.Phase == lifecycle.Retained && s.lapsed() {
		return s.released() && s.to(lifecycle.Done, s.m.Cause)
	}
	if s.m.Phase == lifecycle.Done && s.accounts() {
		s.released() // what shows late
		return false
	}
	s.deleteAll(s.seenAttempts(s.m.Attempt - 1))
	if !s.stray() {
		s.releaseExecutors()
		s.releaseRemains()
	}
	return false
}

// releaseExecutors deletes the executors that outlive their driver: since the application owns them too, nobody else does. What a batch scheduler
// keeps room by goes with them, also where there are none: the room is for others now.
func (s *step) releaseExecutors() {
	d := s.seen.Driver(s.m.Attempt)
	if d == nil || !over(d) || s.barred() {
		return
	}
	goesOn := func(e lifecycle.Executor) bool { return e.Attempt == s.m.Attempt && !endedPhase(e.Phase) }
	if slices.ContainsFunc(s.seen.Executors, goesOn) || slices.Contains(s.seen.Groups, s.m.Attempt) {
		s.remove(lifecycle.Executors, s.m.Attempt)
		s.check(s.cleanAgain())
	}
}

// releaseRemains deletes what is left of the last attempt once the pod that is kept is gone, by a live read: its log is all that is kept.
func (s *step) releaseRemains() {
	if s.kept() || len(s.attemptsAt(s.m.Attempt)) == 0 || s.barred() {
		return
	}
	if !s.seen.Confirmed {
		s.confirm(lifecycle.DriverPod, s.m.Attempt)
		return
	}
	s.deleteAll([]int32{s.m.Attempt})
}
