package application

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// maxAttempt is the last attempt that there can be: what is asked for up to it is asked for of all attempts.
const maxAttempt = math.MaxInt32

// overdue is how long after its time a pod may take to go before that is worth telling.
const overdue = 30 * time.Second

func (s *step) suspendedCause() lifecycle.Cause {
	return lifecycle.Cause{Reason: lifecycle.ReasonSuspended, Message: "the " + s.noun("application") + " is suspended"}
}

// suspend begins to take an attempt away. A run that goes on is spared: it did not end by itself.
func (s *step) suspend() bool {
	spared := s.m.Phase.Live()
	s.to(lifecycle.Suspending, s.suspendedCause()) // a run that settled begins the counts anew
	if spared {
		s.m.Spared++
	}
	return true
}

// suspending takes the attempt away. What was lifted meanwhile is resumed from Suspended, when nothing of the attempt is left.
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

// resuming launches the next attempt. Attempts go on from where they were.
func (s *step) resuming() bool {
	if s.app.Suspend {
		return s.to(lifecycle.Suspended, s.suspendedCause())
	}
	if !s.cleared(s.m.Attempt) {
		return false
	}
	return s.launch()
}

// editing takes the run of the old spec away and launches one of the new.
func (s *step) editing() bool {
	s.m.SpecHash = s.app.SpecHash // edited again meanwhile
	if s.app.Suspend {
		return s.suspend()
	}
	if !s.cleared(maxAttempt) {
		return false
	}
	return s.launch()
}

// cleared reports whether nothing is left of the attempts up to the given one. Else it asks for their deletion; and before it believes its
// eyes, for a live read of the drivers: the cache may be late, and the next driver may have another name, so that the API server would
// not stop it. Before the first attempt there is nothing to read, but where the spec was edited (launch).
func (s *step) cleared(upTo int32) bool {
	left := s.seenAttempts(upTo)
	if len(left) > 0 {
		s.deleteAll(left)
		name, cause := s.leftover(left)
		s.waitFor(lifecycle.DriverPod, name, cause)
		return false
	}
	if s.m.Attempt > 0 && !s.seen.Confirmed {
		s.confirm(lifecycle.DriverPod, s.m.Attempt)
		return false
	}
	return true
}

// leftover says what a cleared place still waits for, and which pod that is about. Where it is nothing but time, what was remembered stays:
// a retry keeps the cause of the failure that it follows.
func (s *step) leftover(left []int32) (pod string, cause lifecycle.Cause) {
	if s.seen.Refusal != nil {
		return "", *s.seen.Refusal
	}
	for _, attempt := range left {
		if d := s.seen.Driver(attempt); d != nil {
			if cause := s.stuck(s.noun("driver")+" pod "+d.Name, d.Phase, d.Deleting, d.GoneBy); cause.Reason != "" {
				return d.Name, cause
			}
		}
		// One that may still make a driver is as much in the way as a driver.
		if r := s.seen.Submitter(attempt); r != nil {
			if cause := s.stuck("pod "+r.Name+", which submits the driver,", r.Phase, r.Deleting, r.GoneBy); cause.Reason != "" {
				return r.Name, cause
			}
		}
	}
	return "", s.m.Cause
}

// stuck says why a pod does not go that is to go; nothing while it takes its time.
func (s *step) stuck(what string, phase lifecycle.DriverPhase, deleting bool, goneBy time.Time) lifecycle.Cause {
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

// deleteAll asks for the deletion of attempts, again and again until nothing of them is seen. Of one that goes on the driver is stopped first: what it
// does with its time to stop (a streaming batch, a commit) needs its executors, and these its Service. With the application itself everything goes at
// once, as by the garbage collector.
func (s *step) deleteAll(attempts []int32) {
	if len(attempts) == 0 {
		return
	}
	s.check(s.cleanAgain())
	if s.barred() {
		return
	}
	for _, attempt := range attempts {
		switch {
		case s.stopping(attempt) && !s.app.Deleting:
			s.remove(lifecycle.DriverPod, attempt)
		default:
			s.remove(lifecycle.Attempt, attempt)
		}
	}
}

// stopping reports whether an attempt has a driver that goes on, or a pod that may make one, and that may still be told to stop: a node that did not carry
// out a deletion when it was long due is taken to be dead.
func (s *step) stopping(attempt int32) bool {
	goesOn := func(phase lifecycle.DriverPhase, deleting bool, goneBy time.Time) bool {
		late := s.now.Sub(goneBy) - overdue
		if endedPhase(phase) || deleting && !goneBy.IsZero() && late > 0 {
			return false
		}
		if deleting && !goneBy.IsZero() {
			s.check(max(-late, time.Second))
		}
		return true
	}
	if d := s.seen.Driver(attempt); d != nil && goesOn(d.Phase, d.Deleting, d.GoneBy) {
		return true
	}
	r := s.seen.Submitter(attempt)
	return r != nil && goesOn(r.Phase, r.Deleting, r.GoneBy)
}

// maxSwept is how many attempts one decision deletes at a time. There is hardly ever more than one: but the number of an
// attempt is a label, and anybody who may create pods can label thousands of them.
const maxSwept = 20

// seenAttempts lists the attempts up to the given one of which anything is seen, in order. It lists the first maxSwept of them:
// once these are gone, the others follow.
func (s *step) seenAttempts(upTo int32) []int32 {
	found := s.attempts(func(attempt int32) bool { return attempt <= upTo })
	return found[:min(len(found), maxSwept)]
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
	for _, attempt := range s.seen.Remains {
		add(attempt)
	}
	slices.Sort(found)
	return slices.Compact(found)
}
