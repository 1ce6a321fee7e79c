package application

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// end ends the current attempt with the given outcome and cause. It always enters the phase Ended, and therefore always
// returns true.
func (s *step) end(outcome lifecycle.Outcome, cause lifecycle.Cause, at time.Time) bool {
	s.m.Outcome = outcome
	s.m.EndedAt = lifecycle.Latest(lifecycle.NotInFuture(at, s.now), s.m.SubmittedAt) // the node's clock may be behind
	s.m.NextAttempt = time.Time{}
	return s.enter(lifecycle.Ended, cause)
}

// ended handles the phase Ended. It deletes a driver that still runs (for example if the attempt exceeded a deadline),
// and then follows the restart policy. The result reports whether the decision entered another phase.
func (s *step) ended() bool {
	if s.deleteRunningPods() {
		return false
	}

	if !s.mayRestart() {
		return s.finish()
	}

	s.m.NextAttempt = s.m.EndedAt.Add(s.restartDelay())
	s.countRestart(s.m.Outcome)
	return s.enter(lifecycle.Waiting, s.m.Cause)
}

// deleteRunningPods deletes a driver that still runs although its attempt has ended, and reports whether there is such
// a driver. An attempt ends before its driver in two cases: it exceeds a deadline, or the operator died before it
// stored a launch and the API server then rejected the repeated launch. A submitter that could still create a driver is
// deleted too. If the driver has ended, its submitter cannot create another, so neither is deleted.
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

// podKept reports whether a pod of the ended attempt still exists and is to be kept for its log. This is the driver pod
// or, if the submission was rejected, the submitter pod.
func (s *step) podKept() bool {
	d, r := s.seen.Driver(s.m.Attempt), s.seen.Submitter(s.m.Attempt)
	stays := func(deleting bool) bool { return !deleting || !s.hasRetention() }
	return d != nil && stays(d.Deleting) || s.m.Outcome == lifecycle.Refused && r != nil && stays(r.Deleting)
}

// finish ends the application permanently. The retention rule may keep the driver pod, or the submitter pod of a
// rejected submission. Such a pod is kept for its log until the retention ends, by default as long as the application
// exists. If no pod is kept, all objects are deleted first. The result reports whether the decision entered another
// phase.
func (s *step) finish() bool {
	keeps := s.retainsObjects() && s.podKept()
	switch {
	case !s.hasRetention():
	case s.m.Phase == lifecycle.Waiting && !s.seen.Confirmed:
		s.confirm(lifecycle.DriverPod, s.m.Attempt) // the next attempt may have been launched without being stored
		return false
	case !keeps && !s.released():
		return false
	}

	s.m.NextAttempt = time.Time{}

	cause := s.invalidServerCause()
	if limit := cmp.Or(s.exceededLimit(), s.invalidSpec()); limit != "" {
		cause = exhaustedCause(limit, s.m)
		if s.app.Restart.Limits == nil {
			cause.Reason = lifecycle.ReasonInvalid
		}
	}

	if keeps {
		return s.enter(lifecycle.Retained, cause)
	}
	return s.enter(lifecycle.Done, cause)
}

// mayRestart reports whether the restart policy allows another attempt after the ended one.
//
// Failed runs and rejected submissions are counted separately. An edit resets both counts. A submission is counted as
// rejected if it did not lead to a run. A suspended run is not counted. If lifecycle.RestartLimits is set, the counts
// in Memory.Restarts apply instead.
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

// failures returns the number of runs that count as failures. Suspended runs do not count, so that an application may
// be preempted by its queue any number of times.
func (s *step) failures() int32 { return s.m.Runs - s.m.SuspendedRuns }

func (s *step) rejections() int32 { return s.m.Submissions - s.m.Runs }

// minDelay is the minimum time from the end of an attempt to the next attempt, whatever the spec requests. Without it,
// an application that fails at once and always restarts would cause a busy loop, and each attempt costs the API server
// tens of requests.
const minDelay = time.Second

// restartDelay returns the time from the end of the last attempt to the next attempt.
func (s *step) restartDelay() time.Duration { return max(s.policyDelay(), minDelay) }

// policyDelay returns the time by which the restart policy delays the next attempt after the end of the last one. After
// a failure, the policy may make that time grow with the number of failures. After a success, it is the configured
// interval, because only failures require a back-off.
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

	factor := float64(max(s.m.Submissions-s.m.SuspendedRuns, 1)) // linear growth
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

