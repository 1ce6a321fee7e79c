// Package submit builds what Spark's own Kubernetes client builds for one application in cluster mode: the driver pod, its ConfigMaps,
// its headless Service and the objects of optional features. Build is a pure function of a Request.
package submit

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// Request is all that Build reads. What spark-submit takes from its environment, its disk, the clock or a random source is a field here.
type Request struct {
	// SparkVersion is the version of Spark in the image, such as "4.1.4". It chooses the version's quirks.
	SparkVersion string
	// Namespace of every object; wins over spark.kubernetes.namespace.
	Namespace string
	// AppName is spark.app.name.
	AppName string
	// AppID is spark.app.id and the value of the label spark-app-selector.
	AppID string
	// ResourceNamePrefix begins the names of the objects that have no name of their own, such as "<prefix>-driver-svc".
	ResourceNamePrefix string
	// DriverPodName is the driver pod's name; empty means "<ResourceNamePrefix>-driver".
	DriverPodName string
	// ConfigMapName is the name of the driver's ConfigMap; empty means "spark-drv-<ResourceNamePrefix>-conf-map".
	ConfigMapName string
	// Master is spark.master, such as "k8s://https://kubernetes.default.svc".
	Master string
	// SubmitTime is spark.app.submitTime.
	SubmitTime time.Time
	// User is SPARK_USER in the driver; empty means "spark", the user of the official images.
	User string
	// Environment is what spark-submit reads from the submitter's environment: PYSPARK_PYTHON, PYSPARK_DRIVER_PYTHON, SPARK_LOCAL_DIRS,
	// SPARK_DRIVER_MEMORY and what "${env:NAME}" names. It is not the driver's environment.
	Environment map[string]string

	// MainClass is required for a Java or Scala application.
	MainClass string
	// Resource is the application's jar, .py or .R file, a URI; empty means spark-internal.
	Resource string
	// Arguments of the application.
	Arguments []string
	// ProxyUser is the user to impersonate.
	ProxyUser string

	// Conf is the application's Spark configuration, without what Build derives.
	Conf *conf.Conf
	// ConfFiles are further files of the driver's SPARK_CONF_DIR, by name.
	ConfFiles map[string]string
	// DriverTemplate and ExecutorTemplate are pod templates (a Pod or PodTemplateSpec as JSON), or nil.
	DriverTemplate   []byte
	ExecutorTemplate []byte

	// Driver and Executor are laid over the driver pod that Spark would build, and over the executor template.
	Driver   overlay.Overlay
	Executor overlay.Overlay

	// Owner owns every object; it is the controller of the driver pod.
	Owner metav1.OwnerReference
	// Labels are put on every object, executors included; they win over labels of the same key.
	Labels map[string]string
}

// Objects is what Build returns, in the order in which it should be created: everything before the pod.
type Objects struct {
	// Before holds ConfigMaps, Services, Secrets, NetworkPolicies and claims.
	Before []Object
	// Driver is the driver pod.
	Driver *corev1.Pod
	// Warnings are what the user should know, in plain words.
	Warnings []string
}

// Object is a Kubernetes object with its metadata.
type Object interface {
	metav1.Object
	runtime.Object
}
