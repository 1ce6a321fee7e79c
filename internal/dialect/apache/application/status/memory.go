package status

import (
	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Memory returns the memory that the last decision stored. The status of another operator contains no memory; package
// takeover handles such a status.
func Memory(s *sparkv1.ApplicationStatus) (m lifecycle.Memory) {
	o := s.Operator
	if o == nil {
		m.Cause = dialect.WaitInQueue(s.Conditions)
		return m
	}

	dialect.DecodeMemory(&m, &o.OperatorStatus)
	m.AttemptID, m.Runs, m.Submissions, m.PhaseBeforeUnknown = o.AttemptID, o.Runs, o.Submissions, lifecycle.Phase(o.Before)
	m.EnoughExecutors = o.EnoughExecutors
	m.Restarts = Restarts(s.CurrentAttemptSummary)
	return m
}

// Restarts returns the counters of restarts in the summary of an attempt.
func Restarts(summary *sparkv1.ApplicationAttemptSummary) lifecycle.Restarts {
	if summary == nil || summary.AttemptInfo == nil {
		return lifecycle.Restarts{}
	}

	info := summary.AttemptInfo
	return lifecycle.Restarts{Total: info.RestartCounter, Failures: info.FailureRestartCounter, Rejections: info.SchedulingFailureRestartCounter}
}

// remember stores a memory in the status. Memory reads the same memory back.
func remember(s *sparkv1.ApplicationStatus, m lifecycle.Memory) {
	if s.Operator == nil {
		s.Operator = &sparkv1.OperatorStatus{}
	}

	dialect.EncodeMemory(&s.Operator.OperatorStatus, m)

	s.Operator.AttemptID, s.Operator.Runs, s.Operator.Submissions, s.Operator.Before = m.AttemptID, m.Runs, m.Submissions, string(m.PhaseBeforeUnknown)
	s.Operator.EnoughExecutors = m.EnoughExecutors

	if s.CurrentAttemptSummary == nil {
		s.CurrentAttemptSummary = &sparkv1.ApplicationAttemptSummary{}
	}

	s.CurrentAttemptSummary.AttemptInfo = &sparkv1.AttemptInfo{
		ID: AttemptInfoID(m), RestartCounter: m.Restarts.Total,
		FailureRestartCounter: m.Restarts.Failures, SchedulingFailureRestartCounter: m.Restarts.Rejections,
	}
}

// AttemptInfoID returns the number of the current, last or scheduled attempt as this API counts it. This API counts
// from 0, the operator from 1.
func AttemptInfoID(m lifecycle.Memory) int64 {
	if m.Phase == lifecycle.Waiting || m.Phase == lifecycle.Resuming {
		return int64(m.Attempt)
	}
	return int64(max(m.Attempt-1, 0))
}

// Stored returns the operator's part of the status; nil if there is none.
func Stored(app *sparkv1.SparkApplication) *statusv1.OperatorStatus {
	if o := app.Status.Operator; o != nil {
		return &o.OperatorStatus
	}
	return nil
}

// Hold returns whether an application is held, and why. The argument queued reports that a queue decides about an
// application that it has evicted.
func Hold(app *sparkv1.SparkApplication, queued bool) apache.Hold {
	s := &app.Status
	_, known := Meaning(Current(s))
	return apache.HoldOf(apache.Resource{Suspend: app.Spec.Suspend, State: string(Current(s)), SuspendReason: suspendReason(s), Known: known,
		Queued: queued, Deleting: app.DeletionTimestamp != nil, Conditions: s.Conditions})
}

// suspendReason returns why the current state is Suspended; "" in other states, and if the status does not say.
func suspendReason(s *sparkv1.ApplicationStatus) sparkv1.SuspendReason {
	if s.CurrentState == nil {
		return ""
	}
	return s.CurrentState.SuspendReason
}
