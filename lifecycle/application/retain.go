package application

import (
	"cmp"
	"time"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// What is kept of the last attempt, for how long, and with how much patience the rest is deleted.

// retains reports whether what is left of an attempt that ended so is kept.
func (s *step) retains() bool {
	keep := s.app.Retain
	switch {
	case keep.Policy == lifecycle.RetainNever, keep.For != nil && *keep.For <= 0:
		return false
	case keep.Policy == lifecycle.RetainOnFailure:
		return s.m.Outcome != lifecycle.Succeeded
	}
	return true
}

// accounts reports whether anybody asked for a retention: then Retained and Done are an account of what is there. Else they tell the same, and what is
// deleted by others is theirs.
func (s *step) accounts() bool { return s.app.Retain != lifecycle.Retention{} }

// lapsed reports whether what is retained is to go: its time is over, or the policy is another by now.
func (s *step) lapsed() bool {
	switch {
	case !s.retains():
		return true
	case s.app.Retain.For == nil:
		return false
	}
	left := s.m.Since.Add(*s.app.Retain.For).Sub(s.now)
	if left > 0 {
		s.check(left)
	}
	return left <= 0
}

// released reports whether nothing is left of the application's attempts; else it asks for the rest to go. What ended them stays remembered meanwhile.
// A launch that was given up half way, before there was a pod, may have left something of the next one.
func (s *step) released() bool {
	last := s.m.Attempt
	if s.m.Phase == lifecycle.Waiting || s.m.Phase == lifecycle.Done {
		last = min(last, maxAttempt-1) + 1
	}
	left := s.seenAttempts(last)
	s.deleteAll(left)
	return len(left) == 0
}

// remove asks for a deletion: without a grace period, where that which it is of should be gone for long.
func (s *step) remove(part lifecycle.Part, attempt int32) {
	s.plan.Do = append(s.plan.Do, lifecycle.Action{Verb: lifecycle.Delete, Part: part, Attempt: attempt, Force: s.forced(attempt)})
}

// forced reports whether the time is over in which what is left of an attempt may stop by itself.
func (s *step) forced(attempt int32) bool {
	from := s.goesFrom(attempt)
	if s.app.ForceAfter <= 0 || from.IsZero() {
		return false
	}
	left := from.Add(s.app.ForceAfter).Sub(s.now)
	if left > 0 {
		s.check(left)
	}
	return left <= 0
}

// goesFrom is since when an attempt is to be gone; zero where it is not, or nobody knows. The end that is remembered is not that of a launch that is not.
func (s *step) goesFrom(attempt int32) time.Time {
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

func (s *step) cleanAgain() time.Duration { return cmp.Or(s.app.CleanAgain, reassert) }
