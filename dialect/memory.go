package dialect

import (
	"strconv"
	"strings"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// Remember stores the parts of a memory that have no field of their own in a status.
func Remember(o *statusv1.OperatorStatus, m lifecycle.Memory) {
	o.Phase, o.Attempt, o.Outcome, o.SuspendedRuns = string(m.Phase), m.Attempt, string(m.Outcome), m.Spared
	o.Since, o.SubmittedAt, o.EndedAt, o.NextAttemptTime = Stored(m.Since), Stored(m.SubmittedAt), Stored(m.EndedAt), Stored(m.NextAttempt)
	o.UngatedAt, o.ShortSince = Stored(m.UngatedAt), Stored(m.ShortSince)
	o.HashVersion, o.SpecHash = 0, ""
	if version, digest, ok := strings.Cut(m.SpecHash, ":"); ok {
		if n, err := strconv.ParseInt(version, 10, 32); err == nil {
			o.HashVersion, o.SpecHash = int32(n), digest
		}
	}
	o.Cause = StoredCause(m.Cause)
}

// Recall reads what Remember stored.
func Recall(m *lifecycle.Memory, o *statusv1.OperatorStatus) {
	m.Phase, m.Since, m.Attempt = lifecycle.Phase(o.Phase), Moment(o.Since), o.Attempt
	m.SubmittedAt, m.EndedAt, m.NextAttempt = Moment(o.SubmittedAt), Moment(o.EndedAt), Moment(o.NextAttemptTime)
	m.UngatedAt, m.ShortSince = Moment(o.UngatedAt), Moment(o.ShortSince)
	m.Outcome, m.Spared = lifecycle.Outcome(o.Outcome), o.SuspendedRuns
	if o.SpecHash != "" {
		m.SpecHash = strconv.Itoa(int(o.HashVersion)) + ":" + o.SpecHash
	}
	m.Cause = CauseOf(o.Cause)
}

// StoredCause returns a cause in the form of a status; nil for the zero Cause.
func StoredCause(cause lifecycle.Cause) *statusv1.OperatorCause {
	if cause == (lifecycle.Cause{}) {
		return nil
	}
	return &statusv1.OperatorCause{Reason: cause.Reason, Message: cause.Message}
}

// CauseOf reads what StoredCause stored.
func CauseOf(stored *statusv1.OperatorCause) lifecycle.Cause {
	if stored == nil {
		return lifecycle.Cause{}
	}
	return lifecycle.Cause{Reason: stored.Reason, Message: stored.Message}
}

// History appends transitions and keeps the newest statusv1.MaxHistory, oldest first.
func History(old []statusv1.OperatorTransition, trail []lifecycle.Transition) []statusv1.OperatorTransition {
	for _, t := range trail {
		reason := t.Cause.Reason
		if reason == "" {
			reason = string(t.Outcome)
		}
		old = append(old, statusv1.OperatorTransition{Phase: string(t.To), At: Stored(t.At), Attempt: t.Attempt, Reason: reason})
	}
	return old[max(0, len(old)-statusv1.MaxHistory):]
}
