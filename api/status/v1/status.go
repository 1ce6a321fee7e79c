package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ExecutorState is the state of an executor.
type ExecutorState string

// The states of an executor.
const (
	ExecutorStatePending   ExecutorState = "PENDING"
	ExecutorStateRunning   ExecutorState = "RUNNING"
	ExecutorStateCompleted ExecutorState = "COMPLETED"
	ExecutorStateFailed    ExecutorState = "FAILED"
	ExecutorStateUnknown   ExecutorState = "UNKNOWN"
)

// ExecutorCounts counts the current attempt's executors by state.
type ExecutorCounts struct {
	// Executors that wait for a node, an image or their start.
	// +optional
	Pending int32 `json:"pending,omitempty"`
	// Executors that run at the moment.
	// +optional
	Running int32 `json:"running,omitempty"`
	// Executors that ended without an error.
	// +optional
	Completed int32 `json:"completed,omitempty"`
	// Executors that ended with an error.
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// Executors on nodes that do not answer.
	// +optional
	Unknown int32 `json:"unknown,omitempty"`
}

// MaxHistory is the maximum number of transitions in OperatorStatus.History. The oldest transitions are dropped first.
const MaxHistory = 20

// OperatorStatus contains the facts that the operator must remember from one decision to the next because it cannot
// observe them again. The operator writes it together with the rest of the status. Times are stored with microseconds,
// so that a time does not change when it is stored and read again. Facts that another field of the status contains
// (submissionID, the attempt counters) are stored only there.
type OperatorStatus struct {
	// Version of the algorithm that computed specHash. If it differs from the operator's own version, the spec counts
	// as unchanged.
	// +optional
	HashVersion int32 `json:"hashVersion,omitempty"`
	// Hash of the spec from which the current or last attempt was launched, without the fields that only configure the
	// operator.
	// +optional
	SpecHash string `json:"specHash,omitempty"`
	// Digest of the last value of the annotation sparkoperator.dev/restart that was handled. A different value of the
	// annotation requests another restart.
	// +optional
	RestartRequest string `json:"restartRequest,omitempty"`
	// Phase of the life cycle, more detailed than applicationState.
	// +optional
	Phase string `json:"phase,omitempty"`
	// When the phase was entered.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	Since *metav1.MicroTime `json:"since,omitempty"`
	// Number of the current or last attempt, from 1. It is 0 before the first attempt. A number is never reused.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// How many of executionAttempts were stopped by a suspension. These do not count as retries.
	// +optional
	SuspendedRuns int32 `json:"suspendedRuns,omitempty"`
	// When the current or last attempt was submitted.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	SubmittedAt *metav1.MicroTime `json:"submittedAt,omitempty"`
	// When the scheduling gates of the driver pod, or later those of its executors, were removed. Absent if no gates were
	// removed.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	UngatedAt *metav1.MicroTime `json:"ungatedAt,omitempty"`
	// When the last attempt ended. Absent while an attempt is active.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	EndedAt *metav1.MicroTime `json:"endedAt,omitempty"`
	// When the next retry is due. Absent if no retry is due.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	NextAttemptTime *metav1.MicroTime `json:"nextAttemptTime,omitempty"`
	// Since when fewer executors exist than are wanted and no executor was added. Absent while enough executors exist.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	ShortSince *metav1.MicroTime `json:"shortSince,omitempty"`
	// The platform defaults from which the current or last attempt was rendered. Absent if the operator has none.
	// +optional
	Defaults *OperatorDefaults `json:"defaults,omitempty"`
	// Address of the page of the current or last attempt in the History Server. Absent without a known History
	// Server, and if the attempt writes no event log.
	// +optional
	HistoryServerURL string `json:"historyServerURL,omitempty"`
	// When the pods of the current or last attempt became ready for work.
	// +optional
	Start *OperatorStart `json:"start,omitempty"`
	// How the last finished attempt ended.
	// +optional
	Outcome string `json:"outcome,omitempty"`
	// Why the attempt ended with this outcome, or the wait reason of the current phase.
	// +optional
	Cause *OperatorCause `json:"cause,omitempty"`
	// Why the executor of the current or last attempt failed that was created last. Absent if none failed.
	// +optional
	ExecutorFailure *OperatorCause `json:"executorFailure,omitempty"`
	// When that executor was created. Its pod may be gone while those of earlier failed executors exist.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	FailedExecutorCreatedAt *metav1.MicroTime `json:"failedExecutorCreatedAt,omitempty"`
	// Where the logs of the last attempt are kept. Absent if the operator keeps none.
	// +optional
	Logs *OperatorLogs `json:"logs,omitempty"`
	// The basis of the counts in status.executors.
	// +optional
	Executors *OperatorExecutors `json:"executors,omitempty"`
	// Requests of the pods of all attempts, multiplied by time.
	// +optional
	Usage *OperatorUsage `json:"usage,omitempty"`
	// The last changes of phase, oldest first. The list has at most MaxHistory entries.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	History []OperatorTransition `json:"history,omitempty"`
}

