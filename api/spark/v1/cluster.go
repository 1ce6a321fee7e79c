package v1

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
)

// SparkCluster keeps a standalone Spark cluster running: a master and workers, each with a Service.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Namespaced,path=sparkclusters,singular=sparkcluster,shortName=sparkcluster
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Current State",type="string",JSONPath=".status.currentState.currentStateSummary"
// +kubebuilder:printcolumn:name="Cause",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",priority=1
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.size() <= 45 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",optionalOldSelf=true,message="cannot be a cluster's name, since Services are named after it: use at most 45 lower case letters, digits and '-', beginning with a letter and not ending with '-'",fieldPath=".metadata.name"
type SparkCluster struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The names of the cluster's objects begin with the name in this metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata"`

	// The version of Spark, the master and the workers that the cluster should have.
	// +optional
	Spec ClusterSpec `json:"spec,omitzero"`
	// The last observed state. Only the operator writes it.
	// +optional
	Status ClusterStatus `json:"status,omitzero"`

	// Why the spec could not be read: the field that exceeds a limit or does not fit its type, and how to correct it.
	// The spec is then empty, and encoding the object is an error, so that no update stores the empty spec.
	// UnmarshalJSON sets this field; it is not stored.
	OutOfBounds string `json:"-"`
	// The length of the spec's JSON in bytes, or 0 if the spec was not read. UnmarshalJSON sets this field; it is not
	// stored.
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

// ClusterSpec describes a standalone cluster.
type ClusterSpec struct {
	// The versions of Spark, Scala and Java in the image.
	// +kubebuilder:validation:XValidation:rule=`self.sparkVersion.size() <= 63 && self.sparkVersion.matches('^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')`,message="is not a valid version, because a version becomes a label value and part of an image name: at most 63 letters, digits, '-', '_' and '.'",fieldPath=".sparkVersion"
	RuntimeVersions RuntimeVersions `json:"runtimeVersions"`
	// Suspends the cluster: while true, none of its objects is created, and the pods and objects of a cluster that runs
	// are deleted, except its Services. When it is false again, the cluster starts from its current spec.
	// +kubebuilder:default=false
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// How many workers the cluster has.
	ClusterTolerations ClusterTolerations `json:"clusterTolerations"`
	// The master's pod, its StatefulSet and its Service. Default: what sparkConf sets.
	// +optional
	MasterSpec *MasterSpec `json:"masterSpec,omitempty"`
	// The workers' pods, their StatefulSet and their Service. Default: what sparkConf sets.
	// +optional
	WorkerSpec *WorkerSpec `json:"workerSpec,omitempty"`
	// Spark configuration of the master and the workers. {{SPARK_VERSION}} in image names stands for
	// runtimeVersions.sparkVersion.
	// +optional
	SparkConf map[string]string `json:"sparkConf,omitempty"`
}

// ClusterTolerations contains the number of workers.
type ClusterTolerations struct {
	// How many workers the cluster has: at the start, and at least and at most with an autoscaler.
	InstanceConfig WorkerInstanceConfig `json:"instanceConfig"`
}

// WorkerInstanceConfig is the number of workers of a cluster. If minWorkers is less than maxWorkers, an autoscaler
// chooses a number between them.
type WorkerInstanceConfig struct {
	// The initial number of workers. If there is no autoscaler, the number of workers is constant.
	// +kubebuilder:validation:XValidation:rule=`self >= 0 && self <= 2147483647`,message="is not a valid number of workers; it must be between 0 and 2147483647"
	InitWorkers int64 `json:"initWorkers"`
	// The minimum number of workers that the autoscaler keeps. It keeps at least one worker in any case. If minWorkers
	// is 1 or more, a PodDisruptionBudget keeps one worker available during voluntary evictions.
	// +kubebuilder:validation:XValidation:rule=`self >= 0 && self <= 2147483647`,message="is not a valid number of workers; it must be between 0 and 2147483647"
	MinWorkers int64 `json:"minWorkers"`
	// The maximum number of workers that the autoscaler creates. If maxWorkers is not more than minWorkers, there is no
	// autoscaler.
	// +kubebuilder:validation:XValidation:rule=`self >= 0 && self <= 2147483647`,message="is not a valid number of workers; it must be between 0 and 2147483647"
	MaxWorkers int64 `json:"maxWorkers"`
}

