package application

import (
	"cmp"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/queue"
)

// This file decides which objects of the last attempt are kept, how long they are kept, and when the other objects are
// force-deleted.

// retainsObjects reports whether the retention rule keeps the objects of an attempt with the current outcome.
func (s *step) retainsObjects() bool {
	keep := s.app.Retain
	switch {
	case keep.Policy == lifecycle.RetainNever, keep.For != nil && *keep.For <= 0:
		return false
	case keep.Policy == lifecycle.RetainOnFailure:
		return s.m.Outcome != lifecycle.Succeeded
	}
	return true
}

// hasRetention reports whether the spec has a retention rule. With a rule, the phases Retained and Done say exactly
// which objects exist. Without a rule, both phases say only that the application has ended, and anybody may delete its
// objects.
func (s *step) hasRetention() bool { return s.app.Retain != lifecycle.Retention{} }

// retentionOver reports whether retained objects must be deleted: their time has passed, or the rule has changed.
func (s *step) retentionOver() bool {
	switch {
	case !s.retainsObjects():
		return true
	case s.app.Retain.For == nil:
		return false
	}

	end := s.m.Since.Add(*s.app.Retain.For)
	if s.now.Before(end) {
		s.requeueAt(lifecycle.Limit{At: end, Part: lifecycle.Attempt})
	}
	return !s.now.Before(end)
}

// released reports whether no object of the application's attempts is left, and no request for quota. If objects are
// left, it requests their deletion. It does not change Memory.Cause, which still contains the cause of the end. In the
// phases Waiting and Done it also looks for objects with the next attempt number, because an interrupted launch may
// have created objects but no pod.
func (s *step) released() bool {
	last := s.m.Attempt
	if s.m.Phase == lifecycle.Waiting || s.m.Phase == lifecycle.Done {
		last = min(last, maxAttempt-1) + 1
	}

	left := s.seenAttempts(last)
	s.deleteAll(left)
	return len(left) == 0 && queue.Gone(s.seen)
}

// remove requests a deletion. The deletion has no grace period if App.ForceAfter has passed since the attempt should
// have been deleted.
func (s *step) remove(part lifecycle.Part, attempt int32) {
	s.plan.Actions = append(s.plan.Actions, lifecycle.Action{Verb: lifecycle.Delete, Part: part, Attempt: attempt, Force: s.forced(attempt)})
}

// forced reports whether an attempt must be deleted without a grace period. This is the case when App.ForceAfter has
// passed since the time at which the deletion should have begun. If ForceAfter is 0, no deletion is forced.
func (s *step) forced(attempt int32) bool {
	from := s.deletionStart(attempt)
	if s.app.ForceAfter <= 0 || from.IsZero() {
		return false
	}

	left := from.Add(s.app.ForceAfter).Sub(s.now)
	if left > 0 {
		s.requeueAfter(left)
	}
	return left <= 0
}

// deletionStart returns the time at which the deletion of an attempt should have begun. It returns the zero time if the
// attempt should exist, or if that time is unknown. The memory contains the end of the remembered attempt. This end is
// not used for a later attempt whose launch was not stored.
func (s *step) deletionStart(attempt int32) time.Time {
	switch {
	case s.m.Phase == lifecycle.Suspending && !s.app.Deleting:
		return s.stopDue(attempt)
	case !s.m.EndedAt.IsZero() && attempt <= s.m.Attempt:
		return s.m.EndedAt
	case s.app.Deleting:
		return s.app.DeletedAt
	// In the phase Waiting, only a restarted attempt has no end.
	case s.m.Phase == lifecycle.Editing, s.m.Phase == lifecycle.Waiting:
		return s.m.Since
	}
	return time.Time{}
}

// stopDue returns the time at which the pods of a suspended attempt should be gone: the end of the driver's grace
// period. It is zero if the driver is not being deleted yet, and the start of the suspension if there is no driver.
func (s *step) stopDue(attempt int32) time.Time {
	switch d := s.seen.Driver(attempt); {
	case d == nil || s.m.Since.IsZero():
		return s.m.Since
	case !d.Deleting:
		return time.Time{}
	case d.GoneBy.After(s.m.Since):
		return d.GoneBy
	}
	return s.m.Since
}

func (s *step) cleanupInterval() time.Duration { return cmp.Or(s.app.CleanupInterval, repeatDelay) }
