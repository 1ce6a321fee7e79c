package application

import (
	"fmt"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// submitting waits for the driver that a submitter creates, as long as the driver itself may take to start. It also
// waits for a submitter on a lost node, since that one may still act.
func (s *step) submitting(r *lifecycle.Submitter) bool {
	if outcome, cause, over := s.deadlines(nil); over {
		return !s.needsLiveRead(outcome) && s.end(outcome, cause, s.now)
	}
	cause := r.Why
	switch {
	case cause.Reason != "":
		cause.Message = fmt.Sprintf("pod %s, which is to submit the driver, waits: %s", r.Name, orReason(cause, "", "it cannot start").Message)
		s.waitFor(lifecycle.SubmitterPod, r.Name, cause)
	case r.Deleting:
		s.waitFor(lifecycle.SubmitterPod, r.Name, lifecycle.Cause{Reason: lifecycle.ReasonSubmitterDeleted,
			Message: fmt.Sprintf("pod %s, which is to submit the driver, is being deleted", r.Name)})
	default:
		s.m.Cause = s.submission().Bounded() // the launch has reported it
	}
	return false
}

// endUnsubmitted ends a launched attempt that has no driver, which a live read has confirmed. It reports whether it
// ended the attempt, and the result of end.
//
// A failed submitter submitted nothing. An error such as "already exists" does not matter, because the driver would
// exist then. A submitter that is gone or being deleted is no evidence: its driver may have run and been deleted with
// it. That counts as a run.
func (s *step) endUnsubmitted(r *lifecycle.Submitter) (ended, entered bool) {
	if s.m.Phase != lifecycle.Launched {
		return false, false // there was a driver
	}
	switch {
	case r != nil && r.Phase == lifecycle.DriverFailed && !r.Deleting:
		cause := orReason(r.Why, lifecycle.ReasonSubmitFailed, "spark-submit failed")
		if cause.Reason == "Error" {
			cause.Reason = lifecycle.ReasonSubmitFailed
		}
		s.m.Runs--
		return true, s.end(lifecycle.Refused, cause, r.EndedAt)
	case r == nil && s.app.Submitter != nil:
		s.deleteAll([]int32{s.m.Attempt}) // objects that the driver would have read
		s.launchTried = true              // the next launch is in another pass
		return true, s.end(lifecycle.Lost, lifecycle.Cause{Reason: lifecycle.ReasonDriverLost,
			Message: "driver pod not found, and the pod that was to submit it is gone as well: they were deleted before the driver ended"}, s.now)
	}
	return false, false
}

// mounts is the state of the objects that a driver mounts.
type mounts int

const (
	mountsComplete mounts = iota
	mountsUnknown         // a live read is requested
	mountsMissing
)

// inspectMounts finds a driver that can never start: spark-submit creates the driver pod first and the ConfigMap that
// it mounts last. If the submitter still runs or has succeeded, inspectMounts needs no live read.
func (s *step) inspectMounts(d *lifecycle.Driver) mounts {
	if d.Submitter == "" || d.Phase != lifecycle.DriverPending || d.Deleting {
		return mountsComplete
	}
	if r := s.seen.Submitter(s.m.Attempt); r != nil && r.Phase != lifecycle.DriverFailed {
		return mountsComplete
	}
	switch {
	case !s.seen.Inspected:
		s.confirm(lifecycle.Submission, s.m.Attempt)
		return mountsUnknown
	case d.MissingConfigMap:
		return mountsMissing
	}
	return mountsComplete
}

// endInterrupted ends an attempt whose driver can never start. Ended deletes the driver after the reason is stored:
// without a driver, the attempt would look like one that may have run.
func (s *step) endInterrupted(d *lifecycle.Driver) bool {
	message := fmt.Sprintf("the pod that submits ended after it had made driver pod %s and before it made the ConfigMap that this mounts", d.Name)
	if r := s.seen.Submitter(s.m.Attempt); r != nil && r.Why.Message != "" {
		message += ": " + r.Why.Message
	}
	s.m.Runs--
	return s.end(lifecycle.Refused, lifecycle.Cause{Reason: lifecycle.ReasonInterrupted, Message: message}, s.now)
}

// extraRetries is how many rejected submissions are retried regardless of the policy. It is 1 if the last submission
// was interrupted, because neither the user nor the spec caused that.
func extraRetries(m lifecycle.Memory) int32 {
	if m.Cause.Reason == lifecycle.ReasonInterrupted {
		return 1
	}
	return 0
}
