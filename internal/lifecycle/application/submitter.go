package application

import (
	"fmt"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// submitting waits for the driver that a submitter creates. The deadline for the start of the driver applies, and
// includes the submitter's time. If the submitter's node is lost, submitting continues to wait, because the submitter
// may still create the driver. The result reports whether the decision entered another phase.
func (s *step) submitting(r *lifecycle.Submitter) bool {
	if outcome, cause, over := s.deadlines(nil); over {
		return !s.needsLiveRead(outcome) && s.end(outcome, cause, s.now)
	}

	cause := r.Why
	switch {
	case cause.Reason != "":
		cause.Message = fmt.Sprintf("pod %s, which runs spark-submit, waits: %s", r.Name, orReason(cause, "", "it cannot start").Message)
		s.waitFor(lifecycle.SubmitterPod, r.Name, cause)
	case r.Deleting:
		s.waitFor(lifecycle.SubmitterPod, r.Name, lifecycle.Cause{Reason: lifecycle.ReasonSubmitterDeleted,
			Message: fmt.Sprintf("pod %s, which runs spark-submit, is being deleted", r.Name)})
	default:
		s.m.Cause = s.submission().Bounded() // not waitFor, because the launch has reported this reason
	}
	return false
}

// endUnsubmitted ends a launched attempt if a live read found no driver and the submitter will not create one. The
// first result reports whether it ended the attempt. The second result reports whether the decision entered another
// phase.
//
// There are two cases. A submitter that failed has submitted no driver, whatever its error was: even after the error
// "already exists", the live read would have found the driver. If the submitter no longer exists, its driver may have
// run and been deleted together with the submitter, so the attempt counts as a run. In all other cases driverMissing
// decides.
func (s *step) endUnsubmitted(r *lifecycle.Submitter) (ended, entered bool) {
	if s.m.Phase != lifecycle.Launched {
		return false, false // the driver existed earlier
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
		s.deleteAll([]int32{s.m.Attempt}) // objects that were created for the driver
		s.launchTried = true              // only another pass may launch the next attempt
		return true, s.end(lifecycle.Lost, lifecycle.Cause{Reason: lifecycle.ReasonDriverLost,
			Message: "driver pod not found, and the pod that ran spark-submit is gone too: they were deleted before the driver ended"}, s.now)
	}
	return false, false
}

// mountState says whether the objects that a driver mounts exist.
type mountState int

const (
	mountsComplete mountState = iota
	mountsUnknown             // a live read is requested
	mountsMissing
)

// inspectMounts returns whether the objects that the driver mounts exist. spark-submit creates the driver pod first,
// and the ConfigMap that the pod mounts last. If spark-submit ended between these two steps, the driver can never
// start. If the submitter still runs or has succeeded, inspectMounts assumes that the objects are complete, without a
// live read.
func (s *step) inspectMounts(d *lifecycle.Driver) mountState {
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

// endInterrupted ends an attempt whose driver can never start. The driver is deleted later, in the phase Ended, when
// the reason is stored. If it were deleted before, the next pass would find no driver and assume that the attempt may
// have run. It always enters another phase, and therefore always returns true.
func (s *step) endInterrupted(d *lifecycle.Driver) bool {
	message := fmt.Sprintf("spark-submit ended after it created driver pod %s and before it created the ConfigMap that the driver pod mounts", d.Name)
	if r := s.seen.Submitter(s.m.Attempt); r != nil && r.Why.Message != "" {
		message += ": " + r.Why.Message
	}
	s.m.Runs--
	return s.end(lifecycle.Refused, lifecycle.Cause{Reason: lifecycle.ReasonInterrupted, Message: message}, s.now)
}

// extraRetries returns the number of rejected submissions that are retried whatever the policy says. It is 1 if the
// last submission was interrupted, because this was the fault of neither the user nor the spec. Otherwise it is 0.
func extraRetries(m lifecycle.Memory) int32 {
	if m.Cause.Reason == lifecycle.ReasonInterrupted {
		return 1
	}
	return 0
}
