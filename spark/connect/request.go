package connect

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// Request is the complete input of Build and Service.
type Request struct {
	// Name is the name of the server. All other names are derived from it: "<name>-server", "<name>-conf", and
	// "<name>-exec-1" for executors. It is a DNS label of at most 56 characters that begins with a letter, since the
	// Service's name is derived from it.
	Name string
	// Namespace is the namespace of every object and of the executors. It overrides spark.kubernetes.namespace.
	Namespace string
	// SparkVersion is the version of Spark in the image, such as "4.1.4". It is the label spark-version if it is a
	// valid label value.
	SparkVersion string
	// Image is the image of the server and the executors, unless their templates name an image. It may be empty if the
	// templates name images, or if Conf has spark.kubernetes.driver.container.image,
	// spark.kubernetes.executor.container.image or spark.kubernetes.container.image.
	Image string
	// Master is the value of spark.master; empty means submit.DefaultMaster.
	Master string

	// Conf contains the user's configuration and the keys that the caller derives from its own fields, such as
	// spark.driver.cores. Every value reaches Spark unchanged, except for the keys that Build sets itself (see Build):
	// Build overrides them with a warning.
	Conf *conf.Conf
	// ServerTemplate and ExecutorTemplate are pod templates (a Pod or PodTemplateSpec as JSON or YAML), or nil. Build
	// keeps fields that the types of k8s.io/api do not have.
	ServerTemplate   []byte
	ExecutorTemplate []byte

	// Owner is the controller of every object. If its UID is empty, the objects have no owner. Executors are owned only
	// by the server's pod, as Spark sets it.
	Owner metav1.OwnerReference
	// Labels are set on the server's pod, the ConfigMap and, through the configuration, on the executors; they override
	// labels of the same key. They identify an attempt and cannot be Spark's own labels (spark-role, spark-version,
	// spark-app-selector, spark-app-name).
	Labels map[string]string
	// ObjectLabels are set on the ConfigMap, in addition to Labels, and on the Service, which does not get Labels. They
	// are the same for every attempt.
	ObjectLabels map[string]string
	// Selector is the part of Labels that the pods of every attempt have, and no other pods. The Service selects pods
	// by Selector and by the role connect-server. It never selects by a version or an attempt, because it must find the
	// next server too.
	Selector map[string]string
	// Reserved is a prefix of names. The labels and annotations of the user's Service must not have this prefix, since
	// the caller identifies its objects by labels and annotations with it. Empty means that no prefix is reserved.
	Reserved string
	// Annotations are set on the server's pod; they override the template's.
	Annotations map[string]string
}

// Objects is the result of Build. The caller must create the objects in the order of the fields.
type Objects struct {
	// Config is the server's ConfigMap, which is immutable.
	Config *corev1.ConfigMap
	// Secret contains the properties file if a value looks like a secret, so that neither the pod nor the ConfigMap
	// contains that value. It is immutable, and nil if no value looks like a secret.
	Secret *corev1.Secret
	// Server is the server's pod.
	Server *corev1.Pod
	// Container is the name of the Spark container of the server's pod.
	Container string
	// ServerExtra contains the fields of the server's template that the types of k8s.io/api do not have, in the form of
	// submit.Objects.DriverExtra. The caller must create the object that submit.Objects.DriverObject builds from Server
	// and ServerExtra. ServerExtra is nil if there are no such fields.
	ServerExtra map[string]any
	// Warnings are messages for the user.
	Warnings []Warning
}

// Warning describes a setting that has no effect or may be wrong. Unlike an error, it does not prevent Build from
// returning the objects.
type Warning = conf.Warning

// ServerName returns the name of a server's pod, "<name>-server". The server's Service has the same name unless the
// user names the Service.
func ServerName(name string) string { return name + "-server" }

// secretName returns the name of a server's Secret: "<name>-conf-" and eight hexadecimal digits, which depend on the
// owner's UID.
func secretName(name string, owner types.UID) string {
	return configMapName(name) + "-" + digest(string(owner))
}

// configMapName returns the name of a server's ConfigMap: "<name>-conf".
func configMapName(name string) string { return name + "-conf" }
