package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// SparkApplication runs a Spark application on Kubernetes, once or until its restart policy is satisfied.
//
// The rule about its name is for new ones alone: one that is stored already can be edited and deleted, and fails by that field.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Namespaced,path=sparkapplications,singular=sparkapplication,shortName=sparkapp
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Current State",type="string",JSONPath=".status.currentState.currentStateSummary"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.size() <= 63 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",optionalOldSelf=true,message="metadata.name must be at most 63 characters: lower case letters, digits and '-', beginning with a letter and not ending with '-': the names of Services begin with it"
type SparkApplication struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name is a prefix of the names of what an attempt is made of.
	// +optional
	metav1.ObjectMeta `json:"metadata"`

	// What is wanted. An edit counts with the next attempt.
	// +optional
	Spec ApplicationSpec `json:"spec,omitzero"`
	// What was seen last. Written by the operator alone.
	// +optional
	Status ApplicationStatus `json:"status,omitzero"`

	// Why the spec could not be read: the field that exceeds a limit or does not fit its type, and the way out. The spec is empty then, and such an
	// object cannot be encoded, so that no update stores the empty spec. UnmarshalJSON writes this; it is no part of the stored object.
	OutOfBounds string `json:"-"`
	// The length of the JSON of the spec in bytes, or 0 if the spec was not read. UnmarshalJSON sets it; it is not stored.
	SpecBytes int `json:"-"`
}

// SparkApplicationList is a list of SparkApplications.
//
// +kubebuilder:object:root=true
type SparkApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SparkApplication `json:"items"`
}

// DeploymentMode says where a driver runs.
//
// +kubebuilder:validation:Enum=ClusterMode;ClientMode
type DeploymentMode string

// The deployment modes.
const (
	ClusterMode DeploymentMode = "ClusterMode" // in a pod of its own
	ClientMode  DeploymentMode = "ClientMode"  // in the client; no operator runs such applications: they fail
)

// ApplicationSpec says which application runs, and how.
type ApplicationSpec struct {
	// Main class of a JVM application (spark-submit --class).
	// +optional
	MainClass string `json:"mainClass,omitempty"`
	// The versions that the application is made for.
	RuntimeVersions RuntimeVersions `json:"runtimeVersions"`
	// The application's jar; further ones after commas (spark.jars where that is not set). Comes before pyFiles and sparkRFiles.
	// +optional
	Jars string `json:"jars,omitempty"`
	// The application's Python file; further files after commas (spark.submit.pyFiles where that is not set). Comes before sparkRFiles.
	// +optional
	PyFiles string `json:"pyFiles,omitempty"`
	// The application's R file.
	// +optional
	SparkRFiles string `json:"sparkRFiles,omitempty"`
	// Files for the working directories, after commas (spark.files where that is not set).
	// +optional
	Files string `json:"files,omitempty"`
	// Where the driver runs: ClusterMode, the default, in a pod of its own. An application of ClientMode fails.
	// +optional
	DeploymentMode DeploymentMode `json:"deploymentMode,omitempty"`
	// User that the application acts for (spark-submit --proxy-user).
	// +optional
	ProxyUser string `json:"proxyUser,omitempty"`
	// Arguments of the application.
	// +optional
	DriverArgs []string `json:"driverArgs,omitempty"`
	// Spark configuration. {{SPARK_VERSION}} in names of images stands for runtimeVersions.sparkVersion.
	// +optional
	SparkConf map[string]string `json:"sparkConf,omitempty"`
	// What is borne before the application counts as failed, and what happens then.
	// +optional
	ApplicationTolerations *ApplicationTolerations `json:"applicationTolerations,omitempty"`
	// The driver's pod.
	// +optional
	DriverSpec *PodTemplate `json:"driverSpec,omitempty"`
	// The executors' pods.
	// +optional
	ExecutorSpec *PodTemplate `json:"executorSpec,omitempty"`
	// Services of the driver with an Ingress each.
	// +kubebuilder:validation:MaxItems=20
	// +optional
	DriverServiceIngressList []DriverServiceIngress `json:"driverServiceIngressList,omitempty" bounds:"max=20"`
	// Services of the driver with an HTTPRoute of the Gateway API each.
	// +kubebuilder:validation:MaxItems=20
	// +optional
	DriverHTTPRouteList []DriverHTTPRoute `json:"driverHttpRouteList,omitempty" bounds:"max=20"`
	// Services of the driver with a GRPCRoute of the Gateway API each.
	// +kubebuilder:validation:MaxItems=20
	// +optional
	DriverGRPCRouteList []DriverGRPCRoute `json:"driverGrpcRouteList,omitempty" bounds:"max=20"`
	// ConfigMaps that are made before the driver. One of that name that is somebody else's is never touched: the attempt is refused.
	// +kubebuilder:validation:MaxItems=20
	// +optional
	ConfigMapSpecs []ConfigMapSpec `json:"configMapSpecs,omitempty" bounds:"max=20"`
}

// RuntimeVersions are versions of what an application or a cluster runs on. They do not choose the image, unless its name asks for it.
type RuntimeVersions struct {
	// The Spark version inside the image, for example 4.1.4.
	// +kubebuilder:validation:MaxLength=256
	SparkVersion string `json:"sparkVersion" bounds:"max=256"`
	// The Scala version inside the image: a label of an application's pods, on which nothing depends.
	// +optional
	ScalaVersion string `json:"scalaVersion,omitempty"`
	// The Java version inside the image: a label of an application's pods, on which nothing depends.
	// +optional
	JDKVersion string `json:"jdkVersion,omitempty"`
}

// PodTemplate is what a pod is built on.
type PodTemplate struct {
	// A Kubernetes pod template, kept as it was written. Where spark.kubernetes.{driver,executor}.podTemplateFile names another, this one counts.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	PodTemplateSpec *runtime.RawExtension `json:"podTemplateSpec,omitempty" bounds:"as=PodTemplateSpec"`
}

// ConfigMapSpec is a ConfigMap that is made before the driver and deleted with it.
type ConfigMapSpec struct {
	// Its name, in the namespace of the application.
	Name string `json:"name"`
	// Its labels.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Its annotations.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// Its content.
	// +optional
	Data map[string]string `json:"data,omitempty"`
}
