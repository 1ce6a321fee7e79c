package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// ConnectNameLabel is the label with the name of a SparkConnect, on each of its objects. Other operators of this API
// set it too.
const ConnectNameLabel = "sparkoperator.k8s.io/connect-name"

// SparkConnect keeps one Spark Connect server running, which has its own executors. Clients open sessions through the
// server's Service.
//
// The rule for metadata.name is checked only at creation, so that a stored object whose name breaks the rule can still
// be edited and deleted.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,path=sparkconnects,singular=sparkconnect,shortName=sparkconn
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=https://github.com/kubeflow/spark-operator/pull/1298"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.state"
// +kubebuilder:printcolumn:name="PodName",type="string",JSONPath=".status.server.podName"
// +kubebuilder:printcolumn:name="Cause",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",priority=1
// +kubebuilder:validation:XValidation:rule=`oldSelf.hasValue() || self.metadata.name.size() <= 56 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')`,optionalOldSelf=true,message="is not valid as the beginning of a Service's name: use at most 56 lower case letters, digits and '-', beginning with a letter and not ending with '-'",fieldPath=".metadata.name"
type SparkConnect struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name must be a DNS label that starts with a letter, because the names of the server
	// pod and its Service are derived from it.
	metav1.ObjectMeta `json:"metadata"`

	// The server and the executors that should run. An edit replaces the server.
	Spec SparkConnectSpec `json:"spec"`
	// The last observed state. Only the operator writes it.
	// +optional
	Status SparkConnectStatus `json:"status,omitzero"`

	// Why the spec could not be read: the field that exceeds a limit or does not fit its type, and how to correct it.
	// The spec is then empty, and encoding the object is an error, so that no update stores the empty spec.
	// UnmarshalJSON sets this field; it is not stored.
	OutOfBounds string `json:"-"`
	// The length of the spec's JSON in bytes, or 0 if the spec was not read. UnmarshalJSON sets this field; it is not
	// stored.
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

// SparkConnectSpec describes a Spark Connect server and its executors. An edit of any field except suspend, ui and
// server.service replaces the running server.
type SparkConnectSpec struct {
	// The Spark version inside the image, 4.0.0 or newer, for example 4.1.4. It does not choose the image.
	// +kubebuilder:validation:MaxLength=256
	SparkVersion string `json:"sparkVersion" bounds:"max=256"`

	// The image of the server and of the executors, unless their templates name another image.
	// +optional
	Image *string `json:"image,omitempty"`

	// Hadoop configuration. The operator adds the prefix spark.hadoop. to keys without it.
	// +optional
	HadoopConf map[string]string `json:"hadoopConf,omitempty"`

	// Spark configuration. Values are passed to Spark unchanged.
	// +kubebuilder:validation:XValidation:rule=`self.all(k, !k.startsWith('spark.kubernetes.driver.label.sparkoperator.dev/') && !k.startsWith('spark.kubernetes.driver.service.label.sparkoperator.dev/') && !k.startsWith('spark.kubernetes.executor.label.sparkoperator.dev/'))`,messageExpression=`'[' + self.filter(k, !(!k.startsWith('spark.kubernetes.driver.label.sparkoperator.dev/') && !k.startsWith('spark.kubernetes.driver.service.label.sparkoperator.dev/') && !k.startsWith('spark.kubernetes.executor.label.sparkoperator.dev/')))[0] + '] labels that begin with sparkoperator.dev/ are the operator\'s own; remove the key, or give the label another name'`,message="labels that begin with sparkoperator.dev/ are the operator's own; remove the key, or give the label another name"
	// +kubebuilder:validation:XValidation:rule=`self.all(k, !k.startsWith('spark.kubernetes.driver.annotation.sparkoperator.dev/') && !k.startsWith('spark.kubernetes.driver.service.annotation.sparkoperator.dev/') && !k.startsWith('spark.kubernetes.executor.annotation.sparkoperator.dev/'))`,messageExpression=`'[' + self.filter(k, !(!k.startsWith('spark.kubernetes.driver.annotation.sparkoperator.dev/') && !k.startsWith('spark.kubernetes.driver.service.annotation.sparkoperator.dev/') && !k.startsWith('spark.kubernetes.executor.annotation.sparkoperator.dev/')))[0] + '] annotations that begin with sparkoperator.dev/ are the operator\'s own; remove the key, or give the annotation another name'`,message="annotations that begin with sparkoperator.dev/ are the operator's own; remove the key, or give the annotation another name"
	// +optional
	SparkConf map[string]string `json:"sparkConf,omitempty"`

	// The server's pod, which is a Spark driver, and its Service.
	Server ServerSpec `json:"server"`

	// The executors of the server: their number and their pods.
	Executor ExecutorSpec `json:"executor"`

	// Lets Spark add and remove executors according to load.
	// +optional
	DynamicAllocation *DynamicAllocation `json:"dynamicAllocation,omitempty"`

	// Stops the server and its executors while true. The Service and its address are kept. Optional, specific to this
	// operator.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// Makes the server's web UI available outside the cluster. Optional, specific to this operator.
	// +optional
	UI *UIConfiguration `json:"ui,omitempty"`
}

