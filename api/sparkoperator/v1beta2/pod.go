package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// SparkPodSpec contains the fields that driver and executor pods share.
type SparkPodSpec struct {
	// A pod template from which the pod is built (spark.kubernetes.{driver,executor}.podTemplateFile). The fields of
	// this resource take precedence over the template. The template is kept as written; if it is not a valid pod
	// template, a condition reports that.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Template *runtime.RawExtension `json:"template,omitempty" bounds:"as=PodTemplateSpec"`

	// CPU cores that Spark assumes (spark.{driver,executor}.cores). They are also the pod's CPU request, unless
	// coreRequest is set. Default 1.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Cores *int32 `json:"cores,omitempty"`

	// CPU limit of the pod as a Kubernetes quantity, for example 1200m
	// (spark.kubernetes.{driver,executor}.limit.cores). Default: no limit.
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.contains('${') || self.trim().matches(r'^[+\d.]*\d[\d.]*([KMGTPE]i?|[numk]|[eE][-+\d]+)?$')`,message="is not an amount of CPU; write one such as 500m or 2"
	// +optional
	CoreLimit *string `json:"coreLimit,omitempty"`

	// Heap size in Spark's notation: an integer and a unit, for example 4g or 512m (spark.{driver,executor}.memory).
	// Default 1g.
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.contains('${') || self.matches(r'(?i)^[\x00- ]*\d*[1-9]\d*[kmgtp]?b?[\x00- ]*$')`,message="is not a size that Spark reads; write a whole number and a unit, such as 512m or 4g"
	// +optional
	Memory *string `json:"memory,omitempty"`

	// Memory limit of the Spark container, for example 2g or 2Gi, instead of heap plus overhead. The request does not
	// change. Spark overwrites the limit of executors, so it has an effect on them only if the operator was installed
	// with changes of executors at admission, which is the default of its chart; otherwise the condition
	// FieldsOverwritten reports it. It has no effect on drivers that spark-submit creates; use memoryOverhead instead.
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.contains('${') || self.matches(r'(?i)^[^!-~]*[+\d.]*[1-9][\d.]*([kmgtp]?b?|[kmgtpe]i|[nue]|e[-+\d]+)[^!-~]*$')`,message="is not a memory size; write one such as 512m, 2g or 2Gi"
	// +optional
	MemoryLimit *string `json:"memoryLimit,omitempty"`

	// Memory outside the heap, in Spark's notation (spark.{driver,executor}.memoryOverhead). A number without a unit is
	// in MiB. Default: a share of the heap, at least 384m.
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.contains('${') || self.matches(r'(?i)^[\x00- ]*\d+[kmgtp]?b?[\x00- ]*$')`,message="is not a size that Spark reads; write a whole number and a unit, such as 512m or 4g"
	// +optional
	MemoryOverhead *string `json:"memoryOverhead,omitempty"`

	// GPUs that the Spark container gets, as a limit of an extended resource. Default: none.
	// +optional
	GPU *GPUSpec `json:"gpu,omitempty"`

	// The image, instead of the application's (spark.kubernetes.{driver,executor}.container.image).
	// +optional
	Image *string `json:"image,omitempty"`

	// ConfigMaps that are mounted into the Spark container, each at a path.
	// +optional
	ConfigMaps []NamePath `json:"configMaps,omitempty"`

	// Secrets to mount (spark.kubernetes.{driver,executor}.secrets.NAME).
	// +optional
	Secrets []SecretInfo `json:"secrets,omitempty"`

	// Environment variables of the Spark container.
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`

	// Environment variables by name and value (spark.kubernetes.driverEnv.NAME, spark.executorEnv.NAME). Deprecated:
	// use env.
	// +optional
	EnvVars map[string]string `json:"envVars,omitempty"`

	// ConfigMaps and Secrets. Each of their keys becomes an environment variable of the Spark container.
	// +optional
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`

	// Environment variables from keys of Secrets (spark.kubernetes.{driver,executor}.secretKeyRef.NAME). Deprecated:
	// use env.
	// +optional
	EnvSecretKeyRefs map[string]NameKey `json:"envSecretKeyRefs,omitempty"`

	// Labels of the pod (spark.kubernetes.{driver,executor}.label.NAME). Labels that Spark and the operator set take
	// precedence.
	// +kubebuilder:validation:XValidation:rule=`self.all(k, !k.startsWith('sparkoperator.dev/'))`,messageExpression=`'[' + self.filter(k, !(!k.startsWith('sparkoperator.dev/')))[0] + '] labels that begin with sparkoperator.dev/ are reserved for the operator; use another name'`,message="labels that begin with sparkoperator.dev/ are reserved for the operator; use another name"
	// +kubebuilder:validation:XValidation:rule=`self.all(k, !(k in ['spark-role', 'spark-version', 'spark-app-selector', 'spark-app-name']))`,messageExpression=`'[' + self.filter(k, k in ['spark-role', 'spark-version', 'spark-app-selector', 'spark-app-name'])[0] + '] is Spark\'s own label and cannot be set; remove it'`,message="is Spark's own label and cannot be set; remove it"
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations of the pod (spark.kubernetes.{driver,executor}.annotation.NAME).
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// Mounts of the application's volumes in the Spark container.
	// +optional
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`

	// Affinity and anti-affinity of the pod to nodes and other pods.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// Taints that the pod tolerates.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// Security settings of the pod, which hold for all its containers.
	// +optional
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`

	// Security settings of the Spark container.
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`

	// Name of the scheduler that places the pod. Default: the cluster's default scheduler.
	// +optional
	SchedulerName *string `json:"schedulerName,omitempty"`

	// Additional containers of the pod. The application ends when the Spark container ends.
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Sidecars []corev1.Container `json:"sidecars,omitempty" bounds:"max=100"`

	// Containers that run to completion before the Spark container starts.
	// +kubebuilder:validation:MaxItems=100
	// +optional
	InitContainers []corev1.Container `json:"initContainers,omitempty" bounds:"max=100"`

	// Whether the pod uses the node's network.
	// +optional
	HostNetwork *bool `json:"hostNetwork,omitempty"`

	// Node labels that the pod needs (spark.kubernetes.{driver,executor}.node.selector.NAME). This field cannot be
	// combined with the application's nodeSelector.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// DNS settings of the pod.
	// +optional
	DNSConfig *corev1.PodDNSConfig `json:"dnsConfig,omitempty"`

	// Seconds between the request to stop the pod and its kill.
	// +optional
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`

	// The service account of the pod (spark.kubernetes.authenticate.{driver,executor}.serviceAccountName). The driver's
	// account must be allowed to create executor pods.
	// +optional
	ServiceAccount *string `json:"serviceAccount,omitempty"`

	// Entries of the pod's hosts file.
	// +optional
	HostAliases []corev1.HostAlias `json:"hostAliases,omitempty"`

	// Whether the pod's containers see each other's processes. Only true has an effect.
	// +optional
	ShareProcessNamespace *bool `json:"shareProcessNamespace,omitempty"`
}

