package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
)

// ApplicationStateSummary is the state of an application.
//
// +kubebuilder:validation:Enum=Submitted;ScheduledToRestart;DriverRequested;DriverStarted;DriverReady;InitializedBelowThresholdExecutors;RunningHealthy;RunningWithPartialCapacity;RunningWithBelowThresholdExecutors;DriverStartTimedOut;ExecutorsStartTimedOut;DriverReadyTimedOut;Succeeded;Failed;SchedulingFailure;DriverEvicted;ResourceReleased;TerminatedWithoutReleaseResources
type ApplicationStateSummary string

// The states of an application.
const (
	ApplicationSubmitted                          ApplicationStateSummary = "Submitted"                          // seen, nothing made yet
	ApplicationScheduledToRestart                 ApplicationStateSummary = "ScheduledToRestart"                 // waits for its next attempt
	ApplicationDriverRequested                    ApplicationStateSummary = "DriverRequested"                    // the driver's objects are made
	ApplicationDriverStarted                      ApplicationStateSummary = "DriverStarted"                      // the driver's container runs
	ApplicationDriverReady                        ApplicationStateSummary = "DriverReady"                        // the driver's pod is ready
	ApplicationInitializedBelowThresholdExecutors ApplicationStateSummary = "InitializedBelowThresholdExecutors" // some executors run, fewer than it starts with
	ApplicationRunningHealthy                     ApplicationStateSummary = "RunningHealthy"                     // enough executors run
	ApplicationRunningWithPartialCapacity         ApplicationStateSummary = "RunningWithPartialCapacity"         // fewer executors run than it may have
	ApplicationRunningWithBelowThresholdExecutors ApplicationStateSummary = "RunningWithBelowThresholdExecutors" // fewer executors run than it must have
	ApplicationDriverStartTimedOut                ApplicationStateSummary = "DriverStartTimedOut"                // the driver did not start in time
	ApplicationExecutorsStartTimedOut             ApplicationStateSummary = "ExecutorsStartTimedOut"             // the executors did not start in time
	ApplicationDriverReadyTimedOut                ApplicationStateSummary = "DriverReadyTimedOut"                // the driver was not ready in time
	ApplicationSucceeded                          ApplicationStateSummary = "Succeeded"                          // the driver ended well
	ApplicationFailed                             ApplicationStateSummary = "Failed"                             // the driver ended badly, or the spec asks for what cannot be
	ApplicationSchedulingFailure                  ApplicationStateSummary = "SchedulingFailure"                  // the driver's objects could not be made
	ApplicationDriverEvicted                      ApplicationStateSummary = "DriverEvicted"                      // the driver was taken from its node
	ApplicationResourceReleased                   ApplicationStateSummary = "ResourceReleased"                   // over, nothing is left
	ApplicationTerminatedWithoutReleaseResources  ApplicationStateSummary = "TerminatedWithoutReleaseResources"  // over, its objects are kept
)

// ApplicationStatus is what the operator saw and did last.
type ApplicationStatus struct {
	// The state that the application is in.
	// +optional
	CurrentState *ApplicationState `json:"currentState,omitempty"`
	// The states that it went through, by a number that grows, written in decimal. All of the current attempt; of earlier ones where the operator
	// does not trim.
	// +optional
	StateTransitionHistory map[string]ApplicationState `json:"stateTransitionHistory,omitempty"`
	// The current attempt.
	// +optional
	CurrentAttemptSummary *ApplicationAttemptSummary `json:"currentAttemptSummary,omitempty"`
	// The attempt before it. Absent during the first.
	// +optional
	PreviousAttemptSummary *ApplicationAttemptSummary `json:"previousAttemptSummary,omitempty"`

	// Conditions in the common form: Ready, Reconciling, Stalled, Submitted, Running, Degraded, Succeeded, Failed, SpecEdited, Exposed. Known to
	// this operator alone.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// The generation of the resource that this status is about. Known to this operator alone.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// How many executors are in which state. Known to this operator alone.
	// +optional
	Executors *ExecutorCounts `json:"executors,omitempty"`
	// What the operator must remember from one decision to the next. Not for users: its form may change in any release.
	// +optional
	Operator *OperatorStatus `json:"operator,omitempty"`
}

// ApplicationState is a state of an application, since when, and why.
type ApplicationState struct {
	// The state.
	// +optional
	CurrentStateSummary ApplicationStateSummary `json:"currentStateSummary,omitempty"`
	// When it was entered, as RFC 3339 has it, with fractions of a second.
	// +optional
	LastTransitionTime string `json:"lastTransitionTime,omitempty"`
	// Why, in words.
	// +optional
	Message string `json:"message,omitempty"`
	// The status of the driver's pod at that time, where it tells why. It holds no null.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	LastObservedDriverStatus *runtime.RawExtension `json:"lastObservedDriverStatus,omitempty"`
}

// ApplicationAttemptSummary is about one attempt.
type ApplicationAttemptSummary struct {
	// The attempt's number and what the restarts are counted by.
	// +optional
	AttemptInfo *AttemptInfo `json:"attemptInfo,omitempty"`
	// The states that it went through, of the previous attempt only and where the operator trims.
	// +optional
	StateTransitionHistory map[string]ApplicationState `json:"stateTransitionHistory,omitempty"`
}

// AttemptInfo is an attempt's number, and what its restarts are counted by.
type AttemptInfo struct {
	// Number of the attempt, from 0.
	// +optional
	ID int64 `json:"id"`
	// How many restarts there were, this one included, since the counters were set back.
	// +optional
	RestartCounter int64 `json:"restartCounter"`
	// Of these, how many after failures in a row.
	// +optional
	FailureRestartCounter int64 `json:"failureRestartCounter"`
	// Of these, how many after scheduling failures in a row.
	// +optional
	SchedulingFailureRestartCounter int64 `json:"schedulingFailureRestartCounter"`
}

// ExecutorCounts counts the current attempt's executors by state.
type ExecutorCounts = statusv1.ExecutorCounts

// OperatorStatus is what the operator must remember about an application and cannot observe again. What other fields of the status hold is
// stored there alone: the attempt's number is that of currentAttemptSummary, plus one.
type OperatorStatus struct {
	statusv1.OperatorStatus `json:",inline"`
	// Id of the current or last attempt (spark.app.id), computed at its launch.
	// +optional
	AttemptID string `json:"attemptID,omitempty"`
	// How many attempts had all of their objects made.
	// +optional
	Runs int32 `json:"runs,omitempty"`
	// How many times that was tried.
	// +optional
	Submissions int32 `json:"submissions,omitempty"`
	// While the driver's node does not answer, the phase that the driver was in before.
	// +optional
	Before string `json:"before,omitempty"`
}

// OperatorCause says why: a CamelCase reason for machines and a sentence for people.
type OperatorCause = statusv1.OperatorCause

// OperatorExecutors is what must be remembered of the current attempt's executors so that each is counted once, however many there are and
// whatever executorState has room for. Executors are told apart by their number, as ranges such as 1-40,42.
type OperatorExecutors = statusv1.OperatorExecutors

// OperatorTransition is one phase entered.
type OperatorTransition = statusv1.OperatorTransition
