package application

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// encode writes a decision into the status: the states that this API's readers expect, and what must be remembered. It returns what became known of
// executors and of an edit. Until something is done there is nothing to write: tools take an application without a status for one that no operator has
// looked at.
func (a Applications) encode(app *sparkv1.SparkApplication, wanted lifecycle.App, plan lifecycle.Plan, seen lifecycle.Observed, now time.Time) (news []lifecycle.Notice) {
	s, m := &app.Status, plan.Next
	if m.Phase == lifecycle.New {
		return nil
	}
	edited := uncounted(app)
	a.encodeStates(app, wanted, plan, seen, now)
	if s.Operator != nil && s.Operator.Attempt != m.Attempt {
		s.Executors, s.Operator.Executors = nil, nil // of an earlier attempt
	}
	encodeMemory(s, m)
	s.Operator.History = dialect.History(s.Operator.History, plan.Trail)
	s.Executors, news = dialect.CountExecutors(&s.Operator.OperatorStatus, s.Executors, append(dialect.ExecutorsOf(m, seen.Executors), dialect.ExecutorsOf(m, seen.Gone)...))
	s.ObservedGeneration = app.Generation
	encodeConditions(app, wanted, m, now)
	return append(news, encodeEdit(app, plan, edited, now)...)
}

// encodeStates adds what the decision entered to the history, and begins the next attempt's where one is scheduled.
func (a Applications) encodeStates(app *sparkv1.SparkApplication, wanted lifecycle.App, plan lifecycle.Plan, seen lifecycle.Observed, now time.Time) {
	s := &app.Status
	if len(plan.Trail) > 0 && current(s) == "" {
		first := lifecycle.Transition{}
		enter(s, sparkv1.ApplicationSubmitted, message(sparkv1.ApplicationSubmitted, first, wanted, plan.Next), submittedAt(app, now), nil)
	}
	for _, t := range plan.Trail {
		for _, state := range states(current(s), t, wanted) {
			if state == sparkv1.ApplicationScheduledToRestart {
				rollOver(s, attemptOver(s, t, plan.Next.Restarts), a.Trim)
			}
			enter(s, state, message(state, t, wanted, plan.Next), t.At, driverThen(state, seen.Driver(t.Attempt)))
		}
	}
}

// attemptOver is what is known of the attempt that another one follows. One that came and went within this decision is not stored: of it the restart alone
// was counted that follows.
func attemptOver(s *sparkv1.ApplicationStatus, t lifecycle.Transition, next lifecycle.Restarts) sparkv1.AttemptInfo {
	over := sparkv1.AttemptInfo{
		ID: int64(max(t.Attempt-1, 0)), RestartCounter: max(next.Total-1, 0),
		FailureRestartCounter: max(next.Failures-1, 0), SchedulingFailureRestartCounter: max(next.Refusals-1, 0),
	}
	if t.To == lifecycle.Launched { // of the attempt that was not remembered
		over.ID = max(over.ID-1, 0)
	}
	if now := s.CurrentAttemptSummary; now != nil && now.AttemptInfo != nil && (t.To == lifecycle.Launched || now.AttemptInfo.ID == over.ID) {
		return *now.AttemptInfo
	}
	return over
}

// submittedAt is when an application was submitted: its creation, which does not change with whoever looks at it first.
func submittedAt(app *sparkv1.SparkApplication, now time.Time) time.Time {
	if created := app.CreationTimestamp.Time; !created.IsZero() && created.Before(now) {
		return created
	}
	return now
}

// driverThen is what a state tells of the driver's pod: of an end that was none as it should be.
func driverThen(state sparkv1.ApplicationStateSummary, driver *lifecycle.Driver) *runtime.RawExtension {
	var status *corev1.PodStatus
	if driver != nil && failed(state) {
		status = driver.Status
	}
	return snapshot(status)
}

// failed reports whether a state is that of an attempt that is over and did not succeed.
func failed(state sparkv1.ApplicationStateSummary) bool {
	outcome, is := outcomeOf(state)
	return is && outcome != lifecycle.Succeeded
}

// encodeMemory stores a memory so that decodeMemory reads back the same.
func encodeMemory(s *sparkv1.ApplicationStatus, m lifecycle.Memory) {
	if s.Operator == nil {
		s.Operator = &sparkv1.OperatorStatus{}
	}
	dialect.Remember(&s.Operator.OperatorStatus, m)
	s.Operator.AttemptID, s.Operator.Runs, s.Operator.Submissions, s.Operator.Before = m.AttemptID, m.Runs, m.Submissions, string(m.Before)
	if s.CurrentAttemptSummary == nil {
		s.CurrentAttemptSummary = &sparkv1.ApplicationAttemptSummary{}
	}
	s.CurrentAttemptSummary.AttemptInfo = &sparkv1.AttemptInfo{
		ID: attemptInfoID(m), RestartCounter: m.Restarts.Total,
		FailureRestartCounter: m.Restarts.Failures, SchedulingFailureRestartCounter: m.Restarts.Refusals,
	}
}

// attemptInfoID is this API's number of the attempt that goes on or is over, or that is waited for: its first is 0, ours 1.
func attemptInfoID(m lifecycle.Memory) int64 {
	if m.Phase == lifecycle.Waiting {
		return int64(m.Attempt)
	}
	return int64(max(m.Attempt-1, 0))
}