// DriverSpec describes the driver pod.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.coreLimit) || !has(self.coreRequest) || !self.coreLimit.matches(r'^[\d.]{1,9}m?$') || !self.coreRequest.matches(r'^[\d.]{1,9}m?$') || quantity(self.coreLimit).compareTo(quantity(self.coreRequest)) >= 0`,messageExpression=`'is below the request, "' + self.coreRequest + '"; raise it, or lower the request'`,message="is below the request; raise it, or lower the request",fieldPath=".coreLimit"
// +kubebuilder:validation:XValidation:rule=`!has(self.memory) || self.memory.size() == 0 || self.memory.contains('${') || !self.memory.matches(r'(?i)[\dbp][^!-~]*$')`,message="becomes the option -Xmx of the driver's JVM, which reads it differently (a number without unit is bytes there); use one of the units k, m, g or t, such as 512m or 2g",fieldPath=".memory"
type DriverSpec struct {
	SparkPodSpec `json:",inline"`

	// Name of the driver pod (spark.kubernetes.driver.pod.name). Default: the application's name and "-driver".
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="is not a valid pod name: use at most 253 lower case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	// +optional
	PodName *string `json:"podName,omitempty"`

	// CPU request of the pod as a Kubernetes quantity, for example 500m, instead of cores
	// (spark.kubernetes.driver.request.cores).
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.contains('${') || self.trim().matches(r'^[+\d.]*\d[\d.]*([KMGTPE]i?|[numk]|[eE][-+\d]+)?$')`,message="is not an amount of CPU; write one such as 500m or 2"
	// +optional
	CoreRequest *string `json:"coreRequest,omitempty"`

	// Options of the driver's JVM (spark.driver.extraJavaOptions). They must not set the heap size: use memory.
	// +optional
	JavaOptions *string `json:"javaOptions,omitempty"`

	// Hooks that run right after the Spark container's start and right before its stop.
	// +optional
	Lifecycle *corev1.Lifecycle `json:"lifecycle,omitempty"`

	// Address of the API server to which the driver connects (spark.kubernetes.driver.master). Default: the cluster's
	// own API server.
	// +kubebuilder:validation:XValidation:rule=`(self.startsWith('k8s://') ? self.substring(6) : self).matches('^https?://') || !(self.startsWith('k8s://') ? self.substring(6) : self).contains('://')`,message="is not the address of an API server; write one such as https://kubernetes.default.svc"
	// +optional
	KubernetesMaster *string `json:"kubernetesMaster,omitempty"`

	// Annotations of the driver's headless Service (spark.kubernetes.driver.service.annotation.NAME).
	// +optional
	ServiceAnnotations map[string]string `json:"serviceAnnotations,omitempty"`

	// Labels of the driver's headless Service (spark.kubernetes.driver.service.label.NAME).
	// +kubebuilder:validation:XValidation:rule=`self.all(k, !k.startsWith('sparkoperator.dev/'))`,messageExpression=`'[' + self.filter(k, !(!k.startsWith('sparkoperator.dev/')))[0] + '] labels that begin with sparkoperator.dev/ are reserved for the operator; use another name'`,message="labels that begin with sparkoperator.dev/ are reserved for the operator; use another name"
	// +optional
	ServiceLabels map[string]string `json:"serviceLabels,omitempty"`

	// Additional ports of the Spark container.
	// +optional
	Ports []Port `json:"ports,omitempty"`

	// Priority class of the driver pod. Default: the cluster's default priority.
	// +optional
	PriorityClassName *string `json:"priorityClassName,omitempty"`
}

// ExecutorSpec describes the executor pods.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.coreLimit) || !has(self.coreRequest) || !self.coreLimit.matches(r'^[\d.]{1,9}m?$') || !self.coreRequest.matches(r'^[\d.]{1,9}m?$') || quantity(self.coreLimit).compareTo(quantity(self.coreRequest)) >= 0`,messageExpression=`'is below the request, "' + self.coreRequest + '"; raise it, or lower the request'`,message="is below the request; raise it, or lower the request",fieldPath=".coreLimit"
type ExecutorSpec struct {
	SparkPodSpec `json:",inline"`

	// The number of executors (spark.executor.instances). With dynamic allocation, the initial number, which may be 0.
	// Default 1.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Instances *int32 `json:"instances,omitempty"`

	// CPU request of the pods as a Kubernetes quantity, for example 500m, instead of cores
	// (spark.kubernetes.executor.request.cores).
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.contains('${') || self.trim().matches(r'^[+\d.]*\d[\d.]*([KMGTPE]i?|[numk]|[eE][-+\d]+)?$')`,message="is not an amount of CPU; write one such as 500m or 2"
	// +optional
	CoreRequest *string `json:"coreRequest,omitempty"`

	// Options of the executors' JVMs (spark.executor.extraJavaOptions). They must not set the heap size: use memory.
	// +optional
	JavaOptions *string `json:"javaOptions,omitempty"`

	// Hooks that run right after the Spark container's start and right before its stop.
	// +optional
	Lifecycle *corev1.Lifecycle `json:"lifecycle,omitempty"`

	// Whether the driver deletes executor pods that failed or completed
	// (spark.kubernetes.executor.deleteOnTermination). Spark's default is true.
	// +optional
	DeleteOnTermination *bool `json:"deleteOnTermination,omitempty"`

	// Additional ports of the Spark container.
	// +optional
	Ports []Port `json:"ports,omitempty"`

	// Priority class of the executor pods. Default: the cluster's default priority.
	// +optional
	PriorityClassName *string `json:"priorityClassName,omitempty"`
}

// GPUSpec requests GPUs or another extended resource for the Spark container.
type GPUSpec struct {
	// The resource's name, for example nvidia.com/gpu.
	Name string `json:"name"`
	// How many GPUs each Spark container gets.
	Quantity int64 `json:"quantity"`
}

// NamePath names an object, such as a ConfigMap, and the path at which it is mounted.
type NamePath struct {
	// Name of the object, which is in the application's namespace.
	Name string `json:"name"`
	// Directory at which the object is mounted.
	Path string `json:"path"`
}

// SecretType says what a Secret is used for. Unknown values have the meaning of SecretTypeGeneric.
type SecretType string

// The known types of Secrets.
const (
	// SecretTypeGCPServiceAccount is a Google service account. The variable GOOGLE_APPLICATION_CREDENTIALS names its
	// file key.json.
	SecretTypeGCPServiceAccount SecretType = "GCPServiceAccount"
	// SecretTypeHadoopDelegationToken is a Hadoop delegation token. The variable HADOOP_TOKEN_FILE_LOCATION names its
	// file hadoop.token.
	SecretTypeHadoopDelegationToken SecretType = "HadoopDelegationToken"
	// SecretTypeGeneric is any other Secret. It is only mounted.
	SecretTypeGeneric SecretType = "Generic"
)

// SecretInfo names a Secret, the path at which it is mounted, and its type.
type SecretInfo struct {
	// Name of the Secret, which is in the application's namespace.
	Name string `json:"name"`
	// Directory at which the Secret is mounted.
	Path string `json:"path"`
	// Purpose of the Secret. For GCPServiceAccount and HadoopDelegationToken, an environment variable also names its
	// file. Any other value, such as Generic, only mounts the Secret.
	Type SecretType `json:"secretType"`
}

// NameKey names an object, such as a Secret, and one of its keys.
type NameKey struct {
	// Name of the object, which is in the application's namespace.
	Name string `json:"name"`
	// The key whose value is used.
	Key string `json:"key"`
}

// Port is a port of a container.
type Port struct {
	// Name of the port, which is unique in the pod.
	Name string `json:"name"`
	// TCP, UDP or SCTP.
	Protocol string `json:"protocol"`
	// Number of the port, from 1 to 65535.
	ContainerPort int32 `json:"containerPort"`
}
