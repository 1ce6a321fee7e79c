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
	if s.deleteRunningPods() {
		return false
	}
	if !s.mayRestart() {
		return s.finish()
	}
	s.m.NextAttempt = s.m.EndedAt.Add(s.restartDelay())
	s.countRestart(s.m.Outcome)
	return s.to(lifecycle.Waiting, s.m.Cause)
}

// deleteRunningPods deletes a driver that still runs although its attempt is over, and reports whether there is one.
// The attempt ran out of time, or its launch was not remembered and a second try of the launch was rejected. A
// submitter that could still create a driver is deleted too. A submitter beside an ended driver cannot, and stays.
func (s *step) deleteRunningPods() bool {
	d, r := s.seen.Driver(s.m.Attempt), s.seen.Submitter(s.m.Attempt)
	switch {
	case d != nil && driverEnded(d), d == nil && (r == nil || endedPhase(r.Phase)):
		return false
	}
	s.deleteAll([]int32{s.m.Attempt})
	return true
}

func driverEnded(d *lifecycle.Driver) bool { return endedPhase(d.Phase) }

func endedPhase(p lifecycle.DriverPhase) bool {
	return p == lifecycle.DriverSucceeded || p == lifecycle.DriverFailed
}

// podKept reports whether a pod of the ended attempt is kept for its log: the driver pod, or the submitter pod if there
// was no driver.
func (s *step) podKept() bool {
	d, r := s.seen.Driver(s.m.Attempt), s.seen.Submitter(s.m.Attempt)
	stays := func(deleting bool) bool { return !deleting || !s.hasRetention() }
	return d != nil && stays(d.Deleting) || s.m.Outcome == lifecycle.Refused && r != nil && stays(r.Deleting)
}

// finish ends the application permanently. If the retention rule keeps the driver pod, or the pod that failed to submit
// one, that pod stays for its log as long as the application. Otherwise all objects are deleted first.
func (s *step) finish() bool {
	keeps := s.retainsObjects() && s.podKept()
	switch {
	case !s.hasRetention():
	case s.m.Phase == lifecycle.Waiting && !s.seen.Confirmed:
		s.confirm(lifecycle.DriverPod, s.m.Attempt) // the next launch may have happened without being remembered
		return false
	case !keeps && !s.released():
		return false
	}
	s.m.NextAttempt = time.Time{}
	cause := s.invalidServerCause()
	if limit := cmp.Or(s.exceededLimit(), s.invalidEdit()); limit != "" {
		cause = exhaustedCause(limit, s.m)
	}
	if keeps {
		return s.to(lifecycle.Retained, cause)
	}
	return s.to(lifecycle.Done, cause)
}

// mayRestart reports whether the restart policy wants another attempt after the ended one.
//
// Failed runs and rejected submissions are counted separately, each since the last edit. A submission without a run was
// rejected; a suspended run counts as neither. If lifecycle.RestartLimits is set, its counts decide instead.
func (s *step) mayRestart() bool {
	if s.app.Invalid != nil || s.m.Attempt == maxAttempt {
		return false
	}
	rule := s.app.Restart
	switch {
	case s.m.Outcome == lifecycle.Refused && s.rejections() <= extraRetries(s.m) && (rule.Limits == nil || extraRetries(s.m) > 0):
		return true
	case !allowsRestart(rule.Policy, s.m.Outcome):
		return false
	case rule.Limits != nil:
		return s.exceededLimit() == ""
	case rule.Policy == lifecycle.Always:
		return true
	case s.m.Outcome == lifecycle.Refused:
		return s.rejections() <= rule.SubmissionRetries
	}
	return s.failures() <= rule.FailureRetries
}

// failures counts the runs that ended by themselves. A suspended run does not count, however often a queue preempts it.
func (s *step) failures() int32 { return s.m.Runs - s.m.SuspendedRuns }

func (s *step) rejections() int32 { return s.m.Submissions - s.m.Runs }

