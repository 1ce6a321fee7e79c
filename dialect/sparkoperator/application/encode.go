package application

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// encode writes a decision into the status: what this API's readers expect, and what must be remembered. It returns what became known of
// executors.
func (d Dialect) encode(app *v1beta2.SparkApplication, wanted lifecycle.App, plan lifecycle.Plan, seen lifecycle.Observed, now time.Time) (news []lifecycle.Notice) {
	s, m := &app.Status, plan.Next
	known, podName := s.SparkApplicationID, s.DriverInfo.PodName
	if s.SubmissionID != m.AttemptID || !hasAttempt(m) {
		s.ExecutorState, s.Executors, known = nil, nil, "" // of an earlier attempt
		if s.Operator != nil {
			s.Operator.Executors = nil
		}
		meta.RemoveStatusCondition(&s.Conditions, ConditionSparkVersionMismatch)
	}
	encodeMemory(s, m)
	s.Operator.History = dialect.History(s.Operator.History, plan.Trail)
	s.ObservedGeneration = app.Generation
	s.AppState = v1beta2.ApplicationState{State: stateOf(s.AppState.State, m, seen), ErrorMessage: errorMessage(m)}
	s.SparkApplicationID, s.DriverInfo.PodName = "", ""
	if hasAttempt(m) {
		s.SparkApplicationID, s.DriverInfo.PodName = applicationID(m, wanted, seen, known), driverPodName(app, podName)
		if driver := seen.Driver(m.Attempt); driver != nil {
			s.DriverInfo.PodName = driver.Name
		}
		news = trackExecutors(s, m, seen.Executors, seen.Gone, d.MaxTrackedExecutors)
	}
	mismatch := versionMismatch(app, m, seen)
	news = append(news, mismatchNews(s, m.Attempt, mismatch)...)
	encodeConditions(app, wanted, m, mismatch, now)
	return news
}

// applicationID is Spark's id of an attempt: what its driver says, else what was known of it, else what the operator gives it. Spark-submit makes
// one of its own, which nobody knows before there is a driver.
func applicationID(m lifecycle.Memory, wanted lifecycle.App, seen lifecycle.Observed, known string) string {
	if driver := seen.Driver(m.Attempt); driver != nil && driver.AppID != "" {
		return driver.AppID
	}
	if known != "" || wanted.Submitter != nil || seen.Submitter(m.Attempt) != nil {
		return known
	}
	return appID(m.AttemptID)
}

// driverPodName is the name of the driver's pod; the one that is known, of a spec that could not be read.
func driverPodName(app *v1beta2.SparkApplication, known string) string {
	if app.OutOfBounds != "" && known != "" {
		return known
	}
	return DriverPodName(app)
}

// encodeMemory stores a memory so that decodeMemory reads back the same.
func encodeMemory(s *v1beta2.SparkApplicationStatus, m lifecycle.Memory) {
	if s.Operator == nil {
		s.Operator = &v1beta2.OperatorStatus{}
	}
	s.SubmissionID, s.ExecutionAttempts, s.SubmissionAttempts = m.AttemptID, m.Runs, m.Submissions
	s.LastSubmissionAttemptTime, s.TerminationTime = metav1.NewTime(m.SubmittedAt), metav1.NewTime(m.EndedAt)
	dialect.Remember(s.Operator, m)
}

// hasAttempt reports whether there is an attempt to speak of: one that goes on or has ended, not one that is being cleared away.
func hasAttempt(m lifecycle.Memory) bool {
	if m.AttemptID == "" {
		return false
	}
	switch m.Phase {
	case lifecycle.Waiting:
		return !m.NextAttempt.IsZero()
	case lifecycle.New, lifecycle.Suspended, lifecycle.Resuming, lifecycle.Editing:
		return false
	}
	return true
}

// stateOf is state, but for a node that does not answer while Kubernetes goes on to call the pod what it was: before is kept then, the state stored
// last. Readers of this API take UNKNOWN for a failure and start another run (the sensor of Airflow's provider does), beside a driver that may go on.
// Conditions and events tell of the node.
func stateOf(before v1beta2.ApplicationStateType, m lifecycle.Memory, seen lifecycle.Observed) v1beta2.ApplicationStateType {
	driver := seen.Driver(m.Attempt)
	if m.Phase != lifecycle.Unknown || driver != nil && driver.Phase == lifecycle.DriverUnknown && driver.SilentSince.IsZero() {
		return state(m)
	}
	switch before {
	case v1beta2.ApplicationStateSubmitted, v1beta2.ApplicationStateRunning:
		return before
	}
	return state(m)
}

// state is the word of this API for where an application stands.
func state(m lifecycle.Memory) v1beta2.ApplicationStateType {
	switch m.Phase {
	case lifecycle.New:
		return v1beta2.ApplicationStateNew
	case lifecycle.Waiting:
		if m.NextAttempt.IsZero() && m.Outcome != lifecycle.Refused {
			return v1beta2.ApplicationStatePendingRerun
		}
		return endingState(m.Outcome)
	case lifecycle.Launched:
		return v1beta2.ApplicationStateSubmitted
	case lifecycle.Started, lifecycle.Ready, lifecycle.Scaling, lifecycle.Running:
		return v1beta2.ApplicationStateRunning
	case lifecycle.Ended:
		return endingState(m.Outcome)
	case lifecycle.Retained, lifecycle.Done:
		if m.Outcome == lifecycle.Succeeded {
			return v1beta2.ApplicationStateCompleted
		}
		return v1beta2.ApplicationStateFailed
	case lifecycle.Suspending:
		return v1beta2.ApplicationStateSuspending
	case lifecycle.Suspended:
		return v1beta2.ApplicationStateSuspended
	case lifecycle.Resuming:
		return v1beta2.ApplicationStateResuming
	case lifecycle.Editing:
		return v1beta2.ApplicationStateInvalidating
	}
	return v1beta2.ApplicationStateUnknown
}

// endingState is the state of an attempt that is over while something still waits.
func endingState(o lifecycle.Outcome) v1beta2.ApplicationStateType {
	switch o {
	case lifecycle.Succeeded:
		return v1beta2.ApplicationStateSucceeding
	case lifecycle.Refused:
		return v1beta2.ApplicationStateFailedSubmission
	}
	return v1beta2.ApplicationStateFailing
}

// errorMessage is the cause of a failure; a driver that only waits has none, since readers of this field take it for a failure.
func errorMessage(m lifecycle.Memory) string {
	if m.Phase.Live() || m.Outcome == lifecycle.Succeeded {
		return ""
	}
	switch m.Phase {
	case lifecycle.Ended, lifecycle.Retained, lifecycle.Done:
		return notSubmitted(m) + m.Cause.Message
	case lifecycle.Waiting:
		if !m.NextAttempt.IsZero() || m.Outcome == lifecycle.Refused {
			return notSubmitted(m) + m.Cause.Message
		}
	}
	return ""
}

// notSubmitted begins the message of a submission that failed with the words by which readers of this API have always found one, whoever submits.
// A spec that could never be submitted was refused before; conditions and events tell the cause alone.
func notSubmitted(m lifecycle.Memory) string {
	if m.Outcome != lifecycle.Refused || m.Cause.Reason == lifecycle.ReasonInvalid {
		return ""
	}
	return "failed to run spark-submit: "
}
