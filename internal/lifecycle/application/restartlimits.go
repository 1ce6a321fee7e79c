package application

import (
	"fmt"
	"math"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
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

// countRestart adds a restart to the counts in the memory. The argument is the outcome of the attempt before the
// restart.
func (s *step) countRestart(outcome lifecycle.Outcome) {
	if s.app.Restart.Limits != nil {
		s.m.Restarts = s.nextRestarts(outcome)
	}
}

// countUnremembered counts a restart whose launch was not stored, because the operator died before the status write.
// The attempt before this launch has ended, because all its objects are deleted before a launch. If its end was stored,
// the restart is counted with its outcome. Otherwise its outcome counts as Lost.
func (s *step) countUnremembered() {
	switch {
	case s.m.Phase == lifecycle.Ended:
		s.countRestart(s.m.Outcome)
	case s.m.Phase.Live():
		s.countRestart(lifecycle.Lost)
	}
}

// nextRestarts returns the counts after a restart that follows an attempt with the given outcome. If that attempt
// lasted at least for ResetAfter, the counts start again: this restart is the first, and all failures are forgotten,
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

// invalidSpec returns a text that says why the spec prevents the next attempt. The spec may have become invalid by an
// edit, or because the rules of the platform became stricter. The result is "" in three cases: the spec is valid,
// another attempt would not be allowed with a valid spec either, or the ended attempt was itself rejected because of
// the invalid spec.
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

// exceededLimit returns a message about the restart limit that prevents another attempt. It returns "" if no limit
// does, and also if the restart policy or an invalid spec prevents another attempt anyway.
func (s *step) exceededLimit() string {
	rule := s.app.Restart
	if rule.Limits == nil || s.app.Invalid != nil || !allowsRestart(rule.Policy, s.m.Outcome) {
		return ""
	}

	next := s.m.Restarts // in the phase Waiting, they already include the next restart
	if s.m.Phase != lifecycle.Waiting {
		next = s.nextRestarts(s.m.Outcome)
	}
	return limitExceededBy(rule.Limits, next, s.m.Outcome)
}

// limitExceededBy returns a text about the limit that a restart exceeds, or "" if there is none. The parameter `next`
// contains the counts including this restart, and the parameter `outcome` is the outcome of the attempt before the
// restart. If there is a limit on rejections, it applies to rejections instead of the limit on failures.
func limitExceededBy(c *lifecycle.RestartLimits, next lifecycle.Restarts, outcome lifecycle.Outcome) string {
	switch {
	case next.Total > c.MaxRestarts:
		return "the limit is " + bounds.Count(c.MaxRestarts, "restart")
	case outcome == lifecycle.Refused && c.MaxRejections != nil:
		if next.Rejections > *c.MaxRejections {
			return "the limit is " + bounds.Count(*c.MaxRejections, "restart") + " in a row after rejected submissions"
		}
	case outcome != lifecycle.Succeeded && c.MaxFailures != nil && next.Failures > *c.MaxFailures:
		return "the limit is " + bounds.Count(*c.MaxFailures, "restart") + " in a row after failures"
	}
	return ""
}

// exhaustedCause returns the cause of the end of an application whose limit allows no further restart. The message also
// says how the last attempt ended.
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
