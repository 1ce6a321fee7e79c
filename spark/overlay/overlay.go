// Package overlay applies a user's changes to a pod that Spark or submit.Build created.
//
// The function Apply serves the driver pod, the template of executor pods and a pod webhook. It follows three rules:
//
//   - It is idempotent: applying the same overlay again changes nothing.
//   - It loses nothing by accident: lists are extended, and an existing entry with the same name and another content is
//     an error that names the entry, unless the field is documented to replace entries.
//   - An empty field changes nothing.
package overlay

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Overlay is a set of changes to a pod and to one of its containers, the Spark container. The zero value changes
// nothing. Unless documented otherwise, fields have the meaning that they have in Kubernetes (k8s.io/api/core/v1).
type Overlay struct {
	// Labels and Annotations are merged into the pod's by key; the overlay wins.
	Labels      map[string]string
	Annotations map[string]string
	// OwnerReferences are added, unless the pod has one with the same UID.
	OwnerReferences []metav1.OwnerReference

	// Env is added to the Spark container. A variable that exists with another value is added again: in Kubernetes the
	// later one counts, and "$(NAME)" before it keeps its meaning. If a name occurs twice in Env, the last one counts.
	Env []corev1.EnvVar
	// EnvFrom is added to the Spark container, except for sources that it already has.
	EnvFrom []corev1.EnvFromSource

	// HadoopConfigMap names a ConfigMap with Hadoop's configuration files: a volume, a read-only mount at HadoopConfDir
	// and HADOOP_CONF_DIR.
	HadoopConfigMap string
	// SparkConfigMap names a ConfigMap with Spark's configuration files: a volume, a read-only mount at SparkConfDir
	// and SPARK_CONF_DIR.
	SparkConfigMap string
	// ConfigMaps are mounted read-only into the Spark container, each through a volume named by ConfigMapVolume.
	ConfigMaps []ConfigMap

	// Volumes are added to the pod by name.
	Volumes []corev1.Volume
	// VolumeMounts are added to the Spark container by path.
	VolumeMounts []corev1.VolumeMount
	// Ports are added to the Spark container; the same number and protocol under the same name is the same port.
	Ports []corev1.ContainerPort

	// HostNetwork true puts the pod into the node's network and sets the DNS policy for that; false changes nothing.
	HostNetwork bool
	// HostAliases are added, except for those that the pod already has.
	HostAliases []corev1.HostAlias
	// DNSConfig replaces the pod's.
	DNSConfig *corev1.PodDNSConfig

	// InitContainers and Sidecars are added to the pod's init containers and containers. An existing container with the
	// same name and image counts as the same, whatever else differs, because an API server fills in defaults.
	InitContainers []corev1.Container
	Sidecars       []corev1.Container

	// PriorityClassName replaces the pod's; priority and preemption policy that came from another class are cleared.
	PriorityClassName string
	// SchedulerName replaces the pod's.
	SchedulerName string
	// NodeSelector is merged by key; the overlay wins.
	NodeSelector map[string]string
	// Affinity replaces the pod's as a whole.
	Affinity *corev1.Affinity
	// Tolerations are added, except for those that the pod already has.
	Tolerations []corev1.Toleration

	// MemoryLimit replaces the memory limit of the Spark container. The request stays.
	MemoryLimit *resource.Quantity
	// GPU sets a limit for a device; ignored without a name or with a quantity of zero or less.
	GPU GPU

	// SecurityContext replaces the Spark container's.
	SecurityContext *corev1.SecurityContext
	// PodSecurityContext replaces the pod's.
	PodSecurityContext *corev1.PodSecurityContext

	// TerminationGracePeriodSeconds replaces the pod's.
	TerminationGracePeriodSeconds *int64
	// Lifecycle replaces the Spark container's.
	Lifecycle *corev1.Lifecycle
	// ShareProcessNamespace true is set on the pod; false changes nothing.
	ShareProcessNamespace bool

	// ServiceAccountName replaces the pod's, in both of its spellings.
	ServiceAccountName string
	// ImagePullSecrets are added by name.
	ImagePullSecrets []corev1.LocalObjectReference
	// EnableServiceLinks replaces the pod's.
	EnableServiceLinks *bool
	// TerminationMessagePolicy replaces the Spark container's.
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
	HadoopConfVolume = "hadoop-configmap-volume"
	SparkConfDir     = "/etc/spark/conf"
	SparkConfVolume  = "spark-configmap-volume"
)

// The names of the Spark containers.
const (
	DriverContainer = "spark-kubernetes-driver"
	// ExecutorContainer is Spark's default name for the executor's container.
	ExecutorContainer = "spark-kubernetes-executor"
	// OldExecutorContainer is the name that some templates use for it.
	OldExecutorContainer = "executor"
)
