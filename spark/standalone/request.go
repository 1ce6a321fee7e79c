package standalone

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// Request is the complete input of Build.
type Request struct {
	// Name is the name of the cluster. All other names are derived from it. It is a DNS label that begins with a letter
	// and has at most 45 characters.
	Name string
	// Namespace is the namespace of every object. It overrides spark.kubernetes.namespace.
	Namespace string
	// SparkVersion is the version of Spark in the image, such as "4.1.4". It is the value of the label spark-version,
	// the tag of the default image, and the replacement for "{{SPARK_VERSION}}" in the configured image.
	SparkVersion string
	// OperatorName is the value of LabelOperatorName.
	OperatorName string
	// ClusterDomain is the DNS domain of Services, which is part of the workers' search domain. Empty means
	// "cluster.local".
	ClusterDomain string

	// Conf is the user's configuration of both daemons. Every value reaches the daemons unchanged.
	Conf *conf.Conf
	// Master and Workers are the user's templates.
	Master, Workers Member
	// Autoscaler is the spec of a HorizontalPodAutoscaler (autoscaling/v2) as JSON or YAML, or nil. Its metrics and
	// behavior replace the defaults.
	Autoscaler []byte
	// InitWorkers is the initial number of workers. If MinWorkers is less than MaxWorkers, an autoscaler changes the
	// number between MinWorkers and MaxWorkers. Otherwise the number is constant.
	InitWorkers, MinWorkers, MaxWorkers int64

	// Metrics opens a port of the workers. The zero value opens none.
	Metrics MetricsAccess

	// Submitters are the pods that may send applications to the master: SubmitterDrivers (the default),
	// SubmitterNamespace or SubmitterAnyone.
	Submitters string

	// Owner is the controller of every object. If its UID is empty, the objects have no owner.
	Owner metav1.OwnerReference
	// Labels are set on every object and on the pods; they override labels of the same key. They cannot be labels that
	// Build sets itself.
	Labels map[string]string
	// Reserved is a prefix that labels and annotations of templates must not have, since the caller identifies its
	// objects by labels and annotations with this prefix. Empty means that no prefix is reserved.
	Reserved string
	// DigestAnnotation is the annotation of the pods that contains a digest of their template and configuration, so
	// that a change of either replaces the pods. Empty means DefaultDigestAnnotation.
	DigestAnnotation string
	// Restart identifies the last request to replace all pods without any other change. It is a part of the digest in
	// DigestAnnotation. Empty means that there was no request.
	Restart string
}

// MetricsAccess lets clients connect to one port of the workers.
type MetricsAccess struct {
	// Port is the port at which the workers serve metrics. It must not be a port of Spark itself.
	Port int64
	// From are the clients. If there are none, the port is not opened.
	From []networkingv1.NetworkPolicyPeer
}

// Member contains the user's templates for the objects of the master, or for the objects of the workers.
type Member struct {
	// StatefulSet and Service are specs (apps/v1 StatefulSetSpec, core/v1 ServiceSpec) as JSON or YAML, or nil. Build
	// keeps fields that the types of k8s.io/api do not have.
	StatefulSet, Service []byte
	// StatefulSetMeta and ServiceMeta are the metadata of the two objects.
	StatefulSetMeta, ServiceMeta Metadata
}

// Metadata is the metadata that users can set. Its Name and Namespace have no effect.
type Metadata struct {
	Name, Namespace     string
	Labels, Annotations map[string]string
}

// Object is a Kubernetes object, including its metadata.
type Object interface {
	metav1.Object
	runtime.Object
}

// Objects is the result of Build.
type Objects struct {
	// Config contains the options of both daemons that are not secret. The caller updates it in place, and pods read it
	// when they start.
	Config *corev1.ConfigMap
	// Secret contains the options that look like secrets. It is nil if there are none. It is immutable, and its name
	// contains a digest of its content. So a caller that may not read Secrets can create it: an existing Secret of that
	// name has the same content.
	Secret *corev1.Secret
	// MasterService and WorkerService are headless Services.
	MasterService, WorkerService *corev1.Service
	// Master has one replica. Workers has the initial number of replicas; if there is an Autoscaler, the autoscaler
	// changes the number of replicas of an existing StatefulSet.
	Master, Workers *appsv1.StatefulSet
	// Policy admits only the cluster's pods and the namespace's drivers to the workers, and the clients of Metrics to
	// their port.
	Policy *networkingv1.NetworkPolicy
	// MasterPolicy lets only the cluster's pods and the Request's Submitters send applications to the master. It is nil
	// for SubmitterAnyone.
	MasterPolicy *networkingv1.NetworkPolicy
	// Autoscaler is nil unless MinWorkers is less than MaxWorkers.
	Autoscaler *autoscalingv2.HorizontalPodAutoscaler
	// Budget prevents voluntary disruptions from evicting the last worker; it is nil if MinWorkers is less than 1.
	Budget *policyv1.PodDisruptionBudget
	// Warnings are messages for the user.
	Warnings []Warning

	// extra contains, for each object, the fields of its template that the Go types do not have.
	extra map[Object]map[string]any
}

// Warning describes a setting that has no effect or may be wrong. Unlike an error, it does not prevent Build from
// returning the objects.
type Warning = conf.Warning

// Error is the reason why Build rejects a Request. It names a configuration Key or a Field of Request. A Field may
// continue with the path inside a template, such as "Master.StatefulSet.template.spec.volumes".
type Error struct {
	Key, Field string
	// Message says what is wrong and what to do. It contains no secret.
	Message string
	// Missing is true if the request lacks a value that the platform's defaults or a later edit may add.
	Missing bool
}

// Error returns the key or field, then the message.
func (e *Error) Error() string {
	if e.Key != "" {
		return conf.Shorten(e.Key) + ": " + e.Message
	}
	return e.Field + ": " + e.Message
}