// SparkPodSpec contains the fields that server and executor pods share.
type SparkPodSpec struct {
	// CPU cores that Spark assumes (spark.{driver,executor}.cores). Default 1.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Cores *int32 `json:"cores,omitempty"`

	// Heap size in Spark's notation: an integer and a unit, for example 4g or 512m (spark.{driver,executor}.memory).
	// Default 1g.
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.contains('${') || self.matches(r'(?i)^[\x00- ]*\d*[1-9]\d*[kmgtp]?b?[\x00- ]*$')`,message="is not a size that Spark reads; write a whole number and a unit, such as 512m or 4g"
	// +optional
	Memory *string `json:"memory,omitempty"`

	// The pod template from which the pod is built. It contains the service account, resources, volumes and all other
	// settings that have no field here. It is kept as written; if it is not a valid pod template, a condition reports
	// that.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Template *runtime.RawExtension `json:"template,omitempty" bounds:"as=PodTemplateSpec"`
}

// ServerSpec describes the server.
type ServerSpec struct {
	SparkPodSpec `json:",inline"`

	// The Service from which the server's Service is built. Its name (default NAME-server), labels, annotations, spec
	// and additional ports are kept. The operator sets the selector and the server's four ports, except their nodePort
	// and appProtocol.
	// +optional
	Service *corev1.Service `json:"service,omitempty"`
}

// ExecutorSpec describes the executors.
type ExecutorSpec struct {
	SparkPodSpec `json:",inline"`

	// The number of executors (spark.executor.instances). Default: Spark's own, 2.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Instances *int32 `json:"instances,omitempty"`

	// GPUs of each executor (spark.executor.resource.NAME.amount and .vendor). Executors find their GPUs with the script
	// of spark.executor.resource.NAME.discoveryScript.
	// +optional
	GPU *GPUSpec `json:"gpu,omitempty"`
}

// GPUSpec requests GPUs or another extended resource. Its name has the form DOMAIN/NAME, such as nvidia.com/gpu.
type GPUSpec = v1beta2.GPUSpec

// DynamicAllocation is Spark's own scaling of executors according to load (spark.dynamicAllocation.*).
type DynamicAllocation = v1beta2.DynamicAllocation

// RouteConfiguration requests an HTTPRoute of the Gateway API.
type RouteConfiguration = v1beta2.RouteConfiguration

// UIConfiguration requests an Ingress or a route that leads to the server's web UI. If it is absent, only the port
// web-ui of the Service leads to the web UI.
type UIConfiguration struct {
	// Host and path of the Ingress. {{$appName}} and {{$appNamespace}} stand for the name and the namespace. Default:
	// the operator's configuration, ui.ingress.urlFormat.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	IngressURLFormat string `json:"ingressURLFormat,omitempty" bounds:"max=2048"`
	// Annotations of the Ingress, which an ingress controller reads.
	// +optional
	IngressAnnotations map[string]string `json:"ingressAnnotations,omitempty"`
	// TLS hosts of the Ingress, and the Secrets with their certificates.
	// +optional
	IngressTLS []networkingv1.IngressTLS `json:"ingressTLS,omitempty"`
	// Makes the UI available through an HTTPRoute of the Gateway API.
	// +optional
	Route *RouteConfiguration `json:"route,omitempty"`
}
