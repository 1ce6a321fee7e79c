package application

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// end finishes the current attempt, for whatever reason.
func (s *step) end(outcome lifecycle.Outcome, cause lifecycle.Cause, at time.Time) bool {
	s.m.Outcome = outcome
	s.m.EndedAt = s.earlier(at)
	s.m.NextAttempt = time.Time{}
	return s.to(lifecycle.Ended, cause)
}

// ended stops a driver that still runs (the driver of an attempt that ran out of time does), then follows the restart
// policy.
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

// stray deletes a driver that still runs although its attempt is over, and reports whether there is one. The attempt
// ran out of time, or its launch was not remembered and a second try of the launch was rejected. A submitter that could
// still create a driver is deleted too. A submitter beside an ended driver cannot, and stays.
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

// kept reports whether a pod of the ended attempt is kept for its log: the driver pod, or the submitter pod if there
// was no driver.
func (s *step) kept() bool {
	d, r := s.seen.Driver(s.m.Attempt), s.seen.Submitter(s.m.Attempt)
	stays := func(deleting bool) bool { return !deleting || !s.accounts() }
	return d != nil && stays(d.Deleting) || s.m.Outcome == lifecycle.Refused && r != nil && stays(r.Deleting)
}

// finish ends the application permanently. If the retention rule keeps the driver pod, or the pod that failed to submit
// one, that pod stays for its log as long as the application. Otherwise all objects are deleted first.
func (s *step) finish() bool {
	keeps := s.retains() && s.kept()
	switch {
	case !s.accounts():
	case s.m.Phase == lifecycle.Waiting && !s.seen.Confirmed:
		s.confirm(lifecycle.DriverPod, s.m.Attempt) // the next launch may have happened without being remembered
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

// again reports whether the restart policy wants another attempt after the ended one.
//
// Failed runs and rejected submissions are counted separately, each since the last edit. A submission without a run was
// rejected; a suspended run counts as neither. If lifecycle.RestartLimits is set, its counts decide instead.
func (s *step) again() bool {
	if s.app.Invalid != nil || s.m.Attempt == maxAttempt {
		return false
	}
	rule := s.app.Restart
	switch {
	case s.m.Outcome == lifecycle.Refused && s.refusals() <= onceMore(s.m) && (rule.Limits == nil || onceMore(s.m) > 0):
		return true
	case !asksFor(rule.Policy, s.m.Outcome):
		return false
	case rule.Limits != nil:
		return s.exhausted() == ""
	case rule.Policy == lifecycle.Always:
		return true
	case s.m.Outcome == lifecycle.Refused:
		return s.refusals() <= rule.SubmissionRetries
	}
	return s.failures() <= rule.FailureRetries
}

// failures counts the runs that ended by themselves. A suspended run does not count, however often a queue preempts it.
func (s *step) failures() int32 { return s.m.Runs - s.m.SuspendedRuns }

func (s *step) refusals() int32 { return s.m.Submissions - s.m.Runs }

// MinDelay is the shortest time from the end of an attempt to the next, whatever the spec says. An attempt costs the
// API server tens of requests. Without this limit, a spec that fails at once and always restarts would cause a busy
// loop.
const MinDelay = time.Second

// delay is the time from the end of the last attempt to the next.
func (s *step) delay() time.Duration { return max(s.wantedDelay(), MinDelay) }

// wantedDelay is the time that the restart policy wants from the end of the last attempt to the next. A run that
// succeeded is followed after the plain interval, since there is no failure to back off from.
func (s *step) wantedDelay() time.Duration {
	rule := s.app.Restart
	if rule.Limits != nil {
		return rule.Limits.Delay(s.m.Outcome)
	}
	interval, failures := rule.FailureInterval, s.failures()
	switch s.m.Outcome {
	case lifecycle.Refused:
		interval, failures = rule.SubmissionInterval, s.refusals()
	case lifecycle.Succeeded:
		return max(interval, 0)
	}
	factor := float64(max(s.m.Submissions-s.m.SuspendedRuns, 1)) // linear
	if rule.Factor > 0 {
		factor = math.Pow(rule.Factor, float64(max(failures, 1)-1))
	}
	delay := float64(max(interval, 0)) * factor
	limit := time.Duration(math.MaxInt64 / 2)
	if rule.Max > 0 {
		limit = rule.Max
	}
	if !(delay < float64(limit)) { // also true for NaN
		return limit
	}
	return time.Duration(delay).Truncate(time.Microsecond) // the precision of a status
}

// waiting delays the next attempt for the interval, during which the driver's log can still be read. Afterwards it
// waits until all objects of the last attempt are gone.
func (s *step) waiting() bool {
	if s.app.Suspend {
		return s.suspend()
	}
	if !s.m.NextAttempt.IsZero() {
		// An unfit spec may be corrected until the interval is over; else the attempt fails because of it.
		if !s.again() && s.unfit() == "" {
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

// over handles a finished application. Without an edit, only expiry and the deletion of leftover objects happen.
func (s *step) over() bool {
	if s.m.EndedAt.IsZero() {
		s.m.EndedAt = s.now // another operator's status may lack it
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
	if s.app.IsServer && s.again() {
		// The operator's configuration had made the spec invalid, and it has changed.
		return s.to(lifecycle.Waiting, s.m.Cause)
	}
	if s.m.Phase == lifecycle.Retained && s.lapsed() {
		return s.released() && s.to(lifecycle.Done, s.m.Cause)
	}
	if s.m.Phase == lifecycle.Done && s.accounts() {
		s.released() // objects that appear late
		return false
	}
	s.deleteAll(s.seenAttempts(s.m.Attempt - 1))
	if !s.stray() {
		s.releaseExecutors()
		s.releaseRemains()
	}
	return false
}

// releaseExecutors deletes the executors that outlive their driver. The application owns them too, so nobody else
// deletes them. The object by which a batch scheduler reserves room for them is deleted too, even if there are no
// executors: others need the room now.
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

// releaseRemains deletes the rest of the last attempt after a live read confirms that its kept pod is gone. The attempt
// was kept only for that pod's log.
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