// MasterSpec contains the specs from which the master's objects are built.
type MasterSpec struct {
	MemberSpec `json:",inline"`
}

// WorkerSpec contains the specs from which the workers' objects are built.
type WorkerSpec struct {
	MemberSpec `json:",inline"`

	// The metrics and the behavior of the workers' autoscaler (autoscaling/v2), kept as written. The operator sets the
	// autoscaler's bounds and target. By default the autoscaler aims at 30 % of the CPU that a worker's container
	// requests, adds at most one worker a minute, and removes at most one worker in ten minutes.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	HorizontalPodAutoscalerSpec *runtime.RawExtension `json:"horizontalPodAutoscalerSpec,omitempty" bounds:"as=HorizontalPodAutoscalerSpec"`
	// Access to the workers' metrics. By default only pods of the cluster and drivers of the namespace can connect to the
	// workers.
	// +optional
	NetworkPolicy *WorkerNetworkPolicy `json:"networkPolicy,omitempty"`
}

// WorkerNetworkPolicy opens one port of the workers to other clients.
type WorkerNetworkPolicy struct {
	// The port at which the workers serve metrics. It must not be a port of Spark itself: that of the web UI, of the
	// worker, of the shuffle service or of the block managers.
	// +kubebuilder:validation:XValidation:rule=`self >= 1 && self <= 65535`,message="is not a port; use a number from 1 to 65535"
	MetricsPort int64 `json:"metricsPort"`
	// The clients that may connect to that port (peers of networking.k8s.io/v1). If the list is empty, the port is not
	// opened.
	// +listType=atomic
	MetricsIngress []networkingv1.NetworkPolicyPeer `json:"metricsIngress"`
}

