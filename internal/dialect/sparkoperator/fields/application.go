// Package fields contains the tables of the fields of `sparkoperator.k8s.io` that belong to Spark configuration keys.
// application.go has the rows of a SparkApplication, connect.go those of a SparkConnect, and values.go the forms of
// values.
package fields

import (
	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/table"
)

const kube = "spark.kubernetes."

// Application is the table of the fields of a SparkApplication. In operators of this API, sparkConf has always had
// precedence over four fields, because the operators passed it to spark-submit after these fields.
var Application = table.New[v1beta2.SparkApplication]("driver", "executor", append([]table.Row{
	{Path: "spec.ROLE", Part: "ROLE"},
	{Path: "spec.ROLE.cores", Key: "spark.ROLE.cores", FromKey: table.Always},
	{Path: "spec.ROLE.memory", Key: "spark.ROLE.memory", Check: sparkoperator.CheckMemorySize, FromKey: table.Always},
	{Path: "spec.ROLE.memoryOverhead", Key: "spark.ROLE.memoryOverhead", Check: checkOverhead},
	{Path: "spec.ROLE.memoryLimit", Part: "ROLE.MemoryLimit", Check: checkMemoryLimit},
	{Path: "spec.ROLE.coreLimit", Key: kube + "ROLE.limit.cores", Check: checkCPU},
	{Path: "spec.ROLE.coreRequest", Key: kube + "ROLE.request.cores", Check: checkCPU},
	{Path: "spec.ROLE.image", Key: kube + "ROLE.container.image", Reserved: true, FromKey: table.Always},
	{Path: "spec.ROLE.serviceAccount", Key: kube + "authenticate.ROLE.serviceAccountName", Reserved: true, FromKey: table.Always},
	{Path: "metadata.labels", Key: kube + "ROLE.label.", Entries: withoutKueue},
	{Path: "spec.ROLE.labels", Key: kube + "ROLE.label."},
	{Path: "spec.ROLE.annotations", Key: kube + "ROLE.annotation."},
	{Path: "spec.ROLE.nodeSelector", Key: kube + "ROLE.node.selector."},
	{Path: "spec.ROLE.schedulerName", Key: kube + "ROLE.scheduler.name"},
	// This key exists since Spark 4.3. Spark's default is false.
	{Path: "spec.ROLE.securityContext.allowPrivilegeEscalation", Key: kube + "ROLE.securityContext.allowPrivilegeEscalation", From: "spec.ROLE.securityContext", Text: escalation},
	{Path: "spec.ROLE.template", Key: kube + "ROLE.podTemplateContainerName", Precedence: table.Implies, Text: templateContainer},
	{Path: "spec.ROLE.template", Key: kube + "ROLE.podTemplateFile", Part: "ROLETemplate", Precedence: table.Replaces, Reserved: true},
	{Path: "spec.ROLE.envSecretKeyRefs", Key: kube + "ROLE.secretKeyRef.", Entries: keysOfSecrets},
	{Path: "spec.ROLE.secrets", Key: kube + "ROLE.secrets.", Entries: pathsOfSecrets},
	{Path: "spec.ROLE.javaOptions", Key: "spark.ROLE.extraJavaOptions", Precedence: table.Follows},
	{Path: "spec.volumes", Key: kube + "ROLE.volumes.", Part: "ROLE.Volumes", Precedence: table.Names},
	{Path: "spec.hadoopConfigMap", Part: "ROLE.HadoopConfigMap"},
	{Path: "spec.sparkConfigMap", Part: "ROLE.SparkConfigMap"},
	{Path: "spec.ROLE.configMaps", Part: "ROLE.ConfigMaps"},
	{Path: "spec.ROLE.volumeMounts", Part: "ROLE.VolumeMounts"},
	{Path: "spec.ROLE.ports", Part: "ROLE.Ports"},
	{Path: "spec.ROLE.initContainers", Part: "ROLE.InitContainers"},
	{Path: "spec.ROLE.sidecars", Part: "ROLE.Sidecars"},

	{Path: "spec.driver.podName", Part: "DriverPodName"},
	{Path: "spec.driver.serviceAccount", Key: kube + "authenticate.serviceAccountName", Precedence: table.Replaces, FromKey: table.Always},
	{Path: "spec.driver.kubernetesMaster", Key: kube + "driver.master", Text: driverMaster, Reserved: true, FromKey: table.Always},
	{Path: "spec.driver.envVars", Key: kube + "driverEnv."},
	{Path: "spec.driver.serviceAnnotations", Key: kube + "driver.service.annotation."},
	{Path: "spec.driver.serviceLabels", Key: kube + "driver.service.label."},
	{Path: "spec.executor.envVars", Key: "spark.executorEnv."},
	{Path: "spec.executor.instances", Key: "spark.executor.instances", FromKey: positive},
	{Path: "spec.executor.deleteOnTermination", Key: kube + "executor.deleteOnTermination"},
	// Spark would override the value of the executors' template (BasicExecutorFeatureStep). The key exists since 4.1.
	{Path: "spec.executor.terminationGracePeriodSeconds", Key: kube + "executor.terminationGracePeriodSeconds", Text: grace},

	{Path: "spec.imagePullPolicy", Key: kube + "container.image.pullPolicy", Precedence: table.Yields},
	{Path: "spec.imagePullSecrets", Key: kube + "container.image.pullSecrets", Precedence: table.Yields},
	{Path: "spec.pythonVersion", Key: kube + "pyspark.pythonVersion", Precedence: table.Yields},
	{Path: "spec.memoryOverheadFactor", Key: kube + "memoryOverheadFactor", Precedence: table.Yields, Check: checkFactor},
	{Path: "spec.image", Key: kube + "container.image", Reserved: true, FromKey: table.Always},
	{Path: "spec.nodeSelector", Key: kube + "node.selector."},
	{Path: "spec.hadoopConf", Key: "spark.hadoop."},
	{Path: "spec.hadoopConfigMap", Key: kube + "hadoop.configMapName", Precedence: table.Replaces},
	{Path: "spec.deps.jars", Key: "spark.jars", FromKey: table.Always},
	{Path: "spec.deps.files", Key: "spark.files", FromKey: table.Always},
	{Path: "spec.deps.pyFiles", Key: "spark.submit.pyFiles", FromKey: table.Always},
	{Path: "spec.deps.archives", Key: "spark.archives", FromKey: table.Always},
	{Path: "spec.deps.packages", Key: "spark.jars.packages", FromKey: table.Always},
	{Path: "spec.deps.excludePackages", Key: "spark.jars.excludes", FromKey: table.Always},
	{Path: "spec.deps.repositories", Key: "spark.jars.repositories", FromKey: table.Always},

	{Path: "spec.mainClass", Part: "MainClass"},
	{Path: "spec.mainApplicationFile", Part: "Resource"},
	{Path: "spec.arguments", Part: "Arguments"},
	{Path: "spec.proxyUser", Part: "ProxyUser"},
	{Path: "spec.sparkVersion", Part: "SparkVersion"},
	{Path: "spec.sparkConf", Part: "Conf"},
	{Path: "metadata.namespace", Part: "Namespace"},
	{Path: "metadata.labels", Part: "Labels"},
	// The names of the objects begin with the application's name.
	{Path: "metadata.name", Part: "ResourceNamePrefix"},
	{Path: "metadata.name", Part: "ConfigMapName"},
	{Key: "spark.master", Reserved: true, Advice: "the operator sets it; remove the key"},
}, dynamicAllocation...)...)

