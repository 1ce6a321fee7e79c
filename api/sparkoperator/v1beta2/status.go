package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
)

// SparkApplicationStatus is the last observed state of an application.
type SparkApplicationStatus struct {
	// Spark's id of the application, for example spark-4f3a..., read from its pods.
	// +optional
	SparkApplicationID string `json:"sparkApplicationId,omitempty"`
	// Id of the current or last attempt. It is computed from the application and the attempt, so it does not change
	// during an attempt.
	// +optional
	SubmissionID string `json:"submissionID,omitempty"`
	// When the last attempt was submitted. Absent before the first submission.
	// +nullable
	// +optional
	LastSubmissionAttemptTime metav1.Time `json:"lastSubmissionAttemptTime,omitzero"`
	// When the last run ended. Absent while a run is active.
	// +nullable
	// +optional
	TerminationTime metav1.Time `json:"terminationTime,omitzero"`
	// The pod of the current or last driver, and the addresses of its web UI.
	DriverInfo DriverInfo `json:"driverInfo"`
	// The application's state. Every status has it, although the state of a new application is empty: Argo CD's health
	// script ends in an error without it.
	// +optional
	AppState ApplicationState `json:"applicationState"`
	// States of executors by pod name. The number of entries is limited: for a large application they are a sample, and
	// executors has the full counts.
	// +optional
	ExecutorState map[string]statusv1.ExecutorState `json:"executorState,omitempty"`
	// The number of runs that were started since the last edit.
	// +optional
	ExecutionAttempts int32 `json:"executionAttempts,omitempty"`
	// The number of submissions since the last edit, failed ones included.
	// +optional
	SubmissionAttempts int32 `json:"submissionAttempts,omitempty"`

	// Conditions in the common form: Ready, Reconciling, Stalled, Submitted, Running, Degraded, Succeeded, Failed,
	// Suspended.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// The generation of the resource that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// The number of executors by state.
	// +optional
	Executors *ExecutorCounts `json:"executors,omitempty"`
	// State that the operator must remember from one decision to the next. Not for users: its form may change in any
	// release.
	// +optional
	Operator *OperatorStatus `json:"operator,omitempty"`
}

// DriverInfo describes the driver of the current or last attempt.
type DriverInfo struct {
	// Name of the web UI's Service. Empty if the driver has none.
	// +optional
	WebUIServiceName string `json:"webUIServiceName,omitempty"`
	// Port of the web UI's Service.
	// +optional
	WebUIPort int32 `json:"webUIPort,omitempty"`
	// Address of the web UI inside the cluster, as address:port.
	// +optional
	WebUIAddress string `json:"webUIAddress,omitempty"`
	// Name of the web UI's Ingress or route.
	// +optional
	WebUIIngressName string `json:"webUIIngressName,omitempty"`
	// Address of the web UI outside the cluster.
	// +optional
	WebUIIngressAddress string `json:"webUIIngressAddress,omitempty"`
	// Name of the driver pod of the current or last attempt.
	// +optional
	PodName string `json:"podName,omitempty"`
}

// ApplicationStateType is the state of an application.
type ApplicationStateType string

// The states of an application.
const (
	ApplicationStateNew              ApplicationStateType = ""
	ApplicationStateSubmitted        ApplicationStateType = "SUBMITTED"
	ApplicationStateRunning          ApplicationStateType = "RUNNING"
	ApplicationStateCompleted        ApplicationStateType = "COMPLETED"
	ApplicationStateFailed           ApplicationStateType = "FAILED"
	ApplicationStateFailedSubmission ApplicationStateType = "SUBMISSION_FAILED"
	ApplicationStatePendingRerun     ApplicationStateType = "PENDING_RERUN"
	ApplicationStateInvalidating     ApplicationStateType = "INVALIDATING"
	ApplicationStateSucceeding       ApplicationStateType = "SUCCEEDING"
	ApplicationStateFailing          ApplicationStateType = "FAILING"
	ApplicationStateSuspending       ApplicationStateType = "SUSPENDING"
	ApplicationStateSuspended        ApplicationStateType = "SUSPENDED"
	ApplicationStateResuming         ApplicationStateType = "RESUMING"
	ApplicationStateUnknown          ApplicationStateType = "UNKNOWN"
)

// ApplicationState is the state of an application and its error message, if any.
type ApplicationState struct {
	// Empty (new), SUBMITTED, RUNNING, COMPLETED, FAILED, SUBMISSION_FAILED, PENDING_RERUN, INVALIDATING, SUCCEEDING,
	// FAILING, SUSPENDING, SUSPENDED, RESUMING or UNKNOWN.
	State ApplicationStateType `json:"state"`
	// Why the application failed or cannot run, and what to do, as a sentence.
	// +optional
	ErrorMessage string `json:"errorMessage,omitempty"`
}

// DriverState is the state of a driver.
type DriverState string

// The states of a driver.
const (
	DriverStatePending   DriverState = "PENDING"
	DriverStateRunning   DriverState = "RUNNING"
	DriverStateCompleted DriverState = "COMPLETED"
	DriverStateFailed    DriverState = "FAILED"
	DriverStateUnknown   DriverState = "UNKNOWN"
)

// ExecutorState is the state of an executor.
type ExecutorState = statusv1.ExecutorState

// The states of an executor.
const (
	ExecutorStatePending   = statusv1.ExecutorStatePending
	ExecutorStateRunning   = statusv1.ExecutorStateRunning
	ExecutorStateCompleted = statusv1.ExecutorStateCompleted
	ExecutorStateFailed    = statusv1.ExecutorStateFailed
	ExecutorStateUnknown   = statusv1.ExecutorStateUnknown
)

// ExecutorCounts counts the current attempt's executors by state.
type ExecutorCounts = statusv1.ExecutorCounts

// MaxHistory is the maximum number of transitions in OperatorStatus.History. The oldest transitions are dropped first.
const MaxHistory = statusv1.MaxHistory

// OperatorStatus contains the facts that the operator must remember from one decision to the next because it cannot
// observe them again. The operator writes it together with the rest of the status. Times are stored with microseconds,
// so that a time does not change when it is stored and read again. Facts that another field of the status contains
// (submissionID, the attempt counters) are stored only there.
type OperatorStatus = statusv1.OperatorStatus

// OperatorExecutors contains the facts about the current attempt's executors that the operator must remember to count
// each executor once, even if executorState does not have room for all of them. It identifies executors by their
// numbers, as ranges such as 1-40,42.
type OperatorExecutors = statusv1.OperatorExecutors

// OperatorCause is a reason, as one CamelCase word for programs and as a sentence for people.
type OperatorCause = statusv1.OperatorCause

// OperatorTransition is one change of phase.
type OperatorTransition = statusv1.OperatorTransition
