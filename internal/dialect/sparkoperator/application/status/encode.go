// Package status writes decisions about a SparkApplication into its status, and reads the operator's memory from there.
// memory.go has the memory, encode.go the states, conditions.go and version.go the conditions, executors.go the counts
// of executors, and events.go the events of a decision.
package status

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sparkoperator/spark-operator/api/bounds"
	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/overwritten"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/admit"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// Decision is a decision about an application, and what its status shows besides.
type Decision struct {
	App    *v1beta2.SparkApplication // as the user wrote it; the status is written here
	Merged *v1beta2.SparkApplication // a copy with the platform's defaults
	Wanted lifecycle.App
	Now    time.Time
	// MaxTrackedExecutors is the maximum number of entries in status.executorState.
	MaxTrackedExecutors int
	// Admission lists the mechanisms that can change executor pods at admission.
	Admission admit.Available
	// Configuration returns the Spark configuration of Merged.
	Configuration func() (*conf.Conf, error)
}

// Encode writes a decision into the status: the fields of this API, and the operator's memory. It returns notices about
// executors.
func (d Decision) Encode(plan lifecycle.Plan, seen lifecycle.Observed) (notices []lifecycle.Notice) {
	app := d.App
	s, m := &app.Status, plan.Next

	known, podName := s.SparkApplicationID, s.DriverInfo.PodName
	if s.SubmissionID != m.AttemptID || !hasAttempt(m) {
		s.ExecutorState, s.Executors, known = nil, nil, "" // these values belong to an earlier attempt
		if s.Operator != nil {
			s.Operator.Executors = nil
		}

		meta.RemoveStatusCondition(&s.Conditions, ConditionSparkVersionMismatch)
		meta.RemoveStatusCondition(&s.Conditions, overwritten.Condition)
	}

	SetMemory(s, m)
	s.Operator.History = dialect.History(s.Operator.History, plan.Transitions)
	s.ObservedGeneration = app.Generation
	s.AppState = v1beta2.ApplicationState{State: stateOf(s.AppState.State, m, seen), ErrorMessage: errorMessage(m)}

	s.SparkApplicationID, s.DriverInfo.PodName = "", ""
	if hasAttempt(m) {
		s.SparkApplicationID, s.DriverInfo.PodName = applicationID(m, d.Wanted, seen, known), driverPodName(d.Merged, podName)
		if driver := seen.Driver(m.Attempt); driver != nil {
			s.DriverInfo.PodName = driver.Name
		}

		notices = trackExecutors(s, m, seen.Executors, seen.UncountedExecutors, d.MaxTrackedExecutors)
	}

	mismatch := versionMismatch(app, m, seen)
	notices = append(notices, mismatchNotice(s, m.Attempt, mismatch)...)
	d.encodeConditions(m, mismatch)
	return notices
}

// applicationID returns Spark's application id of an attempt. This is the id of the attempt's driver if the driver has
// one. Otherwise it is the id in the status (the argument known). If the status contains none, the operator computes
// the id. If spark-submit creates the driver, spark-submit generates the id, so the result is "" until the driver
// exists.
func applicationID(m lifecycle.Memory, wanted lifecycle.App, seen lifecycle.Observed, known string) string {
	if driver := seen.Driver(m.Attempt); driver != nil && driver.AppID != "" {
		return driver.AppID
	}

	if known != "" || wanted.Submitter != nil || seen.Submitter(m.Attempt) != nil {
		return known
	}
	return naming.AppID(m.AttemptID)
}

// driverPodName returns the name of the driver pod. If the spec could not be read, it returns the stored name (known).
func driverPodName(app *v1beta2.SparkApplication, known string) string {
	if app.OutOfBounds != "" && known != "" {
		return known
	}
	return bounds.Line(naming.DriverPodName(app)) // an invalid name, which no pod has, is shown too
}

// hasAttempt reports whether the status contains the fields that describe an attempt, such as its driver's name. It
// contains them while an attempt runs and after it has finished, but not while its objects are being deleted.
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

// stateOf returns the state of an application.
//
// If the driver's node does not respond and Kubernetes still reports the driver pod's last phase, stateOf returns the
// stored state (before) instead of UNKNOWN. The reason is that tools of this API, such as the sensor of Airflow's
// provider, take UNKNOWN for a failure and start another run, although the driver may still be running. In this case
// conditions and events report the lost node.
func stateOf(before v1beta2.ApplicationStateType, m lifecycle.Memory, seen lifecycle.Observed) v1beta2.ApplicationStateType {
	driver := seen.Driver(m.Attempt)
	if m.Phase != lifecycle.Unknown || driver != nil && driver.Phase == lifecycle.DriverUnknown && driver.NodeLostSince.IsZero() {
		return state(m)
	}

	switch before {
	case v1beta2.ApplicationStateSubmitted, v1beta2.ApplicationStateRunning:
		return before
	}
	return state(m)
}

// state returns the state of this API that corresponds to the operator's memory.
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

// endingState returns the state of an attempt that has ended, while its cleanup or its retry is still to come.
func endingState(o lifecycle.Outcome) v1beta2.ApplicationStateType {
	switch o {
	case lifecycle.Succeeded:
		return v1beta2.ApplicationStateSucceeding
	case lifecycle.Refused:
		return v1beta2.ApplicationStateFailedSubmission
	}
	return v1beta2.ApplicationStateFailing
}

// errorMessage returns the cause of a failure. While the driver only waits, errorMessage returns an empty text, because
// tools of this API take any text in this field for a failure.
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

// notSubmitted returns the prefix of errorMessage for a submission that spark-submit failed to make. Tools of this API
// look for this prefix. Conditions and events do not have it. The result is empty for any other failure, if no
// spark-submit ran, and if another operator wrote the message with the prefix.
func notSubmitted(m lifecycle.Memory) string {
	const prefix = "failed to run spark-submit: "

	text := m.Cause.Message
	if m.Outcome != lifecycle.Refused || m.Cause.Reason == lifecycle.ReasonInvalid || !strings.Contains(text, "spark-submit") || strings.HasPrefix(text, prefix) {
		return ""
	}
	return prefix
}
