package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// SparkCluster keeps a standalone Spark cluster running: a master and workers, with a Service for either.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Namespaced,path=sparkclusters,singular=sparkcluster,shortName=sparkcluster
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Current State",type="string",JSONPath=".status.currentState.currentStateSummary"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.size() <= 45 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",optionalOldSelf=true,message="metadata.name must be at most 45 characters: lower case letters, digits and '-', beginning with a letter and not ending with '-': the names of Services begin with it"
type SparkCluster struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name is a prefix of the names of what the cluster is made of.
	// +optional
	metav1.ObjectMeta `json:"metadata"`

	// What is wanted.
	// +optional
	Spec ClusterSpec `json:"spec,omitzero"`
	// What was seen last. Written by the operator alone.
	// +optional
	Status ClusterStatus `json:"status,omitzero"`

	// Why the spec could not be read: the field that exceeds a limit or does not fit its type, and the way out. The spec is empty then, and such an
	// object cannot be encoded, so that no update stores the empty spec. UnmarshalJSON writes this; it is no part of the stored object.
	OutOfBounds string `json:"-"`
	// The length of the JSON of the spec in bytes, or 0 if the spec was not read. UnmarshalJSON sets it; it is not stored.
	SpecBytes int `json:"-"`
}

// SparkClusterList is a list of SparkClusters.
//
// +kubebuilder:object:root=true
type SparkClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SparkCluster `json:"items"`
}

// ClusterSpec says how a standalone cluster runs.
type ClusterSpec struct {
	// The versions that the cluster is made of.
	RuntimeVersions RuntimeVersions `json:"runtimeVersions"`
	// How many workers there are.
	ClusterTolerations ClusterTolerations `json:"clusterTolerations"`
	// The master.
	// +optional
	MasterSpec *MasterSpec `json:"masterSpec,omitempty"`
	// The workers.
	// +optional
	WorkerSpec *WorkerSpec `json:"workerSpec,omitempty"`
	// Spark configuration of master and workers. {{SPARK_VERSION}} in names of images stands for runtimeVersions.sparkVersion.
	// +optional
	SparkConf map[string]string `json:"sparkConf,omitempty"`
}

// ClusterTolerations says what a cluster bears.
type ClusterTolerations struct {
	// How many workers there are.
	InstanceConfig WorkerInstanceConfig `json:"instanceConfig"`
}

// WorkerInstanceConfig says how many workers a cluster has. Where minWorkers is less than maxWorkers, an autoscaler chooses between them.
type WorkerInstanceConfig struct {
	// How many it has to begin with; where no autoscaler chooses, how many it has.
	InitWorkers int64 `json:"initWorkers"`
	// How many the autoscaler leaves at least, one in any case. With one or more, a PodDisruptionBudget keeps a worker from evictions.
	MinWorkers int64 `json:"minWorkers"`
	// How many the autoscaler makes at most. Where this is no more than minWorkers there is no autoscaler.
	MaxWorkers int64 `json:"maxWorkers"`
}

// MasterSpec is what the master's objects are built on.
type MasterSpec struct {
	MemberSpec `json:",inline"`
}

// WorkerSpec is what the workers' objects are built on.
type WorkerSpec struct {
	MemberSpec `json:",inline"`

	// The workers' autoscaler (autoscaling/v2), kept as it was written: its metrics and its behavior. Bounds and target are the operator's. Default:
	// 30 % of the CPU that a worker's container asks for, a worker more a minute and one less in ten at most.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	HorizontalPodAutoscalerSpec *runtime.RawExtension `json:"horizontalPodAutoscalerSpec,omitempty" bounds:"as=HorizontalPodAutoscalerSpec"`
}

// MemberSpec is what master and workers have in common.
type MemberSpec struct {
	// The StatefulSet's spec (apps/v1), kept as it was written.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	StatefulSetSpec *runtime.RawExtension `json:"statefulSetSpec,omitempty" bounds:"as=StatefulSetSpec"`
	// The StatefulSet's labels and annotations.
	// +optional
	StatefulSetMetadata *ObjectMetadata `json:"statefulSetMetadata,omitempty"`
	// The Service's spec, kept as it was written. It is headless; its own selector and ports are added.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	ServiceSpec *runtime.RawExtension `json:"serviceSpec,omitempty" bounds:"as=ServiceSpec"`
	// The Service's labels and annotations.
	// +optional
	ServiceMetadata *ObjectMetadata `json:"serviceMetadata,omitempty"`
}

// ClusterStateSummary is the state of a cluster.
//
// +kubebuilder:validation:Enum=Submitted;SchedulingFailure;RunningHealthy;Failed;ResourceReleased
type ClusterStateSummary string

