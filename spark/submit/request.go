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

// Request is all that Build reads. What spark-submit takes from its environment, its disk, the clock or a random source is a field here.
type Request struct {
	// SparkVersion is the version of Spark in the image, such as "4.1.4". It chooses the version's quirks.
	SparkVersion string
	// StrictVersion refuses a version that is not in the table, instead of building it as the nearest line with a warning.
	StrictVersion bool
	// Namespace of every object; wins over spark.kubernetes.namespace.
	Namespace string
	// AppName is spark.app.name; empty means the configuration's, else the main class, else the file name of Resource.
	AppName string
	// Unnamed leaves spark.app.name to the driver, which takes its program's own name: AppName and the configuration's have no meaning then, and the
	// label spark-app-name says what Spark says of an application without a name, "spark" (KubernetesConf.appName).
	Unnamed bool
	// AppID is spark.app.id and the value of the label spark-app-selector.
	AppID string
	// ResourceNamePrefix begins the names of the objects that have no name of their own, such as "<prefix>-driver-svc".
	ResourceNamePrefix string
	// DriverPodName is the driver pod's name; empty means "<ResourceNamePrefix>-driver".
	DriverPodName string
	// ConfigMapName is the name of the driver's ConfigMap; empty means "spark-drv-<ResourceNamePrefix>-conf-map".
	ConfigMapName string
	// Master is spark.master; empty means DefaultMaster. The driver talks to spark.kubernetes.driver.master, so any k8s:// address does.
	Master string
	// DriverMaster is spark.master as the driver is told it, where its executors are not pods that it makes itself: the spark:// address of a standalone
	// cluster, or "local", "local[4]" and the like. Empty means Master. BuildRunner refuses it: spark-submit would submit to that master.
	DriverMaster string
	// SubmitTime is spark.app.submitTime.
	SubmitTime time.Time
	// User is SPARK_USER in the driver; empty means ProxyUser, else "spark", the user of the official images.
	User string
	// Environment is what spark-submit reads from the submitter's environment: PYSPARK_PYTHON, PYSPARK_DRIVER_PYTHON, SPARK_LOCAL_DIRS,
	// SPARK_DRIVER_MEMORY and what "${env:NAME}" names. It is not the driver's environment.
	Environment map[string]string
	// SystemProperties are what "${system:NAME}" names, those of a submitting JVM. They are not the configuration: cmdline.Parse takes those that
	// begin with "spark." into Conf.
	SystemProperties map[string]string

	// MainClass is required for a Java or Scala application, and has no meaning for the others.
	MainClass string
	// Resource is the application's jar, .py or .R file, a URI; empty means spark-internal. The suffix alone decides the language.
	Resource string
	// Arguments of the application.
	Arguments []string
	// ProxyUser is the user to impersonate.
	ProxyUser string

	// Conf is the application's Spark configuration, without what Build derives.
	Conf *conf.Conf
	// ConfFiles are further files of the driver's SPARK_CONF_DIR, by name. Spark's rules choose among them: no archives, no templates, no
	// spark*.conf or spark*.properties, and together less than spark.kubernetes.configMap.maxSize.
	ConfFiles map[string]string
	// HadoopConfFiles are the files of a HADOOP_CONF_DIR, by name; they go to driver and executors.
	HadoopConfFiles map[string]string
	// DriverCredentials are files that spark.kubernetes.authenticate.driver.*File would name on the submitter's disk; they go into a Secret.
	DriverCredentials Credentials
	// Keytab is the file that spark.kerberos.keytab would name on the submitter's disk; it goes into a Secret. spark.kerberos.principal
	// is needed beside it.
	Keytab *File
	// Krb5Conf is the file that spark.kubernetes.kerberos.krb5.path would name on the submitter's disk; it goes into a ConfigMap.
	Krb5Conf *File
	// PodGroupTemplate is the PodGroup (JSON or YAML) that spark.kubernetes.scheduler.volcano.podGroupTemplateFile would name; it has a meaning
	// only with Spark's VolcanoFeatureStep.
	PodGroupTemplate []byte
	// DriverTemplate and ExecutorTemplate are pod templates (a Pod or PodTemplateSpec as JSON or YAML), or nil. Fields that k8s.io/api does not
	// know are kept.
	DriverTemplate   []byte
	ExecutorTemplate []byte

	// Driver and Executor are laid over the driver pod that Spark would build, and over the executor template.
	Driver   overlay.Overlay
	Executor overlay.Overlay

	// RunnerServiceAccount is the service account of the pod that runs spark-submit (BuildRunner), unless RunnerAccountKey in Conf names another. It needs
	// rights on what spark-submit makes, which a driver does not: Secrets, Services and NetworkPolicies. Empty means the driver's.
	RunnerServiceAccount string
	// DeniedServiceAccount is refused as the account of driver, executors and runner; empty refuses none.
	DeniedServiceAccount string

	// ExecutorPorts are TCP ports of executors that pods outside of the application may connect to, such as one that metrics are scraped from.
	// They have a meaning where Spark fences executors off (NetworkPolicyFeatureStep, 4.2): everything else stays closed there.
	ExecutorPorts []int32

	// Owner owns every object as its controller. Without a UID nothing is owned.
	Owner metav1.OwnerReference
	// Labels are put on every object, executors included; they win over labels of the same key. They cannot be Spark's own.
	Labels map[string]string
}

// File is a file that spark-submit would read where it runs.
type File struct {
	// Name is the last element of its path: it becomes a key of a Secret or ConfigMap.
	Name string
	// Content is the file's bytes.
	Content []byte
}

// Credentials are what a driver shows to the API server instead of its service account's token
// (spark.kubernetes.authenticate.driver.caCertFile, .clientKeyFile, .clientCertFile). Empty ones are absent.
type Credentials struct {
	CACert, ClientKey, ClientCert []byte
}

// Objects is what Build returns, in the order in which it should be created: everything before the pod.
type Objects struct {
	// Before holds ConfigMaps, Services, Secrets, NetworkPolicies and claims.
	Before []Object
	// Driver is the driver pod. Create what DriverObject returns, which is the same but for DriverExtra.
	Driver *corev1.Pod
	// DriverExtra are fields of the driver's template that Driver's type, that of k8s.io/api, does not know, as decoded JSON in their places;
	// elements of lists that have a name have it here too. It is nil where there are none.
	DriverExtra map[string]any
	// Warnings are what the user should know, in plain words.
	Warnings []string
}

// DeepCopy returns objects of which nothing is shared with these.
func (o Objects) DeepCopy() Objects {
	before := make([]Object, len(o.Before))
	for i, object := range o.Before {
		before[i] = object.DeepCopyObject().(Object)
	}
	return Objects{Before: before, Driver: o.Driver.DeepCopy(), DriverExtra: runtime.DeepCopyJSON(o.DriverExtra), Warnings: slices.Clone(o.Warnings)}
}

// Object is a Kubernetes object with its metadata.
type Object interface {
	metav1.Object
	runtime.Object
}
