package application

import (
	"fmt"
	"math"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// This file counts restarts and applies their limits (lifecycle.RestartLimits).

// allowsRestart reports whether a restart policy allows another attempt after an outcome. It ignores all limits.
func allowsRestart(policy lifecycle.RestartPolicy, outcome lifecycle.Outcome) bool {
	switch policy {
	case lifecycle.Always:
		return true
	case lifecycle.OnFailure:
		return outcome != lifecycle.Succeeded
	case lifecycle.OnInfrastructureFailure:
		return outcome == lifecycle.StartTimedOut || outcome == lifecycle.ExecutorsTimedOut || outcome == lifecycle.Refused
	}
	return false
}

// countRestart adds the restart that follows an outcome to the counts in the memory.
func (s *step) countRestart(outcome lifecycle.Outcome) {
	if s.app.Restart.Limits != nil {
		s.m.Restarts = s.nextRestarts(outcome)
	}
}

// countUnremembered counts the restart that led to a launch that was not stored. The outcome of the restart is that of
// the attempt before the launch. If the end of that attempt was not stored either, its outcome counts as Lost, because
// the launch was possible only after all objects of that attempt were deleted.
func (s *step) countUnremembered() {
	switch {
	case s.m.Phase == lifecycle.Ended:
		s.countRestart(s.m.Outcome)
	case s.m.Phase.Live():
		s.countRestart(lifecycle.Lost)
	}
}

// nextRestarts returns the counts after the restart that follows an attempt with the given outcome. If that attempt
// lived long enough, the counts start again: the restart is the first one, and all earlier failures are forgotten,
// including the failure of that attempt.
func (s *step) nextRestarts(outcome lifecycle.Outcome) lifecycle.Restarts {
	if after := s.app.Restart.Limits.ResetAfter; after != nil && !s.m.EndedAt.IsZero() && s.m.EndedAt.Sub(s.m.SubmittedAt) >= *after {
		return lifecycle.Restarts{Total: 1}
	}
	next := lifecycle.Restarts{Total: increment(s.m.Restarts.Total)}
	if outcome != lifecycle.Succeeded {
		next.Failures = increment(s.m.Restarts.Failures)
	}
	if outcome == lifecycle.Refused {
		next.Rejections = increment(s.m.Restarts.Rejections)
	}
	return next
}

// invalidSpec returns a text that says why the spec prevents the next attempt, because it was edited or because the
// rules of the platform became stricter. It returns "" if the spec is valid, if another attempt would not be allowed
// with a valid spec either, or if the attempt that ended was itself rejected because of an invalid spec.
func (s *step) invalidSpec() string {
	ofIt := s.m.Phase == lifecycle.Ended && s.m.Outcome == lifecycle.Refused && s.m.Cause.Reason == lifecycle.ReasonInvalid
	if s.app.Invalid == nil || s.app.IsServer || ofIt {
		return ""
	}
	fit := *s
	fit.app.Invalid = nil
	if !fit.mayRestart() {
		return ""
	}
	return "the spec allows no other attempt: " + s.app.Invalid.Message
}

// increment returns n + 1, or n if n is already the largest number, so that the result cannot overflow.
func increment(n int64) int64 {
	if n == math.MaxInt64 {
		return n
	}
	return n + 1
}

// exceededLimit returns a message about the limit of restarts that prevents another attempt. It returns "" if no limit
// is exceeded. It also returns "" if the restart policy or an invalid spec prevents another attempt anyway.
func (s *step) exceededLimit() string {
	rule := s.app.Restart
	if rule.Limits == nil || s.app.Invalid != nil || !allowsRestart(rule.Policy, s.m.Outcome) {
		return ""
	}
	next := s.m.Restarts // in Waiting it is counted already
	if s.m.Phase != lifecycle.Waiting {
		next = s.nextRestarts(s.m.Outcome)
	}
	return limitExceededBy(rule.Limits, next, s.m.Outcome)
}

// limitExceededBy returns a text about the limit that a restart after the given outcome exceeds, or "" if it exceeds no
// limit. The argument next holds the counts that include this restart. After a rejection, the limit on rejections
// applies instead of the limit on failures.
func limitExceededBy(c *lifecycle.RestartLimits, next lifecycle.Restarts, outcome lifecycle.Outcome) string {
	switch {
	case next.Total > c.MaxRestarts:
		return fmt.Sprintf("no more than %d restarts are allowed", c.MaxRestarts)
	case outcome == lifecycle.Refused && c.MaxRejections != nil:
		if next.Rejections > *c.MaxRejections {
			return fmt.Sprintf("no more than %d restarts in a row are allowed after rejected submissions", *c.MaxRejections)
		}
	case outcome != lifecycle.Succeeded && c.MaxFailures != nil && next.Failures > *c.MaxFailures:
		return fmt.Sprintf("no more than %d restarts in a row are allowed after failures", *c.MaxFailures)
	}
	return ""
}

// exhaustedCause returns the cause of an application's end if a limit allows no restart. The message also says how the
// last attempt ended.
func exhaustedCause(limit string, m lifecycle.Memory) lifecycle.Cause {
	last := string(m.Outcome)
	if m.Cause.Reason != "" && m.Cause.Reason != last {
		last += ", " + m.Cause.Reason
	}
	if m.Cause.Message != "" {
		last += ": " + m.Cause.Message
	}
	return lifecycle.Cause{Reason: lifecycle.ReasonRestartsExhausted, Message: fmt.Sprintf("%s; the last attempt: %s", limit, last)}
}
