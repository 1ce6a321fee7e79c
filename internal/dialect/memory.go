package dialect

import (
	"strconv"
	"strings"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// EncodeMemory stores a memory in the operator's part of a status. It leaves out values that other fields of the status
// contain.
func EncodeMemory(o *statusv1.OperatorStatus, m lifecycle.Memory) {
	o.Phase, o.Attempt, o.Outcome, o.SuspendedRuns = string(m.Phase), m.Attempt, string(m.Outcome), m.SuspendedRuns
	o.Since, o.SubmittedAt, o.EndedAt, o.NextAttemptTime = EncodeTime(m.Since), EncodeTime(m.SubmittedAt), EncodeTime(m.EndedAt), EncodeTime(m.NextAttempt)
	o.UngatedAt, o.ShortSince, o.FailedExecutorCreatedAt = EncodeTime(m.UngatedAt), EncodeTime(m.ShortSince), EncodeTime(m.FailedExecutorCreatedAt)
	o.RestartRequest = m.RestartRequest

	o.HashVersion, o.SpecHash = 0, ""
	if version, digest, ok := strings.Cut(m.SpecHash, ":"); ok {
		if n, err := strconv.ParseInt(version, 10, 32); err == nil {
			o.HashVersion, o.SpecHash = int32(n), digest
		}
	}

	o.Cause, o.ExecutorFailure = EncodeCause(m.Cause), EncodeCause(m.ExecutorFailure)
	o.Logs = encodeLogs(m.Logs)
}

// DecodeMemory restores the memory m from o, the operator's part of a status. It restores only the values that
// EncodeMemory stored there.
func DecodeMemory(m *lifecycle.Memory, o *statusv1.OperatorStatus) {
	m.Phase, m.Since, m.Attempt = lifecycle.Phase(o.Phase), DecodeTime(o.Since), o.Attempt
	m.SubmittedAt, m.EndedAt, m.NextAttempt = DecodeTime(o.SubmittedAt), DecodeTime(o.EndedAt), DecodeTime(o.NextAttemptTime)
	m.UngatedAt, m.ShortSince, m.FailedExecutorCreatedAt = DecodeTime(o.UngatedAt), DecodeTime(o.ShortSince), DecodeTime(o.FailedExecutorCreatedAt)

	m.Outcome, m.SuspendedRuns = lifecycle.Outcome(o.Outcome), o.SuspendedRuns
	if o.SpecHash != "" {
		m.SpecHash = strconv.Itoa(int(o.HashVersion)) + ":" + o.SpecHash
	}

	m.RestartRequest = o.RestartRequest
	m.Cause, m.ExecutorFailure = DecodeCause(o.Cause), DecodeCause(o.ExecutorFailure)
	m.Logs = DecodeLogs(o.Logs)
}

func encodeLogs(l lifecycle.Logs) *statusv1.OperatorLogs {
	if l == (lifecycle.Logs{}) {
		return nil
	}
	return &statusv1.OperatorLogs{Attempt: l.Attempt, Place: l.Place, KeptAt: EncodeTime(l.KeptAt), Reason: l.Cause.Reason, Message: l.Cause.Message}
}

// DecodeLogs returns what encodeLogs stored.
func DecodeLogs(o *statusv1.OperatorLogs) lifecycle.Logs {
	if o == nil {
		return lifecycle.Logs{}
	}
	return lifecycle.Logs{Attempt: o.Attempt, Place: o.Place, KeptAt: DecodeTime(o.KeptAt), Cause: lifecycle.Cause{Reason: o.Reason, Message: o.Message}}
}

// EncodeCause returns a cause in the form in which a status stores it, or nil for the zero Cause.
func EncodeCause(cause lifecycle.Cause) *statusv1.OperatorCause {
	if cause == (lifecycle.Cause{}) {
		return nil
	}
	return &statusv1.OperatorCause{Reason: cause.Reason, Message: cause.Message, Advice: cause.Advice, Log: cause.Log}
}

// DecodeCause returns the cause that EncodeCause stored.
func DecodeCause(stored *statusv1.OperatorCause) lifecycle.Cause {
	if stored == nil {
		return lifecycle.Cause{}
	}
	return lifecycle.Cause{Reason: stored.Reason, Message: stored.Message, Advice: stored.Advice, Log: stored.Log}
}

// History appends transitions to the history in a status, oldest first. The argument old is the stored history, and the
// argument trail contains the transitions of the current pass. The result contains only the newest statusv1.MaxHistory
// transitions.
func History(old []statusv1.OperatorTransition, trail []lifecycle.Transition) []statusv1.OperatorTransition {
	for _, t := range trail {
		reason := t.Cause.Reason
		if reason == "" {
			reason = string(t.Outcome)
		}

		old = append(old, statusv1.OperatorTransition{Phase: string(t.To), At: EncodeTime(t.At), Attempt: t.Attempt, Reason: reason})
	}
	return old[max(0, len(old)-statusv1.MaxHistory):]
}
