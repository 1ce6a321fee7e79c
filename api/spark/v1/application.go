package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// AppNameLabel is the label with the name of a pod's SparkApplication. Other operators of this API set it too.
const AppNameLabel = "spark.operator/spark-app-name"

// SparkApplication runs a Spark application on Kubernetes, once or until its restart policy is satisfied.
//
// The rule for metadata.name is checked only at creation. A stored application whose name breaks the rule can still be
// edited and deleted. It fails, and its status names the field.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Namespaced,path=sparkapplications,singular=sparkapplication,shortName=sparkapp
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Current State",type="string",JSONPath=".status.currentState.currentStateSummary"
// +kubebuilder:printcolumn:name="Cause",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",priority=1
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.size() <= 63 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",optionalOldSelf=true,message="is not valid as the beginning of a Service's name: use at most 63 lower case letters, digits and '-', beginning with a letter and not ending with '-'",fieldPath=".metadata.name"
type SparkApplication struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The names of the objects of an attempt begin with the name in this metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata"`

	// The desired state. An edit takes effect with the next attempt.
	// +optional
	Spec ApplicationSpec `json:"spec,omitzero"`
	// The last observed state. Only the operator writes it.
	// +optional
	Status ApplicationStatus `json:"status,omitzero"`

	// Why the spec could not be read: the field that exceeds a limit or does not fit its type, and how to correct it.
	// The spec is then empty, and encoding the object is an error, so that no update stores the empty spec.
	// UnmarshalJSON sets this field; it is not stored.
	OutOfBounds string `json:"-"`
	// The length of the spec's JSON in bytes, or 0 if the spec was not read. UnmarshalJSON sets this field; it is not
	// stored.
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

// DeploymentMode says where the driver runs.
//
// +kubebuilder:validation:Enum=ClusterMode;ClientMode
type DeploymentMode string

// The deployment modes.
const (
	ClusterMode DeploymentMode = "ClusterMode" // in its own pod
	ClientMode  DeploymentMode = "ClientMode"  // in the client; applications with this mode fail
)

