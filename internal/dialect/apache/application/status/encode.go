package status

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/dialect/executors"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Decision is a decision about an application, with its input.
type Decision struct {
	Wanted lifecycle.App
	Seen   lifecycle.Observed
	Plan   lifecycle.Plan
	At     time.Time
	// Trim keeps only the states of the current attempt in the history.
	Trim bool
}

// Encode writes a decision into the status: the states of this API, and the operator's memory. It returns notices about
// entered states, about executors and about an edit of the spec. In the phase New it writes at most the condition
// Ready, because tools take a state in the status as a sign that an operator has handled the application.
func Encode(app *sparkv1.SparkApplication, d Decision) (notices []lifecycle.Notice) {
	s, m := &app.Status, d.Plan.Next
	if m.Phase == lifecycle.New {
		waits := m.Cause
		if hold := d.Wanted.Hold; hold != nil {
			waits = *hold
		}

		if waits.Reason != "" {
			SetCondition(app, metav1.Condition{Type: dialect.ConditionReady, Status: metav1.ConditionFalse, Reason: waits.Reason, Message: waits.Message}, d.At)
		}
		return nil
	}

	edited := uncounted(app)
	notices = d.enterStates(app)

	if s.Operator != nil && s.Operator.Attempt != m.Attempt {
		s.Executors, s.Operator.Executors = nil, nil // the counts belong to an earlier attempt
	}

	remember(s, m)
	s.Operator.History = dialect.History(s.Operator.History, d.Plan.Transitions)

	var failed []lifecycle.Notice

	s.Executors, failed = executors.Count(&s.Operator.OperatorStatus, s.Executors, append(executors.Of(m, d.Seen.Executors), executors.Of(m, d.Seen.UncountedExecutors)...))
	s.ObservedGeneration = app.Generation
	setConditions(app, d.Wanted, m, d.At)
	ignored := dialect.EncodeQueueIgnored(&s.Conditions, m.Phase.Runs(), d.Seen.Quota, app.Generation, d.At)
	return slices.Concat(notices, failed, encodeEdit(app, d.Plan, edited, d.At), ignored)
}

// enterStates adds the states that a decision entered to the history. If the decision schedules another attempt,
// enterStates starts a new history for it. It returns a notice of each state, except of the first one, Submitted.
func (d Decision) enterStates(app *sparkv1.SparkApplication) (notices []lifecycle.Notice) {
	s, next := &app.Status, d.Plan.Next
	note := func() {
		notices = append(notices, apache.Entered(string(s.CurrentState.CurrentStateSummary), s.CurrentState.Message))
	}

	if len(d.Plan.Transitions) > 0 && Current(s) == "" {
		first := lifecycle.Transition{}
		enter(s, sparkv1.ApplicationSubmitted, message(sparkv1.ApplicationSubmitted, first, d.Wanted, next), submittedAt(app, d.At), nil)
	}

	for _, t := range d.Plan.Transitions {
		if t.To == lifecycle.Unknown {
			notices = append(notices, lostNode(app, t))
		}

		for _, state := range states(Current(s), t, d.Wanted) {
			if state == sparkv1.ApplicationScheduledToRestart || state == sparkv1.ApplicationSubmitted {
				rollOver(s, endedAttempt(s, t, next.Restarts), d.Trim)
			}

			enter(s, state, message(state, t, d.Wanted, next), t.At, driverSnapshot(state, d.Seen.Driver(t.Attempt)))

			if state == sparkv1.ApplicationSuspended {
				explainSuspension(s, t.Cause)
			}

			note()
		}
	}

	if suspendReason(s) == sparkv1.KueueEviction && dialect.Suspended(app.Spec.Suspend) {
		enter(s, sparkv1.ApplicationSuspended, message(sparkv1.ApplicationSuspended, lifecycle.Transition{}, d.Wanted, next), d.At, nil)
		note()
	}
	return notices
}

// endedAttempt returns the summary of the attempt after which a next attempt is scheduled. Usually the status contains
// this summary as the summary of its current attempt. If the attempt both started and ended in this decision, the
// status does not contain it. endedAttempt then computes the summary from the counters of restarts in the argument
// next. These counters already include the restart that is being scheduled, so endedAttempt subtracts it.
func endedAttempt(s *sparkv1.ApplicationStatus, t lifecycle.Transition, next lifecycle.Restarts) sparkv1.AttemptInfo {
	counted := int64(1)
	if t.To == lifecycle.Resuming {
		counted = 0 // a resume is no restart
	}

	over := sparkv1.AttemptInfo{
		ID: int64(max(t.Attempt-1, 0)), RestartCounter: max(next.Total-counted, 0),
		FailureRestartCounter: max(next.Failures-counted, 0), SchedulingFailureRestartCounter: max(next.Rejections-counted, 0),
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
	outcome, ended := Outcome(state)
	return ended && outcome != lifecycle.Succeeded
}
