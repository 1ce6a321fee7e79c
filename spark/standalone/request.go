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

// Request is all that Build reads.
type Request struct {
	// Name of the cluster, from which all names follow. A DNS label that begins with a letter, of at most MaxName characters.
	Name string
	// Namespace of every object; wins over spark.kubernetes.namespace.
	Namespace string
	// SparkVersion is the version of Spark in the image, such as "4.1.4": the label spark-version, the default image's tag, and what "{{SPARK_VERSION}}" in the
	// configured image stands for.
	SparkVersion string
	// OperatorName is the value of LabelOperatorName.
	OperatorName string
	// ClusterDomain ends the names of Services; empty means "cluster.local". The workers' search domain needs it.
	ClusterDomain string

	// Conf is the user's configuration, of both daemons. Every value arrives as it is.
	Conf *conf.Conf
	// Master and Workers are what the user's templates say.
	Master, Workers Member
	// Autoscaler is the spec of a HorizontalPodAutoscaler (autoscaling/v2) as JSON or YAML, or nil: its metrics and behavior are taken instead of the defaults.
	Autoscaler []byte
	// InitWorkers is how many workers there are at first. Where MinWorkers is less than MaxWorkers an autoscaler moves them between the two; else it is how
	// many there are.
	InitWorkers, MinWorkers, MaxWorkers int64

	// Submitters may send applications to the master: SubmitterDrivers, which is the default, SubmitterNamespace or SubmitterAnyone.
	Submitters string

	// Owner owns every object as its controller. Without a UID nothing is owned.
	Owner metav1.OwnerReference
	// Labels are put on every object and on the pods; they win over labels of the same key. They cannot be those that Build sets itself.
	Labels map[string]string
	// Reserved begins the names of labels and annotations that templates may not have, since the caller knows its objects by them; empty reserves none.
	Reserved string
	// DigestAnnotation is the annotation of the pods that holds a digest of what they are made of, their configuration with it, so that pods are replaced
	// when that changes; empty means DefaultDigestAnnotation.
	DigestAnnotation string
}

// Member is what a user says about the objects of the master, or of the workers.
type Member struct {
	// StatefulSet and Service are specs (apps/v1 StatefulSetSpec, core/v1 ServiceSpec) as JSON or YAML, or nil. Fields that k8s.io/api does not know are kept.
	StatefulSet, Service []byte
	// StatefulSetMeta and ServiceMeta are metadata.
	StatefulSetMeta, ServiceMeta Metadata
}

// Metadata is what of an object's metadata is the user's to say. Name and Namespace have no effect.
type Metadata struct {
	Name, Namespace     string
	Labels, Annotations map[string]string
}

// Object is what can be created in a cluster.
type Object interface {
	metav1.Object
	runtime.Object
}

// Objects is what Build returns.
type Objects struct {
	// Config has the options of both daemons that are no secrets. It is replaced in place; pods read it when they start.
	Config *corev1.ConfigMap
	// Secret has the options that look secret; nil where there are none. Its name holds a digest of its content and it is immutable, so that it can be made
	// by somebody who may not read Secrets: one of its name that exists already is as it should be.
	Secret *corev1.Secret
	// MasterService and WorkerService are headless.
	MasterService, WorkerService *corev1.Service
	// Master has one replica. Workers has as many as there are at first: where there is an Autoscaler, the number of one that exists is the Autoscaler's.
	Master, Workers *appsv1.StatefulSet
	// Policy lets the cluster's pods and the namespace's drivers reach the workers, and nobody else.
	Policy *networkingv1.NetworkPolicy
	// MasterPolicy lets the cluster's pods and the Request's Submitters send applications to the master, and nobody else. It is nil for SubmitterAnyone.
	MasterPolicy *networkingv1.NetworkPolicy
	// Autoscaler is nil where MinWorkers is not less than MaxWorkers.
	Autoscaler *autoscalingv2.HorizontalPodAutoscaler
	// Budget keeps voluntary disruptions from taking the last worker; nil where MinWorkers is less than 1.
	Budget *policyv1.PodDisruptionBudget
	// Warnings are what the user should know.
	Warnings []Warning

	// extra are the fields of templates that no type knows, by the object they belong to.
	extra map[Object]map[string]any
}

// Warning tells of something that is said in vain, or may be wrong, about what is made all the same.
type Warning = conf.Warning

// Error says why no cluster can be made of a Request: the configuration Key, or else the Field of Request, with the path inside of a template behind it, such as
// "Master.StatefulSet.template.spec.volumes".
type Error struct {
	Key, Field string
	// Message says what is wrong and the way out, in plain words; no secret is in it.
	Message string
}

// Error is the message behind what it is about.
func (e *Error) Error() string {
	if e.Key != "" {
		return conf.Shorten(e.Key) + ": " + e.Message
	}
	return e.Field + ": " + e.Message
}