// ApplicationSpec describes the application to run.
type ApplicationSpec struct {
	// Main class of a JVM application (spark-submit --class).
	// +optional
	MainClass string `json:"mainClass,omitempty"`
	// The versions of Spark, Scala and Java in the image.
	RuntimeVersions RuntimeVersions `json:"runtimeVersions"`
	// Suspends the application: while true, no attempt starts, and an attempt that runs is stopped. When it is false
	// again, the next attempt starts, without use of a restart.
	// +kubebuilder:default=false
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// The application's jar and, separated by commas, further jars (spark.jars, unless sparkConf sets it). Takes
	// precedence over pyFiles and sparkRFiles.
	// +kubebuilder:validation:XValidation:rule=`!self.matches('^[^!-~]*-')`,message="would be read as an option by spark-submit; name a file that does not begin with a hyphen"
	// +kubebuilder:validation:XValidation:rule=`!self.contains('$(')`,message="has a reference to a variable, whose value could be an option of spark-submit; write the name without $("
	// +optional
	Jars string `json:"jars,omitempty"`
	// The application's Python file and, separated by commas, further files (spark.submit.pyFiles, unless sparkConf
	// sets it). Takes precedence over sparkRFiles.
	// +kubebuilder:validation:XValidation:rule=`!self.matches('^[^!-~]*-')`,message="would be read as an option by spark-submit; name a file that does not begin with a hyphen"
	// +kubebuilder:validation:XValidation:rule=`!self.contains('$(')`,message="has a reference to a variable, whose value could be an option of spark-submit; write the name without $("
	// +optional
	PyFiles string `json:"pyFiles,omitempty"`
	// The R file that the application runs. Its name ends in .R.
	// +kubebuilder:validation:XValidation:rule=`!self.matches('^[^!-~]*-')`,message="would be read as an option by spark-submit; name a file that does not begin with a hyphen"
	// +kubebuilder:validation:XValidation:rule=`!self.contains('$(')`,message="has a reference to a variable, whose value could be an option of spark-submit; write the name without $("
	// +optional
	SparkRFiles string `json:"sparkRFiles,omitempty"`
	// Files for the working directories, separated by commas (spark.files, unless sparkConf sets it).
	// +optional
	Files string `json:"files,omitempty"`
	// Where the driver runs. ClusterMode (the default): in its own pod. ClientMode is not supported: the application
	// fails.
	// +kubebuilder:validation:XValidation:rule=`self != 'ClientMode'`,message="ClientMode is not supported, because the driver always runs in a pod of its own; use ClusterMode, or leave the field out"
	// +optional
	DeploymentMode DeploymentMode `json:"deploymentMode,omitempty"`
	// The user whom the application impersonates in Hadoop (spark-submit --proxy-user).
	// +optional
	ProxyUser string `json:"proxyUser,omitempty"`
	// Arguments of the application, passed to its program in this order.
	// +optional
	DriverArgs []string `json:"driverArgs,omitempty"`
	// Spark configuration. {{SPARK_VERSION}} in names of images stands for runtimeVersions.sparkVersion.
	// +kubebuilder:validation:XValidation:rule=`self.all(k, !k.startsWith('spark.kubernetes.driver.label.sparkoperator.dev/') && !k.startsWith('spark.kubernetes.driver.service.label.sparkoperator.dev/') && !k.startsWith('spark.kubernetes.executor.label.sparkoperator.dev/'))`,messageExpression=`'[' + self.filter(k, !(!k.startsWith('spark.kubernetes.driver.label.sparkoperator.dev/') && !k.startsWith('spark.kubernetes.driver.service.label.sparkoperator.dev/') && !k.startsWith('spark.kubernetes.executor.label.sparkoperator.dev/')))[0] + '] labels that begin with sparkoperator.dev/ are the operator\'s own; remove the key, or give the label another name'`,message="labels that begin with sparkoperator.dev/ are the operator's own; remove the key, or give the label another name"
	// +optional
	SparkConf map[string]string `json:"sparkConf,omitempty"`
	// Restarts, timeouts, the number of executors, and how long objects are kept.
	// +optional
	ApplicationTolerations *ApplicationTolerations `json:"applicationTolerations,omitempty"`
	// The template of the driver's pod. Default: Spark's own pod, with what sparkConf sets.
	// +optional
	DriverSpec *PodTemplate `json:"driverSpec,omitempty"`
	// The template of the executors' pods. Default: Spark's own pod, with what sparkConf sets.
	// +optional
	ExecutorSpec *PodTemplate `json:"executorSpec,omitempty"`
	// Services of the driver, each with an Ingress that leads to it. At most 20.
	// +kubebuilder:validation:MaxItems=20
	// +optional
	DriverServiceIngressList []DriverServiceIngress `json:"driverServiceIngressList,omitempty" bounds:"max=20"`
	// Services of the driver, each with an HTTPRoute of the Gateway API.
	// +kubebuilder:validation:MaxItems=20
	// +optional
	DriverHTTPRouteList []DriverHTTPRoute `json:"driverHttpRouteList,omitempty" bounds:"max=20"`
	// Services of the driver, each with a GRPCRoute of the Gateway API.
	// +kubebuilder:validation:MaxItems=20
	// +optional
	DriverGRPCRouteList []DriverGRPCRoute `json:"driverGrpcRouteList,omitempty" bounds:"max=20"`
	// ConfigMaps that the operator creates before the driver. If a ConfigMap of another owner has the same name, the
	// operator does not change that ConfigMap and rejects the attempt.
	// +kubebuilder:validation:MaxItems=20
	// +optional
	ConfigMapSpecs []ConfigMapSpec `json:"configMapSpecs,omitempty" bounds:"max=20"`
}

// RuntimeVersions are the versions of the software in the image. They do not select the image, unless the image's name
// contains {{SPARK_VERSION}}.
type RuntimeVersions struct {
	// The Spark version inside the image, for example 4.1.4.
	// +kubebuilder:validation:MaxLength=256
	SparkVersion string `json:"sparkVersion" bounds:"max=256"`
	// The Scala version inside the image. It becomes a label of an application's pods and has no other effect.
	// +optional
	ScalaVersion string `json:"scalaVersion,omitempty"`
	// The Java version inside the image. It becomes a label of an application's pods and has no other effect.
	// +optional
	JDKVersion string `json:"jdkVersion,omitempty"`
}

// PodTemplate contains the pod template from which a pod is built.
type PodTemplate struct {
	// A Kubernetes pod template, kept as written. It takes precedence over
	// spark.kubernetes.{driver,executor}.podTemplateFile.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	PodTemplateSpec *runtime.RawExtension `json:"podTemplateSpec,omitempty" bounds:"as=PodTemplateSpec"`
}

// ConfigMapSpec describes a ConfigMap that the operator creates before the driver and deletes with the driver.
type ConfigMapSpec struct {
	// Name of the ConfigMap, which is created in the application's namespace.
	Name string `json:"name"`
	// Labels of the ConfigMap, beside the operator's own.
	// +kubebuilder:validation:XValidation:rule=`self.all(k, !k.startsWith('sparkoperator.dev/'))`,messageExpression=`'[' + self.filter(k, !(!k.startsWith('sparkoperator.dev/')))[0] + '] labels that begin with sparkoperator.dev/ are reserved for the operator; use another name'`,message="labels that begin with sparkoperator.dev/ are reserved for the operator; use another name"
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the ConfigMap, which are kept as written.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// Content of the ConfigMap: texts by key. A mounted key becomes a file.
	// +optional
	Data map[string]string `json:"data,omitempty"`
}