// The states of a cluster.
const (
	ClusterSubmitted         ClusterStateSummary = "Submitted"         // seen, not running yet
	ClusterSchedulingFailure ClusterStateSummary = "SchedulingFailure" // its objects could not be made
	ClusterRunningHealthy    ClusterStateSummary = "RunningHealthy"    // master and enough workers run
	ClusterFailed            ClusterStateSummary = "Failed"            // it does not run any more; it may come back
	ClusterResourceReleased  ClusterStateSummary = "ResourceReleased"  // over, nothing is left
)

// ClusterStatus is what the operator saw and did last.
type ClusterStatus struct {
	// The state that the cluster is in.
	// +optional
	CurrentState *ClusterState `json:"currentState,omitempty"`
	// The states that it went through, by a number that grows, written in decimal.
	// +optional
	StateTransitionHistory map[string]ClusterState `json:"stateTransitionHistory,omitempty"`
	// The current attempt.
	// +optional
	CurrentAttemptSummary *ClusterAttemptSummary `json:"currentAttemptSummary,omitempty"`
	// The attempt before it.
	// +optional
	PreviousAttemptSummary *ClusterAttemptSummary `json:"previousAttemptSummary,omitempty"`

	// Conditions: Progressing, ObjectsApplied, and in the common form Ready, Reconciling, Stalled, Degraded, Failed. Known to this operator alone.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// The generation of the resource that this status is about. Known to this operator alone.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// The master. Known to this operator alone.
	// +optional
	Masters *MemberCounts `json:"masters,omitempty"`
	// The workers. Known to this operator alone.
	// +optional
	Workers *MemberCounts `json:"workers,omitempty"`
	// What the operator must remember from one decision to the next. Not for users: its form may change in any release.
	// +optional
	Operator *ClusterOperatorStatus `json:"operator,omitempty"`
}

// ClusterState is a state of a cluster, since when, and why.
type ClusterState struct {
	// The state.
	// +optional
	CurrentStateSummary ClusterStateSummary `json:"currentStateSummary,omitempty"`
	// When it was entered, as RFC 3339 has it, with fractions of a second.
	// +optional
	LastTransitionTime string `json:"lastTransitionTime,omitempty"`
	// Why, in words.
	// +optional
	Message string `json:"message,omitempty"`
}

// ClusterAttemptSummary is about one attempt.
type ClusterAttemptSummary struct {
	// The attempt's number.
	// +optional
	AttemptInfo *ClusterAttemptInfo `json:"attemptInfo,omitempty"`
	// The states that it went through.
	// +optional
	StateTransitionHistory map[string]ClusterState `json:"stateTransitionHistory,omitempty"`
}

// ClusterAttemptInfo is an attempt's number, and how many restarts led to it.
type ClusterAttemptInfo struct {
	// Number of the attempt, from 0.
	// +optional
	ID int64 `json:"id"`
	// How many restarts led to it.
	// +optional
	RestartCounter int64 `json:"restartCounter"`
}

// MemberCounts counts the pods of a role by state.
type MemberCounts struct {
	// How many are wanted.
	// +optional
	Desired int32 `json:"desired,omitempty"`
	// How many wait for a node, an image or their start.
	// +optional
	Pending int32 `json:"pending,omitempty"`
	// How many run.
	// +optional
	Running int32 `json:"running,omitempty"`
	// How many of these are ready.
	// +optional
	Ready int32 `json:"ready,omitempty"`
	// How many failed, or are on nodes that do not answer.
	// +optional
	Failed int32 `json:"failed,omitempty"`
}

// ClusterOperatorStatus is what the operator must remember about a cluster and cannot observe again.
type ClusterOperatorStatus struct {
	// Phase of the life cycle, finer than currentState.
	// +optional
	Phase string `json:"phase,omitempty"`
	// When the phase was entered.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	Since *metav1.MicroTime `json:"since,omitempty"`
	// Generation of the spec that the cluster is brought to. It is an earlier one than the resource's while nothing can be made of that.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// Whether another operator made the cluster and nobody edited it since: its pods are left as they are.
	// +optional
	Adopted bool `json:"adopted,omitempty"`
	// Since when all objects stand, or since when a cluster that runs is brought to another spec.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	BegunAt *metav1.MicroTime `json:"begunAt,omitempty"`
	// When all pods were of that spec and ready. Absent until they are.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	CompleteAt *metav1.MicroTime `json:"completeAt,omitempty"`
	// Why, or what the phase waits for.
	// +optional
	Cause *OperatorCause `json:"cause,omitempty"`
}
