package application

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// maxAttempt is the largest attempt number. A limit of maxAttempt includes all attempts.
const maxAttempt = math.MaxInt32

// overdue is how late the end of a pod must be before the delay is reported.
const overdue = 30 * time.Second

func (s *step) suspendedCause() lifecycle.Cause {
	return lifecycle.Cause{Reason: lifecycle.ReasonSuspended, Message: "the " + s.noun("application") + " is suspended"}
}

// suspend begins to delete an attempt. A run that is stopped here is spared: it did not end by itself, so it uses up no
// retry.
func (s *step) suspend() bool {
	spared := s.m.Phase.Live()
	s.to(lifecycle.Suspending, s.suspendedCause()) // resets the counts if the run settled
	if spared {
		s.m.SuspendedRuns++
	}
	return true
}

// suspending deletes the attempt. A suspension that was lifted meanwhile continues from Suspended, after all objects
// are gone.
func (s *step) suspending() bool {
	s.m.Outcome, s.m.EndedAt, s.m.NextAttempt = lifecycle.Undecided, time.Time{}, time.Time{}
	if !s.cleared(maxAttempt) {
		return false
	}
	return s.to(lifecycle.Suspended, s.suspendedCause())
}

// suspended holds until the suspension is lifted.
func (s *step) suspended() bool {
	if s.app.Suspend {
		s.deleteAll(s.seenAttempts(maxAttempt))
		return false
	}
	return s.to(lifecycle.Resuming, lifecycle.Cause{})
}

// resuming launches the next attempt. The attempt numbers continue.
func (s *step) resuming() bool {
	if s.app.Suspend {
		return s.to(lifecycle.Suspended, s.suspendedCause())
	}
	if !s.cleared(s.m.Attempt) {
		return false
	}
	return s.launch()
}

// editing deletes the run of the old spec and launches one of the new spec.
func (s *step) editing() bool {
	s.m.SpecHash = s.app.SpecHash // may have been edited again
	if s.app.Suspend {
		return s.suspend()
	}
	if !s.cleared(maxAttempt) {
		return false
	}
	return s.launch()
}

// cleared reports whether nothing is left of the attempts up to the given one. If something is left, it requests the
// deletion.
//
// Before it returns true, it requires a live read of the drivers. The cache may be late, and the next driver may have
// another name, so that the API server would accept it beside an old one. Before the first attempt there is nothing to
// read, unless the spec was edited (launch handles that).
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

// waitForLeftovers returns the wait reason of cleared, and the pod that causes it. If the deletion merely takes its
// time, the remembered cause stays: a retry keeps the cause of the failure before it.
func (s *step) waitForLeftovers(left []int32) (pod string, cause lifecycle.Cause) {
	if s.seen.Rejection != nil {
		return "", *s.seen.Rejection
	}
	for _, attempt := range left {
		if d := s.seen.Driver(attempt); d != nil {
			if cause := s.stuckPodCause(s.noun("driver")+" pod "+d.Name, d.Phase, d.Deleting, d.GoneBy); cause.Reason != "" {
				return d.Name, cause
			}
		}
		// A submitter that may still create a driver blocks the next attempt like a driver.
		if r := s.seen.Submitter(attempt); r != nil {
			if cause := s.stuckPodCause("pod "+r.Name+", which submits the driver,", r.Phase, r.Deleting, r.GoneBy); cause.Reason != "" {
				return r.Name, cause
			}
		}
	}
	return "", s.m.Cause
}

// stuckPodCause returns why a pod that should be gone still exists; a zero Cause while the pod may take its time.
func (s *step) stuckPodCause(what string, phase lifecycle.DriverPhase, deleting bool, goneBy time.Time) lifecycle.Cause {
	if phase == lifecycle.DriverUnknown {
		return lifecycle.Cause{Reason: lifecycle.ReasonNodeLost, Message: fmt.Sprintf(
			"%s is on a node that does not answer; no other is launched before it is gone", what)}
	}
	if deleting && !goneBy.IsZero() && s.now.Sub(goneBy) > overdue {
		return lifecycle.Cause{Reason: lifecycle.ReasonDriverDeleting, Message: fmt.Sprintf(
			"%s is being deleted and should be gone since %s; no other is launched before it is: its node may be dead",
			what, goneBy.UTC().Format(time.RFC3339))}
	}
	return lifecycle.Cause{}
}

// deleteAll requests the deletion of attempts, repeatedly until none of their objects is left.
//
// In a running attempt, the driver is stopped first. During its grace period (a streaming batch, a commit) it needs its
// executors, and they need its Service. If the application itself is deleted, everything is deleted at once, as the
// garbage collector does.
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

// stillStops reports whether an attempt has a running driver, or a submitter that may create one, that can still be
// stopped cleanly. A node that has not carried out a deletion long after it was due counts as dead.
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

// maxDeletedAttempts is how many attempts one decision deletes. There is rarely more than one. But the attempt number
// is a label, and anyone who may create pods can label thousands of them.
const maxDeletedAttempts = 20

// seenAttempts lists, in order, the attempts up to the given one that have any object. It lists the first
// maxDeletedAttempts of them; the others follow after these are gone.
func (s *step) seenAttempts(upTo int32) []int32 {
	found := s.attempts(func(attempt int32) bool { return attempt <= upTo })
	return found[:min(len(found), maxDeletedAttempts)]
}

// attemptsAt is seenAttempts for one attempt.
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
