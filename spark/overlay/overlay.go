// Package overlay applies a user's changes to a pod that Spark or native.Build created.
//
// Apply is used for driver pods and for the template of executor pods. It follows three rules:
//
//   - It is idempotent: applying the same overlay again changes nothing.
//   - It loses nothing by accident: lists are extended, and an existing entry with the same name but different content
//     is an error that names the entry, unless the field is documented to replace entries.
//   - An empty field changes nothing.
//
// # Compatibility
//
// The package is part of the library that package spark/submit describes, and follows semantic versioning with the
// module.
package overlay

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Overlay is a set of changes to a pod and to one of its containers, the Spark container. The zero value changes
// nothing. Unless documented otherwise, fields have the meaning that they have in Kubernetes (k8s.io/api/core/v1).
type Overlay struct {
	// Labels and Annotations are merged into the pod's labels and annotations by key. If a key exists in both, the
	// overlay's value counts.
	Labels      map[string]string
	Annotations map[string]string
	// OwnerReferences are added, unless the pod has an owner reference with the same UID.
	OwnerReferences []metav1.OwnerReference

	// Env is added to the Spark container. A variable that exists with another value is added again at the end: in
	// Kubernetes the last one counts, and references "$(NAME)" of variables in between keep their meaning. If a name
	// occurs twice in Env, the last one counts.
	Env []corev1.EnvVar
	// EnvFrom is added to the Spark container, except for sources that it already has.
	EnvFrom []corev1.EnvFromSource

	// HadoopConfigMap is the name of a ConfigMap with Hadoop's configuration files. Apply adds a volume, a read-only
	// mount at HadoopConfDir, and the variable HADOOP_CONF_DIR.
	HadoopConfigMap string
	// SparkConfigMap is the name of a ConfigMap with Spark's configuration files. Apply adds a volume, a read-only
	// mount at SparkConfDir, and the variable SPARK_CONF_DIR.
	SparkConfigMap string
	// ConfigMaps are mounted read-only into the Spark container, each through a volume with the
	// name "<name>-vol", or a shorter one with a digest of the name.
	ConfigMaps []ConfigMap

	// Volumes are added to the pod. A volume is identified by its name.
	Volumes []corev1.Volume
	// VolumeMounts are added to the Spark container. A mount is identified by its path.
	VolumeMounts []corev1.VolumeMount
	// Ports are added to the Spark container. A port with the same number, protocol and name as an existing port is the
	// same port.
	Ports []corev1.ContainerPort

	// HostNetwork puts the pod into the node's network if it is true, and sets the DNS policy that this requires. If it
	// is false, it changes nothing.
	HostNetwork bool
	// HostAliases are added, except for those that the pod already has.
	HostAliases []corev1.HostAlias
	// DNSConfig replaces the pod's DNS configuration.
	DNSConfig *corev1.PodDNSConfig

	// InitContainers and Sidecars are added to the pod's init containers and containers. A container that has the same
	// name and image as an existing one is not added, even if other fields differ, because an API server fills in
	// defaults.
	InitContainers []corev1.Container
	Sidecars       []corev1.Container

	// PriorityClassName replaces the pod's priority class. A priority and a preemption policy that come from another
	// class are removed.
	PriorityClassName string
	// SchedulerName replaces the pod's scheduler name.
	SchedulerName string
	// NodeSelector is merged into the pod's node selector by key. If a key exists in both, the overlay's value counts.
	NodeSelector map[string]string
	// Affinity replaces the pod's whole affinity.
	Affinity *corev1.Affinity
	// Tolerations are added, except for those that the pod already has.
	Tolerations []corev1.Toleration

	// MemoryLimit replaces the memory limit of the Spark container. The memory request does not change.
	MemoryLimit *resource.Quantity
	// GPU sets a limit for a device, and its request if the container has one. It is ignored if its name is empty or its
	// quantity is zero or less.
	GPU GPU

	// SecurityContext replaces the Spark container's security context.
	SecurityContext *corev1.SecurityContext
	// PodSecurityContext replaces the pod's security context.
	PodSecurityContext *corev1.PodSecurityContext

	// TerminationGracePeriodSeconds replaces the pod's grace period.
	TerminationGracePeriodSeconds *int64
	// Lifecycle replaces the Spark container's lifecycle hooks.
	Lifecycle *corev1.Lifecycle
	// ShareProcessNamespace is set on the pod if it is true. If it is false, it changes nothing.
	ShareProcessNamespace bool

	// ServiceAccountName replaces the pod's service account, in both fields that a pod has for it.
	ServiceAccountName string
	// ImagePullSecrets are added, except for Secrets whose names the pod already has.
	ImagePullSecrets []corev1.LocalObjectReference
	// EnableServiceLinks replaces the pod's value.
	EnableServiceLinks *bool
	// TerminationMessagePolicy replaces the Spark container's policy.
	TerminationMessagePolicy corev1.TerminationMessagePolicy
}

// ConfigMap is a ConfigMap in the pod's namespace, and the directory at which the ConfigMap's keys are mounted as
// files.
type ConfigMap struct {
	Name string
	Path string
}

// GPU is a device resource, such as nvidia.com/gpu, and its amount.
type GPU struct {
	Name     string
	Quantity int64
}

// The paths at which HadoopConfigMap and SparkConfigMap are mounted, and the names of their volumes.
const (
	HadoopConfDir    = "/etc/hadoop/conf"
	hadoopConfVolume = "hadoop-configmap-volume"
	SparkConfDir     = "/etc/spark/conf"
	sparkConfVolume  = "spark-configmap-volume"
)

// The names of the Spark containers.
const (
	DriverContainer = "spark-kubernetes-driver"
	// ExecutorContainer is Spark's default name for the executor's container.
	ExecutorContainer = "spark-kubernetes-executor"
)
