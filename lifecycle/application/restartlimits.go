package application

import (
	"fmt"
	"math"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// This file counts restarts for lifecycle.RestartLimits.

// allowsRestart reports whether a policy wants another attempt after an outcome, apart from any limit.
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

// countRestart counts the restart that follows an outcome.
func (s *step) countRestart(outcome lifecycle.Outcome) {
	if s.app.Restart.Limits != nil {
		s.m.Restarts = s.nextRestarts(outcome)
	}
}

// countUnremembered counts the restart of a launch that is not remembered. The same pass decided on that launch and on
// the end of the attempt before. If that end is not remembered either, the driver counts as Lost: the launch required
// that nothing was left of it.
func (s *step) countUnremembered() {
	switch {
	case s.m.Phase == lifecycle.Ended:
		s.countRestart(s.m.Outcome)
	case s.m.Phase.Live():
		s.countRestart(lifecycle.Lost)
	}
}

// nextRestarts returns the Restarts of an attempt that follows one with the given outcome. After an attempt that lived
// long enough, the count starts again: the following restart is the first one, and all earlier failures are forgotten,
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

// invalidEdit returns why the edited spec prevents the next attempt. It is empty if something else prevents it, or if
// the attempt that ended was rejected for the same spec.
func (s *step) invalidEdit() string {
	ofIt := s.m.Phase == lifecycle.Ended && s.m.Outcome == lifecycle.Refused && s.m.Cause.Reason == lifecycle.ReasonInvalid
	if s.app.Invalid == nil || s.app.Restart.Limits == nil || ofIt {
		return ""
	}
	fit := *s
	fit.app.Invalid = nil
	if !fit.mayRestart() {
		return ""
	}
	return "no other attempt can be made of the spec as it was edited: " + s.app.Invalid.Message
}

// increment returns n + 1 without an overflow: a limit may be the largest number.
func increment(n int64) int64 {
	if n == math.MaxInt64 {
		return n
	}
	return n + 1
}

// exceededLimit returns the limit that prevents another attempt; empty if no limit does, or if no attempt is wanted.
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

// limitExceededBy returns the limit that a restart after an outcome exceeds, or "". The limit on rejections replaces
// the limit on failures.
func limitExceededBy(c *lifecycle.RestartLimits, next lifecycle.Restarts, outcome lifecycle.Outcome) string {
	switch {
	case next.Total > c.MaxRestarts:
		return fmt.Sprintf("no more than %d restarts are allowed", c.MaxRestarts)
	case outcome == lifecycle.Refused && c.MaxRejections != nil:
		if next.Rejections > *c.MaxRejections {
			return fmt.Sprintf("no more than %d restarts in a row are allowed after submissions that were refused", *c.MaxRejections)
		}
	case outcome != lifecycle.Succeeded && c.MaxFailures != nil && next.Failures > *c.MaxFailures:
		return fmt.Sprintf("no more than %d restarts in a row are allowed after failures", *c.MaxFailures)
	}
	return ""
}

// exhaustedCause is the cause of an end after which a limit allows no restart, including how the last attempt ended.
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
