package application

import (
	"fmt"
	"math"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// Restarts that are counted by lifecycle.Counted.

// asksFor reports whether a policy wants another attempt after an outcome, as far as no limit says otherwise.
func asksFor(policy lifecycle.RestartPolicy, outcome lifecycle.Outcome) bool {
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

// count counts the restart that is decided on after an outcome.
func (s *step) count(outcome lifecycle.Outcome) {
	if s.app.Restart.Counted != nil {
		s.m.Restarts = s.next(outcome)
	}
}

// countUnremembered counts the restart that a launch was which is not remembered: it came with the end of the attempt before, in one pass. Where that end
// is not remembered either, nothing was left of the driver: it could not have been launched over otherwise.
func (s *step) countUnremembered() {
	switch {
	case s.m.Phase == lifecycle.Ended:
		s.count(s.m.Outcome)
	case s.m.Phase.Live():
		s.count(lifecycle.Lost)
	}
}

// next is what Restarts are of an attempt that follows one with an outcome. One that lived long enough is where counting begins anew: what follows it is
// the first restart, and its own failure is forgotten with those before.
func (s *step) next(outcome lifecycle.Outcome) lifecycle.Restarts {
	if after := s.app.Restart.Counted.ResetAfter; after != nil && !s.m.EndedAt.IsZero() && s.m.EndedAt.Sub(s.m.SubmittedAt) >= *after {
		return lifecycle.Restarts{Total: 1}
	}
	next := lifecycle.Restarts{Total: more(s.m.Restarts.Total)}
	if outcome != lifecycle.Succeeded {
		next.Failures = more(s.m.Restarts.Failures)
	}
	if outcome == lifecycle.Refused {
		next.Refusals = more(s.m.Restarts.Refusals)
	}
	return next
}

// unfit is what stands against the next attempt where that is nothing but the spec, of which none can be made as it was edited; empty where another thing
// does, or where the attempt that ended was the one to fail of it.
func (s *step) unfit() string {
	ofIt := s.m.Phase == lifecycle.Ended && s.m.Outcome == lifecycle.Refused && s.m.Cause.Reason == lifecycle.ReasonInvalid
	if s.app.Invalid == nil || s.app.Restart.Counted == nil || ofIt {
		return ""
	}
	fit := *s
	fit.app.Invalid = nil
	if !fit.again() {
		return ""
	}
	return "no other attempt can be made of the spec as it was edited: " + s.app.Invalid.Message
}

// more is one more: a limit may be as high as there are numbers.
func more(n int64) int64 {
	if n == math.MaxInt64 {
		return n
	}
	return n + 1
}

// exhausted is the limit that stands against another attempt; empty where none does, or none is asked.
func (s *step) exhausted() string {
	rule := s.app.Restart
	if rule.Counted == nil || s.app.Invalid != nil || !asksFor(rule.Policy, s.m.Outcome) {
		return ""
	}
	next := s.m.Restarts // in Waiting it is counted already
	if s.m.Phase != lifecycle.Waiting {
		next = s.next(s.m.Outcome)
	}
	return exceeded(rule.Counted, next, s.m.Outcome)
}

// exceeded is the limit that a restart after an outcome is beyond; empty where none is. The limit on refusals stands in for that on failures.
func exceeded(c *lifecycle.Counted, next lifecycle.Restarts, outcome lifecycle.Outcome) string {
	switch {
	case next.Total > c.Most:
		return fmt.Sprintf("no more than %d restarts are allowed", c.Most)
	case outcome == lifecycle.Refused && c.MostRefusals != nil:
		if next.Refusals > *c.MostRefusals {
			return fmt.Sprintf("no more than %d restarts in a row are allowed after submissions that were refused", *c.MostRefusals)
		}
	case outcome != lifecycle.Succeeded && c.MostFailures != nil && next.Failures > *c.MostFailures:
		return fmt.Sprintf("no more than %d restarts in a row are allowed after failures", *c.MostFailures)
	}
	return ""
}

// exhaustedBy is the cause of an end that a limit makes the last, with what it is the end of.
func exhaustedBy(limit string, m lifecycle.Memory) lifecycle.Cause {
	last := string(m.Outcome)
	if m.Cause.Reason != "" && m.Cause.Reason != last {
		last += ", " + m.Cause.Reason
	}
	if m.Cause.Message != "" {
		last += ": " + m.Cause.Message
	}
	return lifecycle.Cause{Reason: lifecycle.ReasonRestartsExhausted, Message: fmt.Sprintf("%s; the last attempt: %s", limit, last)}
}
