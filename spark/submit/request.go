package submit

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/spark/admit"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// Request is the complete input of native.Build and runner.Build. It has a field for everything that spark-submit takes
// from its environment, its disk, the clock or a random source. In the comments of its fields, Build is native.Build.
type Request struct {
	// SparkVersion is the version of Spark in the image, such as "4.1.4". It selects the rules of the Spark line.
	SparkVersion string
	// StrictVersion rejects a version that is not in the table of Spark lines. If it is false, Build builds for the
	// nearest line, with a warning.
	StrictVersion bool
	// Bound changes the pods to an upper bound for all Spark lines, because SparkVersion is only a claim about the image.
	// See native.Bound. Nothing is created from such pods.
	Bound bool
	// Namespace is the namespace of every object. It overrides spark.kubernetes.namespace.
	Namespace string
	// AppName is the value of spark.app.name. If it is empty, the name is spark.app.name of the configuration, else the
	// main class, else the file name of Resource.
	AppName string
	// Unnamed means that Build does not set spark.app.name, so that the driver uses its program's own name. AppName and
	// the configuration's name then have no effect, and the label spark-app-name has the value that Spark uses for an
	// application without a name, "spark" (KubernetesConf.appName).
	Unnamed bool
	// AppID is the value of spark.app.id and of the label spark-app-selector.
	AppID string
	// ResourceNamePrefix is the prefix of the names of objects, such as "<prefix>-driver-svc". Objects whose names have
	// a field of their own do not use it.
	ResourceNamePrefix string
	// DriverPodName is the driver pod's name; empty means "<ResourceNamePrefix>-driver".
	DriverPodName string
	// ConfigMapName is the name of the driver's ConfigMap; empty means "spark-drv-<ResourceNamePrefix>-conf-map".
	ConfigMapName string
	// Master is the value of spark.master; empty means DefaultMaster. Any k8s:// address works, because the driver
	// connects to spark.kubernetes.driver.master instead.
	Master string
	// DriverMaster is the value of spark.master in a driver whose executors are not pods that it creates: the spark://
	// address of a standalone cluster, or "local", "local[4]" and the like. Empty means Master. runner.Build rejects
	// it, because spark-submit would submit to that master.
	DriverMaster string
	// SubmitTime is the value of spark.app.submitTime.
	SubmitTime time.Time
	// User is the value of SPARK_USER in the driver. If it is empty, SPARK_USER is ProxyUser, else "spark", the user of
	// the official images.
	User string
	// Environment contains the variables that spark-submit reads from the submitter's environment: PYSPARK_PYTHON,
	// PYSPARK_DRIVER_PYTHON, SPARK_LOCAL_DIRS, SPARK_DRIVER_MEMORY and variables that "${env:NAME}" refers to. It is
	// not the driver's environment.
	Environment map[string]string
	// SystemProperties are the system properties of the submitting JVM, to which "${system:NAME}" refers. They are not
	// the configuration: cmdline.Parse moves those that begin with "spark." into Conf.
	SystemProperties map[string]string

	// MainClass is required for a Java or Scala application and ignored for applications in other languages.
	MainClass string
	// Resource is the URI of the application's jar, .py or .R file; empty means spark-internal. Its suffix alone
	// determines the language.
	Resource string
	// Arguments are the arguments of the application.
	Arguments []string
	// ArgumentsField is the name of Arguments in warnings; empty means "Arguments".
	ArgumentsField string
	// ProxyUser is the user that the driver impersonates.
	ProxyUser string

	// Conf is the application's Spark configuration, without the keys that Build derives.
	Conf *conf.Conf
	// ConfFiles are additional files of the driver's SPARK_CONF_DIR, by name. Spark's rules apply: archives, templates,
	// spark*.conf and spark*.properties are omitted, and the total size is less than
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
	// DriverTemplate and ExecutorTemplate are pod templates (a Pod or PodTemplateSpec as JSON or YAML), or nil. Build
	// keeps fields that the types of k8s.io/api do not have.
	DriverTemplate   []byte
	ExecutorTemplate []byte

	// Driver and Executor are overlays. Driver is applied to the driver pod that Spark would build, and Executor to the
	// executors' template.
	Driver   overlay.Overlay
	Executor overlay.Overlay
	// Admitted contains settings of the executors that a webhook or an admission policy applies to their pods, because
	// Spark overwrites these settings. Build adds them to the executors' template as labels and annotations.
	Admitted admit.Settings

	// RunnerServiceAccount is the service account of the pod that runs spark-submit (package runner), unless
	// RunnerAccountKey in Conf names another. It needs rights that a driver does not need: on Secrets, Services and
	// NetworkPolicies, which spark-submit creates. Empty means the driver's account.
	RunnerServiceAccount string
	// DeniedServiceAccount is the service account that driver, executors and runner must not use. Empty means that
	// every account is allowed.
	DeniedServiceAccount string

	// ExecutorPorts are TCP ports of executors to which pods outside the application may connect, such as a metrics
	// port. They have an effect only if Spark isolates executors with a NetworkPolicy, which closes all other ports
	// (NetworkPolicyFeatureStep, from 4.2).
	ExecutorPorts []int32

	// Owner is the controller of every object. If its UID is empty, the objects have no owner.
	Owner metav1.OwnerReference
	// Labels are set on every object and on the executors; they override other labels of the same key. They cannot be
	// Spark's own labels.
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
