package kueue

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sparkoperator/spark-operator/internal/dialect"
)

// groupVersion is the version of Kueue's API that the operator uses. Kueue serves it since release 0.15.
var groupVersion = schema.GroupVersion{Group: "kueue.x-k8s.io", Version: "v1beta2"}

// WorkloadKind is the kind of a request for quota.
var WorkloadKind = groupVersion.WithKind("Workload")

// These are labels and annotations of Kueue and of the operator of spark.apache.org.
const (
	// QueueLabel on a custom resource names its LocalQueue.
	QueueLabel = dialect.QueueLabel
	// PriorityLabel on a custom resource names its WorkloadPriorityClass.
	PriorityLabel = "kueue.x-k8s.io/priority-class"
	// HashAnnotation on a Workload is the hash of its pod sets.
	HashAnnotation = "spark.operator/kueue-pod-sets-hash"
	// AttemptAnnotation on a Workload is the number of the attempt that needs the quota.
	AttemptAnnotation = dialect.OwnPrefix + "attempt"
)

// These are the types of a Workload's conditions, and reasons of them.
const (
	QuotaReserved = "QuotaReserved"
	Admitted      = "Admitted"
	Evicted       = "Evicted"
	Requeued      = "Requeued"
	PodsReady     = "PodsReady"
	Finished      = "Finished"

	EvictedByPreemption    = "Preempted"
	EvictedByNodeFailures  = "NodeFailures"
	deactivated            = "Deactivated"
	reasonPending          = "Pending"
	reasonWaitForStart     = "WaitForStart"
	reasonWaitForRecovery  = "WaitForRecovery"
	reasonStarted          = "Started"
	reasonRecovered        = "Recovered"
	reasonFinishedWell     = "Succeeded"
	reasonFinishedWithFail = "Failed"
)

// AddToScheme registers the types of this package with a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(groupVersion, &Workload{}, &WorkloadList{}, &ResourceFlavor{}, &WorkloadPriorityClass{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return nil
}

// Workload is a request for quota.
//
// +kubebuilder:object:root=true
type Workload struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WorkloadSpec   `json:"spec"`
	Status WorkloadStatus `json:"status,omitzero"`
}

// WorkloadList is a list of Workloads.
//
// +kubebuilder:object:root=true
type WorkloadList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Workload `json:"items"`
}

// WorkloadSpec says what is requested.
type WorkloadSpec struct {
	PodSets          []PodSet          `json:"podSets,omitempty"`
	QueueName        string            `json:"queueName,omitempty"`
	PriorityClassRef *PriorityClassRef `json:"priorityClassRef,omitempty"`
	Priority         *int32            `json:"priority,omitempty"`
	Active           *bool             `json:"active,omitempty"`
}

// PodSet is a group of equal pods.
type PodSet struct {
	Name     string                 `json:"name"`
	Count    int32                  `json:"count"`
	Template corev1.PodTemplateSpec `json:"template"`
}

// PriorityClassRef names the class from which a Workload has its priority.
type PriorityClassRef struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	Name  string `json:"name"`
}

// WorkloadStatus is Kueue's answer.
type WorkloadStatus struct {
	Conditions      []metav1.Condition    `json:"conditions,omitempty"`
	Admission       *Admission            `json:"admission,omitempty"`
	RequeueState    *RequeueState         `json:"requeueState,omitempty"`
	AdmissionChecks []AdmissionCheckState `json:"admissionChecks,omitempty"`
}

// Admission says from which flavors of resources a Workload has its quota.
type Admission struct {
	ClusterQueue      string             `json:"clusterQueue"`
	PodSetAssignments []PodSetAssignment `json:"podSetAssignments,omitempty"`
}

// PodSetAssignment is the part of an Admission that concerns one pod set.
type PodSetAssignment struct {
	Name          string                         `json:"name"`
	Flavors       map[corev1.ResourceName]string `json:"flavors,omitempty"`
	ResourceUsage corev1.ResourceList            `json:"resourceUsage,omitempty"`
	Count         *int32                         `json:"count,omitempty"`
}

// RequeueState says how often an evicted Workload was queued again, and when it is queued next.
type RequeueState struct {
	Count     *int32       `json:"count,omitempty"`
	RequeueAt *metav1.Time `json:"requeueAt,omitempty"`
}

// AdmissionCheckState is the state of an additional check of an admission.
type AdmissionCheckState struct {
	Name               string         `json:"name"`
	State              string         `json:"state"`
	Message            string         `json:"message"`
	LastTransitionTime metav1.Time    `json:"lastTransitionTime,omitzero"`
	PodSetUpdates      []PodSetUpdate `json:"podSetUpdates,omitempty"`
}

// PodSetUpdate is what an admission check adds to the pods of a pod set.
type PodSetUpdate struct {
	Name         string              `json:"name"`
	Labels       map[string]string   `json:"labels,omitempty"`
	Annotations  map[string]string   `json:"annotations,omitempty"`
	NodeSelector map[string]string   `json:"nodeSelector,omitempty"`
	Tolerations  []corev1.Toleration `json:"tolerations,omitempty"`
}

// ResourceFlavor describes nodes.
//
// +kubebuilder:object:root=true
type ResourceFlavor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ResourceFlavorSpec `json:"spec,omitzero"`
}

// ResourceFlavorSpec says how a pod gets to the nodes of a ResourceFlavor.
type ResourceFlavorSpec struct {
	NodeLabels  map[string]string   `json:"nodeLabels,omitempty"`
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// WorkloadPriorityClass is a priority of Workloads that pods do not have.
//
// +kubebuilder:object:root=true
type WorkloadPriorityClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Value int32 `json:"value"`
}
