package schedule

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/schedule"
)

// decodeSchedule returns the memory that rememberSchedule stored. If another operator wrote the status, decodeSchedule
// derives the memory from the fields that this operator wrote.
func decodeSchedule(s *v1beta2.ScheduledSparkApplication, want schedule.Schedule, now time.Time) schedule.Memory {
	st := &s.Status
	m := schedule.Memory{
		LastRun: utc(st.LastRun), LastRunName: st.LastRunName, Generation: st.ObservedGeneration,
		Suspended: meta.IsStatusConditionTrue(st.Conditions, dialect.ConditionSuspended),
		Succeeded: slices.Clone(st.PastSuccessfulRunNames), Failed: slices.Clone(st.PastFailedRunNames),
	}

	o := st.Operator
	if o == nil {
		takeScheduleOver(&m, st, want, now)
		return m
	}

	m.Key, m.Since, m.LastTick, m.LastRequest = o.Schedule, dialect.DecodeTime(o.Since), dialect.DecodeTime(o.LastTick), o.LastRunRequest
	m.Rejected, m.RejectedSince, m.Retry = o.RefusedRun, dialect.DecodeTime(o.RefusedSince), dialect.DecodeTime(o.RetryTime)

	m.Cause = dialect.DecodeCause(o.Cause)
	if asked := o.WaitingRequest; asked != nil {
		m.Requested = schedule.Waiting{Run: asked.Run, Since: dialect.DecodeTime(asked.RefusedSince), Retry: dialect.DecodeTime(asked.RetryTime), Cause: dialect.DecodeCause(asked.Cause)}
	}
	return m
}

