package connect

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// Request is all that Build and Service read.
type Request struct {
	// Name of the server, from which all names follow: "<name>-server", "<name>-conf", executors "<name>-exec-1". A DNS label of at most 56
	// characters that begins with a letter, since the Service is named after it.
	Name string
	// Namespace of every object and of the executors; wins over spark.kubernetes.namespace.
	Namespace string
	// SparkVersion is the version of Spark in the image, such as "4.1.4": the label spark-version, where it can be one.
	SparkVersion string
	// Image of the server and the executors, where their templates name none. It may be empty if they do, or if Conf has
	// spark.kubernetes.driver.container.image, spark.kubernetes.executor.container.image or spark.kubernetes.container.image.
	Image string
	// Master is spark.master; empty means DefaultMaster.
	Master string

	// Conf is the configuration: the user's, and what the caller makes of its own fields, such as spark.driver.cores. Every value reaches Spark as it
	// is. What Build decides itself (see Build) wins, with a warning.
	Conf *conf.Conf
	// ServerTemplate and ExecutorTemplate are pod templates (a Pod or PodTemplateSpec as JSON or YAML), or nil. Fields that k8s.io/api does not know
	// are kept.
	ServerTemplate   []byte
	ExecutorTemplate []byte

	// Owner owns every object as its controller. Without a UID nothing is owned. Executors are owned by the server's pod alone, as Spark has it.
	Owner metav1.OwnerReference
	// Labels are put on the server's pod, the ConfigMap and, through the configuration, on the executors; they win over labels of the same key. They
	// are what an attempt is known by, and cannot be Spark's own (spark-role, spark-version, spark-app-selector, spark-app-name).
	Labels map[string]string
	// ObjectLabels are put on the ConfigMap, beside Labels, and on the Service, which has no Labels: they are the same for every attempt.
	ObjectLabels map[string]string
	// Selector are those of Labels that every attempt has and nobody else's pod. The Service selects by them and by the role connect-server, never by
	// a version or an attempt: it must find the next server, too.
	Selector map[string]string
	// Reserved begins the names of labels and annotations that a Service's base may not have, since the caller knows its objects by them; empty
	// reserves none.
	Reserved string
	// Annotations are put on the server's pod; they win over the template's.
	Annotations map[string]string
}

// Objects is what Build returns, in the order in which it should be created.
type Objects struct {
	// Config is the ConfigMap of the server, immutable.
	Config *corev1.ConfigMap
	// Secret holds the values that look like secrets, as a file of properties, so that they are neither in the pod nor in the ConfigMap. It is immutable,
	// and nil where no value looks like one.
	Secret *corev1.Secret
	// Server is the server's pod.
	Server *corev1.Pod
	// ServerExtra are fields of the server's template that k8s.io/api does not know, as submit.Objects.DriverExtra has them: create what
	// submit.Objects.DriverObject makes of the two. It is nil where there are none.
	ServerExtra map[string]any
	// Warnings are what the user should know.
	Warnings []Warning
}

// Warning tells of something that is said in vain, or may be wrong, about what is made all the same.
type Warning = conf.Warning

// ServerName is the name of the pod of a server, and of its Service where the user names none: "<name>-server".
func ServerName(name string) string { return name + "-server" }

// SecretName is the name of the Secret of a server whose owner has a UID: "<name>-conf-" and eight hexadecimal digits.
func SecretName(name string, owner types.UID) string {
	return ConfigMapName(name) + "-" + digest(string(owner))
}

// ConfigMapName is the name of a server's ConfigMap: "<name>-conf".
func ConfigMapName(name string) string { return name + "-conf" }