// OperatorExecutors contains the facts about the current attempt's executors that the operator must remember to count
// each executor once, even if executorState does not have room for all of them. It identifies executors by their
// numbers, as ranges such as 1-40,42.
type OperatorExecutors struct {
	// Executors that the operator has observed.
	// +optional
	Seen string `json:"seen,omitempty"`
	// Executors that failed and whose pods still exist.
	// +optional
	Failed string `json:"failed,omitempty"`
	// Executors on nodes that do not answer, or that are being evicted. They count as failed when their pods no longer
	// exist.
	// +optional
	Leaving string `json:"leaving,omitempty"`
	// The number of executors that failed and whose pods no longer exist.
	// +optional
	FailedAndGone int32 `json:"failedAndGone,omitempty"`
}

// OperatorCause is a reason, as one CamelCase word for programs and as a sentence for people.
type OperatorCause struct {
	// One CamelCase word for programs.
	// +optional
	Reason string `json:"reason,omitempty"`
	// A sentence for people. About an end, it is one line of at most 200 characters.
	// +optional
	Message string `json:"message,omitempty"`
	// Advice about the cause of an end.
	// +optional
	Advice string `json:"advice,omitempty"`
	// The end of the log of the container that ended, without lines that explain nothing, at most 1 kB. No other field
	// repeats it. It is part of what the pod's status has.
	// +optional
	Log string `json:"log,omitempty"`
}

// OperatorLogs says where the logs of an attempt are kept, or why one of them is not.
type OperatorLogs struct {
	// Number of the attempt to which the logs belong, from 1.
	Attempt int32 `json:"attempt"`
	// Where the logs are: the URL of a folder in an object store, or configmap/NAME. It is for people. Programs compute
	// the place from the name and the UID.
	// +optional
	Place string `json:"place,omitempty"`
	// When the driver's log was kept. Absent before.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	KeptAt *metav1.MicroTime `json:"keptAt,omitempty"`
	// Why a log was not kept, as one CamelCase word.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Which log was not kept, why, and what to do.
	// +optional
	Message string `json:"message,omitempty"`
}

// OperatorTransition is one change of phase.
type OperatorTransition struct {
	// The phase of the life cycle that was entered.
	// +optional
	Phase string `json:"phase,omitempty"`
	// When the phase was entered.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	At *metav1.MicroTime `json:"at,omitempty"`
	// The attempt to which the phase belongs.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// The reason, as one CamelCase word.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// OperatorDefaults identifies the platform defaults from which objects were rendered.
type OperatorDefaults struct {
	// Version of the defaults: a digest of their content. It is also an annotation of the driver pod.
	Version string `json:"version"`
	// The part of the defaults that the operator needs after the launch, as JSON. It keeps a change of the defaults
	// from changing what already runs.
	// +optional
	Settings string `json:"settings,omitempty"`
}
