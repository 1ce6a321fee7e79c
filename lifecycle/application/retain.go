package application

import (
	"cmp"
	"time"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// This file decides which objects of the last attempt are kept, for how long, and when the others are force-deleted.

// retainsObjects reports whether the rule keeps the objects of an attempt with the current outcome.
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

// hasRetention reports whether the spec has a retention rule. If so, Retained and Done are exact about which objects
// exist. Otherwise both mean only that the application is over, and deletions by others do not matter.
func (s *step) hasRetention() bool { return s.app.Retain != lifecycle.Retention{} }

// retentionOver reports whether retained objects must be deleted: their time is over, or the policy has changed.
func (s *step) retentionOver() bool {
	switch {
	case !s.retainsObjects():
		return true
	case s.app.Retain.For == nil:
		return false
	}
	left := s.m.Since.Add(*s.app.Retain.For).Sub(s.now)
	if left > 0 {
		s.requeueAfter(left)
	}
	return left <= 0
}

// released reports whether nothing is left of the application's attempts. Otherwise it requests the deletion of the
// rest, while the cause of the end stays remembered. An interrupted launch without a pod may have left objects of the
// next attempt, so Waiting and Done include that one.
func (s *step) released() bool {
	last := s.m.Attempt
	if s.m.Phase == lifecycle.Waiting || s.m.Phase == lifecycle.Done {
		last = min(last, maxAttempt-1) + 1
	}
	left := s.seenAttempts(last)
	s.deleteAll(left)
	return len(left) == 0
}

// remove requests a deletion, without a grace period if the attempt should have been gone for long.
func (s *step) remove(part lifecycle.Part, attempt int32) {
	s.plan.Actions = append(s.plan.Actions, lifecycle.Action{Verb: lifecycle.Delete, Part: part, Attempt: attempt, Force: s.forced(attempt)})
}

// forced reports whether the time in which the attempt's pods may stop by themselves is over.
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

// deletionStart is since when an attempt should be gone; zero if it should not be, or if that time is unknown. The
// remembered end does not apply to the launch of a later attempt that is not remembered.
func (s *step) deletionStart(attempt int32) time.Time {
	switch {
	case !s.m.EndedAt.IsZero() && attempt <= s.m.Attempt:
		return s.m.EndedAt
	case s.app.Deleting:
		return s.app.DeletedAt
	case s.m.Phase == lifecycle.Suspending, s.m.Phase == lifecycle.Editing:
		return s.m.Since
	}
	return time.Time{}
}

func (s *step) cleanupInterval() time.Duration { return cmp.Or(s.app.CleanupInterval, repeatDelay) }
