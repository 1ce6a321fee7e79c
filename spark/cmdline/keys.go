package cmdline

// The configuration keys whose values have a field of their own in submit.Request.
const (
	masterKey     = "spark.master"
	deployModeKey = "spark.submit.deployMode"
	appNameKey    = "spark.app.name"
	namespaceKey  = "spark.kubernetes.namespace"
	podNameKey    = "spark.kubernetes.driver.pod.name"
)

// The configuration keys that name files of the submitter.
const (
	credentialsPrefix = "spark.kubernetes.authenticate.driver."
	kerberosPrefix    = "spark.kubernetes.kerberos."
	volcanoFileKey    = "spark.kubernetes.scheduler.volcano.podGroupTemplateFile"
)

// volcanoClass is the feature step that reads the file of volcanoFileKey.
const volcanoClass = "org.apache.spark.deploy.k8s.features.VolcanoFeatureStep"

// noResource is the primary resource that a command line contains if the application has no file of its own, for
// example because its main class is in the image.
const noResource = "spark-internal"

// fileLists are the keys whose values are lists of files.
var fileLists = []string{"spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles"}
