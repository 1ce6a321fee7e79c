package apache

import (
	"slices"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// EventSource is the source component of Events about this API's custom resources. It is the name that the Apache Spark
// project's operator uses, so that filters of its users go on to work.
const EventSource = "spark-kubernetes-operator"

// warningStates are the states whose Events have the type Warning, as in the Apache Spark project's operator.
var warningStates = []string{
	string(sparkv1.ApplicationSchedulingFailure), // of clusters too
	string(sparkv1.ApplicationFailed),            // of clusters too
	string(sparkv1.ApplicationDriverEvicted),
	string(sparkv1.ApplicationDriverStartTimedOut),
	string(sparkv1.ApplicationDriverReadyTimedOut),
	string(sparkv1.ApplicationExecutorsStartTimedOut),
	string(sparkv1.ApplicationRunningWithBelowThresholdExecutors),
	string(sparkv1.ApplicationTerminatedWithoutReleaseResources),
}

// normalReasons are the reasons of notices whose Events have the type Normal, because they require no action of the
// user.
var normalReasons = append([]string{ReasonSuspendHeld}, dialect.QueueNews...)

// Reasons of Events about passes that fail, as in the Apache Spark project's operator.
const (
	eventReconcileError = "ReconcileError"
	eventCleanupError   = "CleanupError"         // after the deletion of the custom resource
	eventReleaseFailed  = "SuspendReleaseFailed" // while a suspension deletes objects
	eventCheckFailed    = "SuspendCheckFailed"   // before it is known whether a suspended resource has been started
	eventStatusFailed   = "StatusUpdateFailed"
)

// FailureReason returns the reason of an Event about a failed pass over a custom resource in a phase. The argument
// status is true if the write of the status failed.
func FailureReason(phase lifecycle.Phase, hold Hold, deleting, status bool) string {
	switch {
	case status:
		return eventStatusFailed
	case deleting:
		return eventCleanupError
	case phase == lifecycle.Suspending:
		return eventReleaseFailed
	case hold.Cause != nil && (phase == lifecycle.New || phase == lifecycle.Waiting):
		return eventCheckFailed
	}
	return eventReconcileError
}

// Entered returns the notice that a custom resource has entered a state. Its Event has the name of the state as its
// reason, and the message of the state as its message.
func Entered(state, message string) lifecycle.Notice {
	return lifecycle.Notice{Part: lifecycle.State, Cause: lifecycle.Cause{Reason: state, Message: message}}
}

// NoticeEvent returns the Event for a notice. The second result is false if the notice belongs to one of the kinds.
func NoticeEvent(n lifecycle.Notice) (dialect.Event, bool) {
	switch {
	case n.Part == lifecycle.State && slices.Contains(warningStates, n.Cause.Reason):
		return dialect.Warning(n.Cause.Reason, "%s", n.Cause.Message)
	case n.Part == lifecycle.State, n.Part == lifecycle.Application && slices.Contains(normalReasons, n.Cause.Reason):
		return dialect.Normal(n.Cause.Reason, "%s", n.Cause.Message)
	}
	return dialect.Event{}, false
}
