package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// SparkConnectState is the state of a Spark Connect server.
type SparkConnectState string

// The states of a Spark Connect server.
const (
	// SparkConnectStateNew: the operator has not written a status yet.
	SparkConnectStateNew SparkConnectState = ""
	// SparkConnectStateProvisioning: the server is being created, or created again.
	SparkConnectStateProvisioning SparkConnectState = "Provisioning"
	// SparkConnectStateReady: the server accepts sessions.
	SparkConnectStateReady SparkConnectState = "Ready"
	// SparkConnectStateNotReady: the server runs but does not accept sessions, or it is suspended.
	SparkConnectStateNotReady SparkConnectState = "NotReady"
	// SparkConnectStateFailed: the server cannot be created, or it crashed and waits for its next start.
	SparkConnectStateFailed SparkConnectState = "Failed"
)

// ConditionServerPodReady is the condition that reports whether the server's pod accepts sessions. The reason of the
// condition is ReasonServerPodReady or, if the pod is not ready and no more specific reason is known,
// ReasonServerPodNotReady.
const (
	ConditionServerPodReady = "ServerPodReady"
	ReasonServerPodReady    = "ServerPodReady"
	ReasonServerPodNotReady = "ServerPodNotReady"
)

// SparkConnectStatus is the last observed state of a Spark Connect server.
type SparkConnectStatus struct {
	// Conditions: ServerPodReady, ServiceReady, Progressing, Degraded, Exposed, and in the common form Ready,
	// Reconciling, Stalled, Suspended.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Empty (new), Provisioning, Ready, NotReady or Failed.
	// +optional
	State SparkConnectState `json:"state,omitempty"`
	// The server's pod, and the addresses of the server.
	// +optional
	Server SparkConnectServerStatus `json:"server,omitzero"`
	// The number of executors by phase: pending, running, succeeded, failed, unknown.
	// +optional
	Executors map[string]int `json:"executors,omitempty"`
	// When the first server was created.
	// +optional
	StartTime metav1.Time `json:"startTime,omitzero"`
	// When this status last changed.
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitzero"`

	// The generation of the resource that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// State that the operator must remember from one decision to the next. Not for users: its form may change in any
	// release.
	// +optional
	Operator *OperatorStatus `json:"operator,omitempty"`
}

// SparkConnectServerStatus describes the server's pod and its addresses.
type SparkConnectServerStatus struct {
	// Name of the pod of the current or last server.
	// +optional
	PodName string `json:"podName,omitempty"`
	// IP address of the server's pod. Clients use the Service instead, because servers come and go.
	// +optional
	PodIP string `json:"podIp,omitempty"`
	// Name of the server's Service. Clients connect to sc://SERVICE.NAMESPACE:15002.
	// +optional
	ServiceName string `json:"serviceName,omitempty"`
	// Address of the web UI outside the cluster. Specific to this operator.
	// +optional
	WebUIAddress string `json:"webUIAddress,omitempty"`
}

// OperatorStatus contains the facts about a server that the operator must remember because it cannot observe them
// again.
type OperatorStatus struct {
	v1beta2.OperatorStatus `json:",inline"`
	// Id of the current or last attempt.
	// +optional
	AttemptID string `json:"attemptID,omitempty"`
	// The number of servers that were started since the last edit, or since a server ran well for a while.
	// +optional
	Runs int32 `json:"runs,omitempty"`
	// The number of tries to create a server since the last edit, or since a server ran well for a while.
	// +optional
	Submissions int32 `json:"submissions,omitempty"`
}
