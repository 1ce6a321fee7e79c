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
	// Waiting for a node, an image or their start.
	// +optional
	Pending int32 `json:"pending,omitempty"`
	// Running.
	// +optional
	Running int32 `json:"running,omitempty"`
	// Ended well.
	// +optional
	Completed int32 `json:"completed,omitempty"`
	// Ended badly.
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// On nodes that do not answer.
	// +optional
	Unknown int32 `json:"unknown,omitempty"`
}

// MaxHistory is how many transitions OperatorStatus.History holds at most; the oldest go first.
const MaxHistory = 20

// OperatorStatus is what the operator must remember from one decision to the next and cannot observe again. It is stored with the rest
// of the status in one write. Times have microseconds, so that what was remembered is what is read. Where a field of the status that
// users know holds the same fact (submissionID, the attempt counters), the fact is stored there alone.
type OperatorStatus struct {
	// Version of the algorithm that specHash was made by. Another one than the operator's own: the spec counts as unchanged.
	// +optional
	HashVersion int32 `json:"hashVersion,omitempty"`
	// Hash of the spec that the current or last attempt was launched from, less what only steers the operator.
	// +optional
	SpecHash string `json:"specHash,omitempty"`
	// Phase of the life cycle, finer than applicationState.
	// +optional
	Phase string `json:"phase,omitempty"`
	// When the phase was entered.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	Since *metav1.MicroTime `json:"since,omitempty"`
	// Number of the current or last attempt, from 1; 0 before the first. Never reused.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// How many of executionAttempts a suspension stopped. They use up no retry.
	// +optional
	SuspendedRuns int32 `json:"suspendedRuns,omitempty"`
	// When the current or last attempt was submitted.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	SubmittedAt *metav1.MicroTime `json:"submittedAt,omitempty"`
	// When the driver pod lost the scheduling gates that held it up. Absent if none did.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	UngatedAt *metav1.MicroTime `json:"ungatedAt,omitempty"`
	// When the last attempt ended. Absent while one goes on.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	EndedAt *metav1.MicroTime `json:"endedAt,omitempty"`
	// When a waiting retry is due. Absent if none waits.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	NextAttemptTime *metav1.MicroTime `json:"nextAttemptTime,omitempty"`
	// Since when fewer executors exist than are wanted, and no other came. Absent while enough do.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	ShortSince *metav1.MicroTime `json:"shortSince,omitempty"`
	// How the attempt that ended last ended.
	// +optional
	Outcome string `json:"outcome,omitempty"`
	// Why it did, or what the current phase waits for.
	// +optional
	Cause *OperatorCause `json:"cause,omitempty"`
	// What the counts of status.executors rest on.
	// +optional
	Executors *OperatorExecutors `json:"executors,omitempty"`
	// The last phases entered, oldest first, at most MaxHistory.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	History []OperatorTransition `json:"history,omitempty"`
}

// OperatorExecutors is what must be remembered of the current attempt's executors so that each is counted once, however many there are and
// whatever executorState has room for. Executors are told apart by their number, as ranges such as 1-40,42.
type OperatorExecutors struct {
	// Those that were seen.
	// +optional
	Seen string `json:"seen,omitempty"`
	// Those that failed and whose pods are still there.
	// +optional
	Failed string `json:"failed,omitempty"`
	// Those that are on nodes that do not answer, or are being taken from their nodes: they failed when they are gone.
	// +optional
	Leaving string `json:"leaving,omitempty"`
	// How many failed and are gone.
	// +optional
	FailedAndGone int32 `json:"failedAndGone,omitempty"`
}

// OperatorCause says why: a CamelCase reason for machines and a sentence for people.
type OperatorCause struct {
	// One CamelCase word for machines.
	// +optional
	Reason string `json:"reason,omitempty"`
	// A sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
}

// OperatorTransition is one phase entered.
type OperatorTransition struct {
	// The phase.
	// +optional
	Phase string `json:"phase,omitempty"`
	// When it was entered.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	At *metav1.MicroTime `json:"at,omitempty"`
	// The attempt it belongs to.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// Why, as one CamelCase word.
	// +optional
	Reason string `json:"reason,omitempty"`
}
