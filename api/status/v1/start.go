package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// OperatorStart tells when the pods of an attempt became ready for work, and which image its driver runs. The times are
// those of the pods, which Kubernetes rounds to whole seconds. Each field stays after its pod is gone.
type OperatorStart struct {
	// Number of the attempt whose start this is, from 1.
	Attempt int32 `json:"attempt"`
	// When the driver pod was created, which is the beginning of the start.
	// +optional
	DriverCreated *metav1.Time `json:"driverCreated,omitempty"`
	// When the driver pod was assigned to a node.
	// +optional
	DriverScheduled *metav1.Time `json:"driverScheduled,omitempty"`
	// When the Spark container of the driver started, after its volumes and its image were ready.
	// +optional
	DriverStarted *metav1.Time `json:"driverStarted,omitempty"`
	// Image of the Spark container in the driver pod, with the defaults and the changes of admission.
	// +optional
	DriverImage string `json:"driverImage,omitempty"`
	// The same image as the node has identified it, usually with its digest. Absent until the container runtime reports
	// it.
	// +optional
	DriverImageID string `json:"driverImageID,omitempty"`
	// When the driver created its first executor pod. It does so at the end of the start of its SparkContext.
	// +optional
	ExecutorCreated *metav1.Time `json:"executorCreated,omitempty"`
	// When the first executor pod was assigned to a node.
	// +optional
	ExecutorScheduled *metav1.Time `json:"executorScheduled,omitempty"`
	// When the Spark container of the first executor started.
	// +optional
	ExecutorStarted *metav1.Time `json:"executorStarted,omitempty"`
}
