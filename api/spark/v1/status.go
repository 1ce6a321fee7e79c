package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
)

// ApplicationStateSummary is the state of an application.
//
// +kubebuilder:validation:Enum=Submitted;ScheduledToRestart;DriverRequested;DriverStarted;DriverReady;InitializedBelowThresholdExecutors;RunningHealthy;RunningWithPartialCapacity;RunningWithBelowThresholdExecutors;DriverStartTimedOut;ExecutorsStartTimedOut;DriverReadyTimedOut;Succeeded;Failed;SchedulingFailure;DriverEvicted;ResourceReleased;TerminatedWithoutReleaseResources;Suspended
type ApplicationStateSummary string

// The states of an application.
const (
	// ApplicationSubmitted: the application is accepted, and no object is created yet.
	ApplicationSubmitted ApplicationStateSummary = "Submitted"
	// ApplicationScheduledToRestart: the application waits for its next attempt.
	ApplicationScheduledToRestart ApplicationStateSummary = "ScheduledToRestart"
	// ApplicationDriverRequested: the driver's objects are created.
	ApplicationDriverRequested ApplicationStateSummary = "DriverRequested"
	// ApplicationDriverStarted: the driver's container runs.
	ApplicationDriverStarted ApplicationStateSummary = "DriverStarted"
	// ApplicationDriverReady: the driver's pod is ready.
	ApplicationDriverReady ApplicationStateSummary = "DriverReady"
	// ApplicationInitializedBelowThresholdExecutors: some executors run, but fewer than initExecutors.
	ApplicationInitializedBelowThresholdExecutors ApplicationStateSummary = "InitializedBelowThresholdExecutors"
	// ApplicationRunningHealthy: enough executors run.
	ApplicationRunningHealthy ApplicationStateSummary = "RunningHealthy"
	// ApplicationRunningWithPartialCapacity: fewer executors run than maxExecutors.
	ApplicationRunningWithPartialCapacity ApplicationStateSummary = "RunningWithPartialCapacity"
	// ApplicationRunningWithBelowThresholdExecutors: fewer executors run than minExecutors.
	ApplicationRunningWithBelowThresholdExecutors ApplicationStateSummary = "RunningWithBelowThresholdExecutors"
	// ApplicationDriverStartTimedOut: the driver did not start in time.
	ApplicationDriverStartTimedOut ApplicationStateSummary = "DriverStartTimedOut"
	// ApplicationExecutorsStartTimedOut: the executors did not start in time.
	ApplicationExecutorsStartTimedOut ApplicationStateSummary = "ExecutorsStartTimedOut"
	// ApplicationDriverReadyTimedOut: the driver was not ready in time.
	ApplicationDriverReadyTimedOut ApplicationStateSummary = "DriverReadyTimedOut"
	// ApplicationSucceeded: the driver succeeded.
	ApplicationSucceeded ApplicationStateSummary = "Succeeded"
	// ApplicationFailed: the driver failed, or the spec is invalid.
	ApplicationFailed ApplicationStateSummary = "Failed"
	// ApplicationSchedulingFailure: the driver's objects could not be created.
	ApplicationSchedulingFailure ApplicationStateSummary = "SchedulingFailure"
	// ApplicationDriverEvicted: the driver was evicted from its node.
	ApplicationDriverEvicted ApplicationStateSummary = "DriverEvicted"
	// ApplicationResourceReleased: the application ended, and all its objects are deleted.
	ApplicationResourceReleased ApplicationStateSummary = "ResourceReleased"
	// ApplicationTerminatedWithoutReleaseResources: the application ended, and its objects are kept.
	ApplicationTerminatedWithoutReleaseResources ApplicationStateSummary = "TerminatedWithoutReleaseResources"
	// ApplicationSuspended: the attempt was stopped, and another one starts when the suspension is lifted.
	ApplicationSuspended ApplicationStateSummary = "Suspended"
)

// SuspendReason is the reason why an application or a cluster is in the state Suspended. In a state Suspended without a
// reason it is SpecSuspend.
//
// +kubebuilder:validation:Enum=KueueEviction;SpecSuspend
type SuspendReason string

// The reasons of the state Suspended.
const (
	KueueEviction SuspendReason = "KueueEviction" // Kueue took the quota back
	SpecSuspend   SuspendReason = "SpecSuspend"   // spec.suspend is true
)

