package application

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// encode writes a decision into the status: the states of this API, and the operator's memory. It returns notices about
// executors and about an edit of the spec. In the phase New it writes nothing, because tools take a status as a sign
// that an operator has handled the application.
func (a Applications) encode(app *sparkv1.SparkApplication, wanted lifecycle.App, plan lifecycle.Plan, seen lifecycle.Observed, now time.Time) (notices []lifecycle.Notice) {
	s, m := &app.Status, plan.Next
	if m.Phase == lifecycle.New {
		return nil
	}

	edited := uncounted(app)
	a.encodeStates(app, wanted, plan, seen, now)

	if s.Operator != nil && s.Operator.Attempt != m.Attempt {
		s.Executors, s.Operator.Executors = nil, nil // the counts belong to an earlier attempt
	}

	encodeMemory(s, m)
	s.Operator.History = dialect.History(s.Operator.History, plan.Transitions)
	s.Executors, notices = dialect.CountExecutors(&s.Operator.OperatorStatus, s.Executors, append(dialect.ExecutorsOf(m, seen.Executors), dialect.ExecutorsOf(m, seen.UncountedExecutors)...))
	s.ObservedGeneration = app.Generation
	encodeConditions(app, wanted, m, now)
	return append(notices, encodeEdit(app, plan, edited, now)...)
}

// encodeStates adds the states that a decision entered to the history. If the decision schedules another attempt,
// encodeStates starts a new history for it.
func (a Applications) encodeStates(app *sparkv1.SparkApplication, wanted lifecycle.App, plan lifecycle.Plan, seen lifecycle.Observed, now time.Time) {
	s := &app.Status
	if len(plan.Transitions) > 0 && current(s) == "" {
		first := lifecycle.Transition{}
		enter(s, sparkv1.ApplicationSubmitted, message(sparkv1.ApplicationSubmitted, first, wanted, plan.Next), submittedAt(app, now), nil)
	}

	for _, t := range plan.Transitions {
		for _, state := range states(current(s), t, wanted) {
			if state == sparkv1.ApplicationScheduledToRestart {
				rollOver(s, endedAttempt(s, t, plan.Next.Restarts), a.Trim)
			}

			enter(s, state, message(state, t, wanted, plan.Next), t.At, driverSnapshot(state, seen.Driver(t.Attempt)))
		}
	}
}

// endedAttempt returns the summary of the attempt after which a next attempt is scheduled. Usually the status contains
// this summary as the summary of its current attempt. If the attempt both started and ended in this decision, the
// status does not contain it. endedAttempt then computes the summary from the counters of restarts in the argument
// next. These counters already include the restart that is being scheduled, so endedAttempt subtracts it.
func endedAttempt(s *sparkv1.ApplicationStatus, t lifecycle.Transition, next lifecycle.Restarts) sparkv1.AttemptInfo {
	over := sparkv1.AttemptInfo{
		ID: int64(max(t.Attempt-1, 0)), RestartCounter: max(next.Total-1, 0),
		FailureRestartCounter: max(next.Failures-1, 0), SchedulingFailureRestartCounter: max(next.Rejections-1, 0),
	}
	if t.To == lifecycle.Launched { // a launch that was not stored
		over.ID = max(over.ID-1, 0)
	}

	if now := s.CurrentAttemptSummary; now != nil && now.AttemptInfo != nil && (t.To == lifecycle.Launched || now.AttemptInfo.ID == over.ID) {
		return *now.AttemptInfo
	}
	return over
}

// submittedAt returns the time of an application's submission: its creation time, which does not depend on the time of
// the first pass.
func submittedAt(app *sparkv1.SparkApplication, now time.Time) time.Time {
	if created := app.CreationTimestamp.Time; !created.IsZero() && created.Before(now) {
		return created
	}
	return now
}

// driverSnapshot returns the driver pod's status in the form in which the history stores it. It returns nil unless the
// given state is a failure.
func driverSnapshot(state sparkv1.ApplicationStateSummary, driver *lifecycle.Driver) *runtime.RawExtension {
	var status *corev1.PodStatus
	if driver != nil && failed(state) {
		status = driver.Status
	}
	return snapshot(status)
}

// failed reports whether a state is the end of an attempt that did not succeed.
func failed(state sparkv1.ApplicationStateSummary) bool {
	outcome, ended := outcomeOf(state)
	return ended && outcome != lifecycle.Succeeded
}

// encodeMemory stores a memory in the status. decodeMemory reads the same memory back.
func encodeMemory(s *sparkv1.ApplicationStatus, m lifecycle.Memory) {
	if s.Operator == nil {
		s.Operator = &sparkv1.OperatorStatus{}
	}

	dialect.EncodeMemory(&s.Operator.OperatorStatus, m)

	s.Operator.AttemptID, s.Operator.Runs, s.Operator.Submissions, s.Operator.Before = m.AttemptID, m.Runs, m.Submissions, string(m.PhaseBeforeUnknown)
	if s.CurrentAttemptSummary == nil {
		s.CurrentAttemptSummary = &sparkv1.ApplicationAttemptSummary{}
	}

	s.CurrentAttemptSummary.AttemptInfo = &sparkv1.AttemptInfo{
		ID: attemptInfoID(m), RestartCounter: m.Restarts.Total,
		FailureRestartCounter: m.Restarts.Failures, SchedulingFailureRestartCounter: m.Restarts.Rejections,
	}
}

// attemptInfoID returns the number of the current, last or scheduled attempt as this API counts it. This API counts
// from 0, the operator from 1.
func attemptInfoID(m lifecycle.Memory) int64 {
	if m.Phase == lifecycle.Waiting {
		return int64(m.Attempt)
	}
	return int64(max(m.Attempt-1, 0))
}