// dynamicAllocation are the rows of spec.dynamicAllocation, which both kinds have.
var dynamicAllocation = []table.Row{
	{Path: allocation + "enabled", Key: dynamic + "enabled", If: allocation + "enabled"},
	{Path: allocation + "initialExecutors", Key: dynamic + "initialExecutors", If: allocation + "enabled"},
	{Path: allocation + "minExecutors", Key: dynamic + "minExecutors", If: allocation + "enabled"},
	{Path: allocation + "maxExecutors", Key: dynamic + "maxExecutors", If: allocation + "enabled"},
	{Path: allocation + "shuffleTrackingEnabled", Key: dynamic + "shuffleTracking.enabled", If: allocation + "enabled", Text: tracking},
	{Path: allocation + "shuffleTrackingTimeout", Key: dynamic + "shuffleTracking.timeout", If: allocation + "enabled", Text: milliseconds},
}

const (
	allocation = "spec.dynamicAllocation."
	dynamic    = "spark.dynamicAllocation."
)

// PodKey returns the configuration key of a field of the driver or of the executors of a SparkApplication.
func PodKey(role, field string) string { return Application.Key("spec." + role + "." + field) }

// EnvPrefix returns the prefix of the configuration keys of a role's environment variables.
func EnvPrefix(role string) string { return PodKey(role, "envVars") }
