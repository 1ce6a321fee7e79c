package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// SparkConnect keeps one Spark Connect server running, with executors of its own: clients open sessions on it through its Service.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,path=sparkconnects,singular=sparkconnect,shortName=sparkconn
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=https://github.com/kubeflow/spark-operator/pull/1298"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.state"
// +kubebuilder:printcolumn:name="PodName",type="string",JSONPath=".status.server.podName"
type SparkConnect struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name must be a DNS label that starts with a letter, since the server pod and its Service are named
	// after it.
	metav1.ObjectMeta `json:"metadata"`

	// What is wanted.
	Spec SparkConnectSpec `json:"spec"`
	// What was seen last. Written by the operator alone.
	// +optional
	Status SparkConnectStatus `json:"status,omitzero"`

	// Why the spec could not be read: the field that exceeds a limit or does not fit its type, and the way out. The spec is empty then, and such an
	// object cannot be encoded, so that no update stores the empty spec. UnmarshalJSON writes this; it is no part of the stored object.
	OutOfBounds string `json:"-"`
	// The length of the JSON of the spec in bytes, or 0 if the spec was not read. UnmarshalJSON sets it; it is not stored.
	SpecBytes int `json:"-"`
}

// SparkConnectList is a list of SparkConnects.
//
// +kubebuilder:object:root=true
type SparkConnectList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SparkConnect `json:"items"`
}

// SparkConnectSpec says how a Spark Connect server and its executors run. An edit of anything but suspend, ui and server.service replaces the
// running server.
type SparkConnectSpec struct {
	// The Spark version inside the image, 4.0.0 or newer, for example 4.1.4. It does not choose the image.
	// +kubebuilder:validation:MaxLength=256
	SparkVersion string `json:"sparkVersion" bounds:"max=256"`

	// The image of the server and of the executors, unless their templates name another.
	// +optional
	Image *string `json:"image,omitempty"`

	// Hadoop configuration; spark.hadoop. is put before keys that lack it.
	// +optional
	HadoopConf map[string]string `json:"hadoopConf,omitempty"`

	// Spark configuration. Values reach Spark as they stand, whatever they hold.
	// +optional
	SparkConf map[string]string `json:"sparkConf,omitempty"`

	// The server.
	Server ServerSpec `json:"server"`

	// The executors.
	Executor ExecutorSpec `json:"executor"`

	// Lets Spark add and remove executors by load.
	// +optional
	DynamicAllocation *DynamicAllocation `json:"dynamicAllocation,omitempty"`

	// Stops the server and its executors while true; the Service stays, and with it the address. Optional, known to this operator alone.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// Reaches the server's web UI from outside the cluster. Optional, known to this operator alone.
	// +optional
	UI *UIConfiguration `json:"ui,omitempty"`
}

// SparkPodSpec is what server and executor pods have in common.
type SparkPodSpec struct {
	// CPU cores that Spark counts with (spark.{driver,executor}.cores). Default 1.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Cores *int32 `json:"cores,omitempty"`

	// Heap size as Spark writes sizes: a whole number and a unit, for example 4g or 512m (spark.{driver,executor}.memory). Default 1g.
	// +optional
	Memory *string `json:"memory,omitempty"`

	// The pod template that the pod is built on: its service account, resources, volumes and all else that the fields here do not say. Kept as
	// it was written; what cannot be read as a pod template is told by a condition.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Template *runtime.RawExtension `json:"template,omitempty" bounds:"as=PodTemplateSpec"`
}

// ServerSpec says how the server runs.
type ServerSpec struct {
	SparkPodSpec `json:",inline"`

	// What the server's Service is built on. Its name (default NAME-server), labels, annotations and spec are kept, further ports too; the selector and
	// the server's four ports are the operator's, but for nodePort and appProtocol.
	// +optional
	Service *corev1.Service `json:"service,omitempty"`
}

// ExecutorSpec says how the executors run.
type ExecutorSpec struct {
	SparkPodSpec `json:",inline"`

	// How many there are (spark.executor.instances). Default: Spark's own, 2.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Instances *int32 `json:"instances,omitempty"`
}

// DynamicAllocation is Spark's own scaling of executors by load (spark.dynamicAllocation.*).
type DynamicAllocation = v1beta2.DynamicAllocation

// RouteConfiguration asks for an HTTPRoute of the Gateway API.
type RouteConfiguration = v1beta2.RouteConfiguration

// UIConfiguration asks for an Ingress or a route to the server's web UI. Absent: none, only the Service's port web-ui.
type UIConfiguration struct {
	// Host and path of the Ingress. {{$appName}} and {{$appNamespace}} stand for the name and the namespace. Default: the operator's
	// configuration, ui.ingress.urlFormat.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	IngressURLFormat string `json:"ingressURLFormat,omitempty" bounds:"max=2048"`
	// Annotations of the Ingress.
	// +optional
	IngressAnnotations map[string]string `json:"ingressAnnotations,omitempty"`
	// Hosts of the Ingress that speak TLS, and the Secrets with their certificates.
	// +optional
	IngressTLS []networkingv1.IngressTLS `json:"ingressTLS,omitempty"`
	// Reaches the UI through an HTTPRoute of the Gateway API.
	// +optional
	Route *RouteConfiguration `json:"route,omitempty"`
}