// waiting handles the phase Waiting. First it waits for the restart interval, during which the driver's log can still
// be read. Then it waits until all objects of the last attempt are deleted. Finally it launches the next attempt. The
// result reports whether the decision entered another phase.
func (s *step) waiting() bool {
	if s.suspendsUnlaunched() {
		return s.suspend()
	}

	if !s.m.NextAttempt.IsZero() {
		// The user may correct an invalid spec until the interval is over. If the spec is still invalid then, the next
		// attempt fails because of it.
		if !s.mayRestart() && s.invalidSpec() == "" {
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

	if !s.mayFollow() {
		return false
	}
	return s.launch()
}

// finished handles a finished application. Unless the spec is edited, only two things happen: the application expires,
// and remaining objects are deleted. The result reports whether the decision entered another phase.
func (s *step) finished() bool {
	if s.m.EndedAt.IsZero() {
		s.m.EndedAt = s.now // another operator's status may lack it
	}

	if s.app.TTL != nil {
		expiry := s.m.EndedAt.Add(*s.app.TTL)
		if !s.now.Before(expiry) {
			s.requeueAfter(repeatDelay)

			if !s.actionsBlocked() {
				s.do(lifecycle.Delete, lifecycle.Application, 0)
			}
			return false
		}

		s.requeueAt(lifecycle.Limit{At: expiry, Part: lifecycle.Application})
	}

	if s.app.IsServer && s.mayRestart() {
		// The spec is valid now although nobody edited it: the operator's configuration, which had made it invalid, has
		// changed.
		return s.enter(lifecycle.Waiting, s.m.Cause)
	}

	if s.m.Phase == lifecycle.Retained && s.retentionOver() {
		return s.released() && s.enter(lifecycle.Done, s.m.Cause)
	}

	if s.m.Phase == lifecycle.Done && s.hasRetention() {
		s.released() // deletes objects that appear late
		return false
	}

	s.nameSidecar()
	s.deleteAll(s.seenAttempts(s.m.Attempt - 1))

	if !s.deleteRunningPods() {
		s.releaseExecutors()
		s.releaseAttempt()
	}
	return false
}

// sidecarGrace is how long the other containers of a driver pod may run after the end of the driver.
const sidecarGrace = 10 * time.Second

// nameSidecar adds to the cause of a finished application that a container of its driver pod still runs. Such a pod
// keeps the resources that it requested. The kept cause of a failure comes first.
func (s *step) nameSidecar() {
	d := s.seen.Driver(s.m.Attempt)
	if d == nil || d.Deleting || d.Lingering == "" || !driverEnded(d) {
		if s.m.Cause.Reason == lifecycle.ReasonSidecarRuns {
			s.m.Cause = lifecycle.Cause{}
		}
		return
	}

	if left := s.m.EndedAt.Add(sidecarGrace).Sub(s.now); left > 0 {
		s.requeueAfter(left)
		return
	}

	cause := lifecycle.Cause{Reason: lifecycle.ReasonSidecarRuns, Message: fmt.Sprintf("container %s of driver pod %s still runs after the end of the driver, "+
		"so the pod keeps its resources; end the container with the driver, or declare it as an init container with restartPolicy Always", d.Lingering, d.Name)}.Bounded()

	before := s.m.Cause
	switch {
	case before.Reason == "", before.Reason == cause.Reason:
		s.m.Cause = cause
	case !strings.Contains(before.Message, cause.Message):
		before.Message += "; " + cause.Message
		s.m.Cause = before.Bounded()
	}

	if s.m.Cause != s.stored.Cause {
		s.plan.Notices = append(s.plan.Notices, lifecycle.Notice{Part: lifecycle.Application, Attempt: s.m.Attempt, Cause: cause})
	}
}

// releaseExecutors deletes executors that still run after their driver ended. The garbage collector does not delete
// them as long as the application exists, because the application also owns each executor pod.
//
// It also deletes the object by which a batch scheduler reserves capacity for the executors, so that other applications
// can use the capacity. It does so even if no executor exists.
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

// releaseAttempt deletes the remaining objects of the last attempt. They were kept only so that the log of a kept pod
// could be read. Therefore they are deleted when a live read has confirmed that this pod no longer exists.
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
