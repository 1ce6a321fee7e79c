package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// SparkConnectState is the state of a server.
type SparkConnectState string

// The states of a server.
const (
	SparkConnectStateNew          SparkConnectState = ""
	SparkConnectStateProvisioning SparkConnectState = "Provisioning" // the server is being made, or made anew
	SparkConnectStateReady        SparkConnectState = "Ready"        // it takes sessions
	SparkConnectStateNotReady     SparkConnectState = "NotReady"     // it runs and does not take sessions, or is suspended
	SparkConnectStateFailed       SparkConnectState = "Failed"       // it cannot be made, or crashed and waits for its next start
)

// ConditionServerPodReady is the condition that tells whether the server's pod takes sessions. Its reason is its name, or ReasonServerPodNotReady
// where nothing better is known.
const (
	ConditionServerPodReady = "ServerPodReady"
	ReasonServerPodReady    = "ServerPodReady"
	ReasonServerPodNotReady = "ServerPodNotReady"
)

// SparkConnectStatus is what the operator saw and did last.
type SparkConnectStatus struct {
	// Conditions: ServerPodReady, ServiceReady, Progressing, Degraded, Exposed, and in the common form Ready, Reconciling, Stalled, Suspended.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Empty (new), Provisioning, Ready, NotReady or Failed.
	// +optional
	State SparkConnectState `json:"state,omitempty"`
	// The server.
	// +optional
	Server SparkConnectServerStatus `json:"server,omitzero"`
	// How many executors are in which phase: pending, running, succeeded, failed, unknown.
	// +optional
	Executors map[string]int `json:"executors,omitempty"`
	// When the first server was made.
	// +optional
	StartTime metav1.Time `json:"startTime,omitzero"`
	// When this status changed last.
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitzero"`

	// The generation of the resource that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// What the operator must remember from one decision to the next. Not for users: its form may change in any release.
	// +optional
	Operator *OperatorStatus `json:"operator,omitempty"`
}

// SparkConnectServerStatus describes the server.
type SparkConnectServerStatus struct {
	// Name of the server's pod.
	// +optional
	PodName string `json:"podName,omitempty"`
	// Address of the server's pod.
	// +optional
	PodIP string `json:"podIp,omitempty"`
	// Name of the server's Service: clients connect to sc://SERVICE.NAMESPACE:15002.
	// +optional
	ServiceName string `json:"serviceName,omitempty"`
	// Address of the web UI outside the cluster. Known to this operator alone.
	// +optional
	WebUIAddress string `json:"webUIAddress,omitempty"`
}

// OperatorStatus is what the operator must remember about a server and cannot observe again.
type OperatorStatus struct {
	v1beta2.OperatorStatus `json:",inline"`
	// Id of the current or last attempt.
	// +optional
	AttemptID string `json:"attemptID,omitempty"`
	// How many servers were started since the last edit, or since one that ran well for a while.
	// +optional
	Runs int32 `json:"runs,omitempty"`
	// How many times a server was tried to be made since then.
	// +optional
	Submissions int32 `json:"submissions,omitempty"`
}