// MemberSpec contains the fields that MasterSpec and WorkerSpec share.
type MemberSpec struct {
	// The StatefulSet's spec (apps/v1), kept as written.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	StatefulSetSpec *runtime.RawExtension `json:"statefulSetSpec,omitempty" bounds:"as=StatefulSetSpec"`
	// The StatefulSet's labels and annotations.
	// +optional
	StatefulSetMetadata *ObjectMetadata `json:"statefulSetMetadata,omitempty"`
	// The Service's spec, kept as written. The Service is headless; the operator adds its own selector and ports.
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
// +kubebuilder:validation:Enum=Submitted;SchedulingFailure;RunningHealthy;Suspended;Failed;ResourceReleased
type ClusterStateSummary string

// The states of a cluster.
const (
	ClusterSubmitted         ClusterStateSummary = "Submitted"         // accepted, not running yet
	ClusterSchedulingFailure ClusterStateSummary = "SchedulingFailure" // its objects could not be created
	ClusterRunningHealthy    ClusterStateSummary = "RunningHealthy"    // the master and enough workers run
	ClusterSuspended         ClusterStateSummary = "Suspended"         // stopped until the suspension is lifted
	ClusterFailed            ClusterStateSummary = "Failed"            // it no longer runs; it may recover
	ClusterResourceReleased  ClusterStateSummary = "ResourceReleased"  // ended, all objects are deleted
)

// ClusterStatus is the last observed state of a cluster.
type ClusterStatus struct {
	// The state that the cluster is in, since when, and why.
	// +optional
	CurrentState *ClusterState `json:"currentState,omitempty"`
	// The states that the cluster has been in, by an increasing decimal number.
	// +optional
	StateTransitionHistory map[string]ClusterState `json:"stateTransitionHistory,omitempty"`
	// Number, restarts and states of the current attempt to run the cluster.
	// +optional
	CurrentAttemptSummary *ClusterAttemptSummary `json:"currentAttemptSummary,omitempty"`
	// The same of the attempt before the current one. Absent during the first attempt.
	// +optional
	PreviousAttemptSummary *ClusterAttemptSummary `json:"previousAttemptSummary,omitempty"`

	// Conditions: Progressing, ObjectsApplied, and in the common form Ready, Reconciling, Stalled, Degraded, Failed.
	// Specific to this operator.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// The generation of the resource that this status describes. Specific to this operator.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Counts of the master's pods. Specific to this operator.
	// +optional
	Masters *MemberCounts `json:"masters,omitempty"`
	// Counts of the workers' pods. Specific to this operator.
	// +optional
	Workers *MemberCounts `json:"workers,omitempty"`
	// State that the operator must remember from one decision to the next. Not for users: its form may change in any
	// release.
	// +optional
	Operator *ClusterOperatorStatus `json:"operator,omitempty"`
}

// ClusterState is a state of a cluster, with its time and its reason.
type ClusterState struct {
	// Submitted, SchedulingFailure, RunningHealthy, Failed or ResourceReleased.
	// +optional
	CurrentStateSummary ClusterStateSummary `json:"currentStateSummary,omitempty"`
	// Why the state is Suspended.
	// +optional
	SuspendReason SuspendReason `json:"suspendReason,omitempty"`
	// When the cluster entered the state, in the form of RFC 3339 with fractions of a second.
	// +optional
	LastTransitionTime string `json:"lastTransitionTime,omitempty"`
	// Why the cluster is in this state and what to do, as a sentence.
	// +optional
	Message string `json:"message,omitempty"`
}

// ClusterAttemptSummary describes one attempt to run a cluster.
type ClusterAttemptSummary struct {
	// The attempt's number and its restarts.
	// +optional
	AttemptInfo *ClusterAttemptInfo `json:"attemptInfo,omitempty"`
	// The states that the cluster was in during the attempt, by an increasing decimal number.
	// +optional
	StateTransitionHistory map[string]ClusterState `json:"stateTransitionHistory,omitempty"`
}

// ClusterAttemptInfo contains an attempt's number and the number of restarts before it.
type ClusterAttemptInfo struct {
	// Number of the attempt, from 0.
	// +optional
	ID int64 `json:"id"`
	// The number of restarts before this attempt.
	// +optional
	RestartCounter int64 `json:"restartCounter"`
}

// MemberCounts counts the pods of a role (master or worker) by state.
type MemberCounts struct {
	// The number of pods that the spec or the autoscaler wants.
	// +optional
	Desired int32 `json:"desired,omitempty"`
	// Pods that wait for a node, an image or their start.
	// +optional
	Pending int32 `json:"pending,omitempty"`
	// Pods whose containers run, whether they are ready or not.
	// +optional
	Running int32 `json:"running,omitempty"`
	// Running pods that are ready.
	// +optional
	Ready int32 `json:"ready,omitempty"`
	// Pods that failed, or whose nodes do not answer.
	// +optional
	Failed int32 `json:"failed,omitempty"`
}

// ClusterOperatorStatus contains the facts about a cluster that the operator must remember because it cannot observe
// them again.
type ClusterOperatorStatus struct {
	// Phase of the life cycle, more detailed than currentState.
	// +optional
	Phase string `json:"phase,omitempty"`
	// When the phase was entered.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	Since *metav1.MicroTime `json:"since,omitempty"`
	// Generation of the spec that the operator applies to the cluster. It is older than the resource's generation while
	// the newest spec cannot be used.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// Digest of the last value of the annotation sparkoperator.dev/restart that was handled. A different value of the
	// annotation requests another restart.
	// +optional
	RestartRequest string `json:"restartRequest,omitempty"`
	// Whether another operator created the cluster and nobody has edited it since. The operator then leaves its pods as
	// they are.
	// +optional
	Adopted bool `json:"adopted,omitempty"`
	// When all objects had been created, or when a running cluster began to change to another spec.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	BegunAt *metav1.MicroTime `json:"begunAt,omitempty"`
	// When all pods had the new spec and were ready. Absent until then.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	CompleteAt *metav1.MicroTime `json:"completeAt,omitempty"`
	// The platform defaults from which the cluster's objects are rendered. Absent if the operator has none.
	// +optional
	Defaults *OperatorDefaults `json:"defaults,omitempty"`
	// The reason for the phase, or the cluster's wait reason.
	// +optional
	Cause *OperatorCause `json:"cause,omitempty"`
	// Requests of the cluster's pods, multiplied by time. All pods, of the master and of workers, count as executors.
	// +optional
	Usage *statusv1.OperatorUsage `json:"usage,omitempty"`
}