// MinDelay is the shortest time from the end of an attempt to the next, whatever the spec says. An attempt costs the
// API server tens of requests. Without this limit, a spec that fails at once and always restarts would cause a busy
// loop.
const MinDelay = time.Second

// restartDelay is the time from the end of the last attempt to the next.
func (s *step) restartDelay() time.Duration { return max(s.policyDelay(), MinDelay) }

// policyDelay is the time that the restart policy wants from the end of the last attempt to the next. A run that
// succeeded is followed after the plain interval, since there is no failure to back off from.
func (s *step) policyDelay() time.Duration {
	rule := s.app.Restart
	if rule.Limits != nil {
		return rule.Limits.Delay(s.m.Outcome)
	}
	interval, failures := rule.FailureInterval, s.failures()
	switch s.m.Outcome {
	case lifecycle.Refused:
		interval, failures = rule.SubmissionInterval, s.rejections()
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
		// An invalid spec may be corrected until the interval is over; else the attempt fails because of it.
		if !s.mayRestart() && s.invalidEdit() == "" {
			return s.finish()
		}
		if left := s.m.NextAttempt.Sub(s.now); left > 0 {
			if !s.deleteRunningPods() {
				s.releaseExecutors()
			}
			s.requeueAfter(left)
			return false
		}
		s.m.NextAttempt = time.Time{}
	}
	if !s.cleared(s.m.Attempt) {
		return false
	}
	return s.launch()
}

// finished handles a finished application. Without an edit, only expiry and the deletion of leftover objects happen.
func (s *step) finished() bool {
	if s.m.EndedAt.IsZero() {
		s.m.EndedAt = s.now // another operator's status may lack it
	}
	if s.app.TTL != nil {
		left := s.m.EndedAt.Add(*s.app.TTL).Sub(s.now)
		if left <= 0 {
			s.requeueAfter(repeatDelay)
			if !s.actionsBlocked() {
				s.do(lifecycle.Delete, lifecycle.Application, 0)
			}
			return false
		}
		s.requeueAfter(left)
	}
	if s.app.IsServer && s.mayRestart() {
		// The operator's configuration had made the spec invalid, and it has changed.
		return s.to(lifecycle.Waiting, s.m.Cause)
	}
	if s.m.Phase == lifecycle.Retained && s.retentionOver() {
		return s.released() && s.to(lifecycle.Done, s.m.Cause)
	}
	if s.m.Phase == lifecycle.Done && s.hasRetention() {
		s.released() // objects that appear late
		return false
	}
	s.deleteAll(s.seenAttempts(s.m.Attempt - 1))
	if !s.deleteRunningPods() {
		s.releaseExecutors()
		s.releaseAttempt()
	}
	return false
}

// releaseExecutors deletes the executors that outlive their driver. The application owns them too, so nobody else
// deletes them. The object by which a batch scheduler reserves room for them is deleted too, even if there are no
// executors: others need the room now.
func (s *step) releaseExecutors() {
	d := s.seen.Driver(s.m.Attempt)
	if d == nil || !driverEnded(d) || s.actionsBlocked() {
		return
	}
	goesOn := func(e lifecycle.Executor) bool { return e.Attempt == s.m.Attempt && !endedPhase(e.Phase) }
	if slices.ContainsFunc(s.seen.Executors, goesOn) || slices.Contains(s.seen.Groups, s.m.Attempt) {
		s.remove(lifecycle.Executors, s.m.Attempt)
		s.requeueAfter(s.cleanupInterval())
	}
}

// releaseAttempt deletes the rest of the last attempt after a live read confirms that its kept pod is gone. The attempt
// was kept only for that pod's log.
func (s *step) releaseAttempt() {
	if s.podKept() || len(s.attemptsAt(s.m.Attempt)) == 0 || s.actionsBlocked() {
		return
	}
	if !s.seen.Confirmed {
		s.confirm(lifecycle.DriverPod, s.m.Attempt)
		return
	}
	s.deleteAll([]int32{s.m.Attempt})
}