// utc returns a time of the status in UTC, or the zero time if it is not set.
func utc(t metav1.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

// takeScheduleOver derives the memory from the status that another operator of this API wrote.
//
// The next run in that status stays the next run. Even if its time has passed, the run starts, because the other
// operator would have started it late too. If the schedule was edited after the other operator wrote the status, the
// edited times apply from now on. The other operator may also have created a run without storing it in the status. Such
// a run is found by its name, which ends in the time of its creation.
func takeScheduleOver(m *schedule.Memory, st *v1beta2.ScheduledSparkApplicationStatus, want schedule.Schedule, now time.Time) {
	if st.ScheduleState == v1beta2.ScheduleStateNew && st.NextRun.IsZero() && st.LastRun.IsZero() {
		return // no operator has processed the schedule yet
	}

	m.Key, m.Suspended, m.Since = want.Key, want.Suspend, now
	if next := utc(st.NextRun); !next.IsZero() && want.Times != nil {
		if anchor := want.Times.Anchor(next); anchor.Before(now) {
			m.Since = anchor
		}
	}
}

// rememberSchedule stores the operator's memory in the status. decodeSchedule reads it again. Whether the schedule was
// suspended is stored in the condition Suspended.
func rememberSchedule(st *v1beta2.ScheduledSparkApplicationStatus, m schedule.Memory) {
	if st.Operator == nil {
		st.Operator = &v1beta2.ScheduleOperatorStatus{}
	}

	o := st.Operator
	st.LastRun, st.LastRunName, st.ObservedGeneration = metav1.NewTime(m.LastRun), m.LastRunName, m.Generation
	st.PastSuccessfulRunNames, st.PastFailedRunNames = m.Succeeded, m.Failed
	o.Schedule, o.Since, o.LastTick, o.LastRunRequest = m.Key, dialect.EncodeTime(m.Since), dialect.EncodeTime(m.LastTick), m.LastRequest
	o.RefusedRun, o.RefusedSince, o.RetryTime = m.Rejected, dialect.EncodeTime(m.RejectedSince), dialect.EncodeTime(m.Retry)

	o.Cause, o.WaitingRequest = dialect.EncodeCause(m.Cause), nil
	if asked := m.Requested; asked.Run != "" {
		o.WaitingRequest = &v1beta2.WaitingRequest{Run: asked.Run, RefusedSince: dialect.EncodeTime(asked.Since), RetryTime: dialect.EncodeTime(asked.Retry), Cause: dialect.EncodeCause(asked.Cause)}
	}
}

const (
	reasonScheduled     = "Scheduled"
	reasonUnknownPolicy = "UnknownConcurrencyPolicy"
	reasonLocalZone     = "LocalTimeZone"
)

// encodeSchedule writes a decision into the status: the fields of this API, and the operator's memory. It returns
// notices about doubtful settings that were not reported yet.
func encodeSchedule(s *v1beta2.ScheduledSparkApplication, want schedule.Schedule, plan schedule.Plan, doubts []lifecycle.Cause, transient *lifecycle.TransientError,
	now time.Time) (notices []lifecycle.Notice) {
	st, m := &s.Status, plan.Next
	rememberSchedule(st, m)
	st.NextRun = metav1.NewTime(plan.NextRun)

	st.ScheduleState, st.Reason = v1beta2.ScheduleStateScheduled, ""
	if want.Invalid != nil {
		st.ScheduleState, st.Reason = v1beta2.ScheduleStateFailedValidation, m.Cause.Message
	}

	for _, doubt := range doubts {
		doubt = doubt.Bounded()
		if reported := meta.FindStatusCondition(st.Conditions, dialect.ConditionDegraded); reported == nil || !strings.Contains(reported.Message, doubt.Message) {
			notices = append(notices, lifecycle.Notice{Part: lifecycle.Application, Cause: doubt})
		}
	}

	hold := scheduleConditions(want, m, doubts, transient)
	before := slices.Clone(st.Conditions)

	st.Conditions = slices.DeleteFunc(st.Conditions, func(c metav1.Condition) bool {
		return !slices.ContainsFunc(hold, func(h metav1.Condition) bool { return h.Type == c.Type })
	})
	for _, c := range hold {
		// While the reason of a transient error stays the same, the message stays too, because the API server may word
		// each error differently.
		if old := meta.FindStatusCondition(before, c.Type); old != nil && transient != nil && old.Reason == c.Reason && c.Reason == transient.Cause.Reason {
			c.Message = old.Message
		}

		c.Reason, c.LastTransitionTime, c.ObservedGeneration = dialect.UsableReason(c.Reason), metav1.NewTime(now), s.Generation
		dialect.PutCondition(&st.Conditions, c)
	}
	return notices
}

// scheduleConditions returns the conditions that apply now. A schedule is Ready if its runs start when they are due. It
// stays Ready if its concurrency policy delays the next run until the previous run has ended.
func scheduleConditions(want schedule.Schedule, m schedule.Memory, doubts []lifecycle.Cause, transient *lifecycle.TransientError) []metav1.Condition {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	ready := metav1.Condition{Type: dialect.ConditionReady, Status: yes, Reason: reasonScheduled, Message: "runs start when they are due; status.nextRun has the time of the next run"}
	var more []metav1.Condition

	trouble := func(kind string, cause lifecycle.Cause) {
		ready = metav1.Condition{Type: dialect.ConditionReady, Status: no, Reason: cause.Reason, Message: cause.Message}
		more = append(more, metav1.Condition{Type: kind, Status: yes, Reason: cause.Reason, Message: cause.Message})
	}
	switch {
	case want.Invalid != nil:
		trouble(dialect.ConditionStalled, m.Cause)
	case transient != nil:
		trouble(dialect.ConditionReconciling, transient.Cause)
	case m.Cause.Reason == schedule.ReasonReplacing:
		ready.Reason, ready.Message = m.Cause.Reason, m.Cause.Message
		more = append(more, metav1.Condition{Type: dialect.ConditionReconciling, Status: yes, Reason: m.Cause.Reason, Message: m.Cause.Message})
	case m.Cause.Reason == schedule.ReasonWaiting: // a waiting run has precedence over an earlier rejection
		ready.Reason, ready.Message = m.Cause.Reason, m.Cause.Message
	case m.Rejected != "" || m.Cause.Reason == schedule.ReasonClock:
		trouble(dialect.ConditionReconciling, m.Cause)
	case !m.Requested.Since.IsZero():
		trouble(dialect.ConditionReconciling, m.Requested.Cause)
	case m.Cause.Reason != "":
		ready.Reason, ready.Message = m.Cause.Reason, m.Cause.Message
	}

	if m.Suspended {
		held := metav1.Condition{Type: dialect.ConditionSuspended, Status: yes, Reason: dialect.ConditionSuspended, Message: "spec.suspend is true: no runs start except those that a user requests"}
		if ready.Status == yes {
			ready = held
			ready.Type, ready.Status = dialect.ConditionReady, no
		}

		more = append(more, held)
	}

	if len(doubts) > 0 {
		var all []string
		for _, doubt := range doubts {
			all = append(all, doubt.Message)
		}

		more = append(more, metav1.Condition{Type: dialect.ConditionDegraded, Status: yes, Reason: doubts[0].Reason, Message: strings.Join(all, "; ")})
	}
	return append([]metav1.Condition{ready}, more...)
}