// ApplicationStatus is the last observed state of an application.
type ApplicationStatus struct {
	// The state that the application is in, since when, and why.
	// +optional
	CurrentState *ApplicationState `json:"currentState,omitempty"`
	// The states that the application has been in, by an increasing decimal number. They include the states of earlier
	// attempts unless the operator trims the history.
	// +optional
	StateTransitionHistory map[string]ApplicationState `json:"stateTransitionHistory,omitempty"`
	// Number, restarts and states of the current attempt to run the application.
	// +optional
	CurrentAttemptSummary *ApplicationAttemptSummary `json:"currentAttemptSummary,omitempty"`
	// The attempt before the current one. Absent during the first attempt.
	// +optional
	PreviousAttemptSummary *ApplicationAttemptSummary `json:"previousAttemptSummary,omitempty"`

	// Conditions in the common form: Ready, Reconciling, Stalled, Submitted, Running, Degraded, Succeeded, Failed,
	// SpecEdited, Exposed. Specific to this operator.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// The generation of the resource that this status describes. Specific to this operator.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// The number of executors by state. Specific to this operator.
	// +optional
	Executors *ExecutorCounts `json:"executors,omitempty"`
	// State that the operator must remember from one decision to the next. Not for users: its form may change in any
	// release.
	// +optional
	Operator *OperatorStatus `json:"operator,omitempty"`
}

// ApplicationState is a state of an application, with its time and its reason.
type ApplicationState struct {
	// One of the states of Apache Spark's operator, such as Submitted, RunningHealthy, Succeeded or Failed.
	// +optional
	CurrentStateSummary ApplicationStateSummary `json:"currentStateSummary,omitempty"`
	// Why the state is Suspended.
	// +optional
	SuspendReason SuspendReason `json:"suspendReason,omitempty"`
	// When the application entered the state, in the form of RFC 3339 with fractions of a second.
	// +optional
	LastTransitionTime string `json:"lastTransitionTime,omitempty"`
	// Why the application is in this state and what to do, as a sentence.
	// +optional
	Message string `json:"message,omitempty"`
	// The status of the driver's pod when the application entered the state, if it explains the state. It contains no
	// null.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	LastObservedDriverStatus *runtime.RawExtension `json:"lastObservedDriverStatus,omitempty"`
}

// ApplicationAttemptSummary describes one attempt to run an application.
type ApplicationAttemptSummary struct {
	// The attempt's number and the counters of restarts.
	// +optional
	AttemptInfo *AttemptInfo `json:"attemptInfo,omitempty"`
	// The states of the attempt. Set for the previous attempt only, and only if the operator trims the history.
	// +optional
	StateTransitionHistory map[string]ApplicationState `json:"stateTransitionHistory,omitempty"`
}

// AttemptInfo contains an attempt's number and the counters of restarts.
type AttemptInfo struct {
	// Number of the attempt, from 0.
	// +optional
	ID int64 `json:"id"`
	// The number of restarts since the counters were reset, including the restart that began this attempt.
	// +optional
	RestartCounter int64 `json:"restartCounter"`
	// The number of these restarts that followed consecutive failures.
	// +optional
	FailureRestartCounter int64 `json:"failureRestartCounter"`
	// The number of these restarts that followed consecutive scheduling failures.
	// +optional
	SchedulingFailureRestartCounter int64 `json:"schedulingFailureRestartCounter"`
}

// ExecutorCounts counts the current attempt's executors by state.
type ExecutorCounts = statusv1.ExecutorCounts

// OperatorStatus contains the facts about an application that the operator must remember because it cannot observe them
// again. Facts that another field of the status contains are stored only there. For example, the attempt's number is
// stored only in currentAttemptSummary, where it counts from 0.
type OperatorStatus struct {
	statusv1.OperatorStatus `json:",inline"`
	// Id of the current or last attempt (spark.app.id), computed at its launch.
	// +optional
	AttemptID string `json:"attemptID,omitempty"`
	// The number of attempts whose objects were all created.
	// +optional
	Runs int32 `json:"runs,omitempty"`
	// The number of tries to create an attempt's objects.
	// +optional
	Submissions int32 `json:"submissions,omitempty"`
	// The phase that the driver was in before its node stopped answering. Set only while the node does not answer.
	// +optional
	Before string `json:"before,omitempty"`
	// The largest threshold of applicationTolerations.instanceConfig that the running executors of the attempt reached.
	// Set only if initExecutors is 0.
	// +optional
	EnoughExecutors int32 `json:"enoughExecutors,omitempty"`
}

// OperatorCause is a reason, as one CamelCase word for programs and as a sentence for people.
type OperatorCause = statusv1.OperatorCause

// OperatorExecutors contains the facts about the current attempt's executors that the operator must remember to count
// each executor once, even if executorState does not have room for all of them. It identifies executors by their
// numbers, as ranges such as 1-40,42.
type OperatorExecutors = statusv1.OperatorExecutors

// OperatorTransition is one change of phase.
type OperatorTransition = statusv1.OperatorTransition

// OperatorDefaults identifies the platform defaults from which objects were rendered.
type OperatorDefaults = statusv1.OperatorDefaults
