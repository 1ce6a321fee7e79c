package submit

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// Request is the complete input of Build. It has a field for everything that spark-submit takes from its environment,
// its disk, the clock or a random source.
type Request struct {
	// SparkVersion is the version of Spark in the image, such as "4.1.4". It selects the quirks of the Spark line.
	SparkVersion string
	// StrictVersion rejects a version that is not in the table, instead of building for the nearest line with a
	// warning.
	StrictVersion bool
	// Namespace is the namespace of every object. It overrides spark.kubernetes.namespace.
	Namespace string
	// AppName is spark.app.name. If empty, it is the configuration's, else the main class, else the file name of
	// Resource.
	AppName string
	// Unnamed leaves spark.app.name to the driver, which uses its program's own name. AppName and the configuration's
	// name have no effect then, and the label spark-app-name has the value that Spark uses for an application without a
	// name, "spark" (KubernetesConf.appName).
	Unnamed bool
	// AppID is spark.app.id and the value of the label spark-app-selector.
	AppID string
	// ResourceNamePrefix is the prefix of the names of all objects that have no field of their own for the name, such
	// as "<prefix>-driver-svc".
	ResourceNamePrefix string
	// DriverPodName is the driver pod's name; empty means "<ResourceNamePrefix>-driver".
	DriverPodName string
	// ConfigMapName is the name of the driver's ConfigMap; empty means "spark-drv-<ResourceNamePrefix>-conf-map".
	ConfigMapName string
	// Master is spark.master; empty means DefaultMaster. The driver connects to spark.kubernetes.driver.master, so any
	// k8s:// address works.
	Master string
	// DriverMaster is the spark.master that the driver gets if its executors are not pods that it creates: the spark://
	// address of a standalone cluster, or "local", "local[4]" and the like. Empty means Master. BuildRunner rejects it:
	// spark-submit would submit to that master.
	DriverMaster string
	// SubmitTime is spark.app.submitTime.
	SubmitTime time.Time
	// User is SPARK_USER in the driver. If empty, it is ProxyUser, else "spark", the user of the official images.
	User string
	// Environment holds the variables that spark-submit reads from the submitter's environment: PYSPARK_PYTHON,
	// PYSPARK_DRIVER_PYTHON, SPARK_LOCAL_DIRS, SPARK_DRIVER_MEMORY and those that "${env:NAME}" references. It is not
	// the driver's environment.
	Environment map[string]string
	// SystemProperties are the system properties of the submitting JVM, to which "${system:NAME}" refers. They are not
	// the configuration: cmdline.Parse moves those that begin with "spark." into Conf.
	SystemProperties map[string]string

	// MainClass is required for a Java or Scala application and ignored for the others.
	MainClass string
	// Resource is the URI of the application's jar, .py or .R file; empty means spark-internal. The suffix alone
	// decides the language.
	Resource string
	// Arguments are the arguments of the application.
	Arguments []string
	// ProxyUser is the user to impersonate.
	ProxyUser string

	// Conf is the application's Spark configuration, without the keys that Build derives.
	Conf *conf.Conf
	// ConfFiles are additional files of the driver's SPARK_CONF_DIR, by name. Spark's rules select among them: no
	// archives, no templates, no spark*.conf or spark*.properties, and in total less than
	// spark.kubernetes.configMap.maxSize.
	ConfFiles map[string]string
	// HadoopConfFiles are the files of a HADOOP_CONF_DIR, by name. Driver and executors get them.
	HadoopConfFiles map[string]string
	// DriverCredentials are the contents of the files that spark.kubernetes.authenticate.driver.*File would name on the
	// submitter's disk. They go into a Secret.
	DriverCredentials Credentials
	// Keytab is the file that spark.kerberos.keytab would name on the submitter's disk. It goes into a Secret and needs
	// spark.kerberos.principal too.
	Keytab *File
	// Krb5Conf is the file that spark.kubernetes.kerberos.krb5.path would name on the submitter's disk. It goes into a
	// ConfigMap.
	Krb5Conf *File
	// PodGroupTemplate is the PodGroup (JSON or YAML) that spark.kubernetes.scheduler.volcano.podGroupTemplateFile
	// would name. It has an effect only with Spark's VolcanoFeatureStep.
	PodGroupTemplate []byte
	// DriverTemplate and ExecutorTemplate are pod templates (a Pod or PodTemplateSpec as JSON or YAML), or nil. Fields
	// that k8s.io/api does not know are kept.
	DriverTemplate   []byte
	ExecutorTemplate []byte

	// Driver and Executor are overlays: Driver is applied to the driver pod that Spark would build, Executor to the
	// executor template.
	Driver   overlay.Overlay
	Executor overlay.Overlay

	// RunnerServiceAccount is the service account of the pod that runs spark-submit (BuildRunner), unless
	// RunnerAccountKey in Conf names another. It needs rights that a driver does not need: on Secrets, Services and
	// NetworkPolicies, which spark-submit creates. Empty means the driver's account.
	RunnerServiceAccount string
	// DeniedServiceAccount is rejected as the account of driver, executors and runner; empty rejects none.
	DeniedServiceAccount string

	// ExecutorPorts are TCP ports of executors that pods outside the application may connect to, such as a metrics
	// port. They matter only if Spark isolates executors with a NetworkPolicy (NetworkPolicyFeatureStep, 4.2): all
	// other ports stay closed then.
	ExecutorPorts []int32

	// Owner is the controller of every object. If its UID is empty, the objects have no owner.
	Owner metav1.OwnerReference
	// Labels are set on every object, executors included; they override labels of the same key. They cannot be Spark's
	// own labels.
	Labels map[string]string
}

// File is a file that spark-submit would read on the machine where it runs.
type File struct {
	// Name is the last element of the file's path. It becomes a key of a Secret or ConfigMap.
	Name string
	// Content is the file's bytes.
	Content []byte
}

// Credentials are the files with which a driver authenticates to the API server instead of the token of its service
// account (spark.kubernetes.authenticate.driver.caCertFile, .clientKeyFile, .clientCertFile). An empty field stands for
// a missing file.
type Credentials struct {
	CACert, ClientKey, ClientCert []byte
}

// Objects is the result of Build. The caller must create the objects of Before in order, then the driver pod.
type Objects struct {
	// Before holds ConfigMaps, Services, Secrets, NetworkPolicies and claims.
	Before []Object
	// Driver is the driver pod. Create the result of DriverObject instead, which adds DriverExtra to it.
	Driver *corev1.Pod
	// DriverExtra holds the fields of the driver's template that Driver's type (from k8s.io/api) does not know, as
	// decoded JSON at their places in the pod. List elements that have a name carry it here too. It is nil if there are
	// no such fields.
	DriverExtra map[string]any
	// Warnings are messages for the user.
	Warnings []string
}

// DeepCopy returns a copy that shares no memory with o.
func (o Objects) DeepCopy() Objects {
	before := make([]Object, len(o.Before))
	for i, object := range o.Before {
		before[i] = object.DeepCopyObject().(Object)
	}
	return Objects{Before: before, Driver: o.Driver.DeepCopy(), DriverExtra: runtime.DeepCopyJSON(o.DriverExtra), Warnings: slices.Clone(o.Warnings)}
}

// Object is a Kubernetes object, including its metadata.
type Object interface {
	metav1.Object
	runtime.Object
}
