package submit

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/line"
)

// lateEnv are the variables that Spark sets on executors after the variables of the user's configuration, so that only
// a webhook can override them (BasicExecutorFeatureStep, LocalDirsFeatureStep). A name that ends with "_" is a prefix.
var lateEnv = []string{"SPARK_EXECUTOR_POD_IP", "SPARK_EXECUTOR_POD_NAME", "SPARK_LOCAL_DIRS", "_SPARK_AUTH_SECRET", "SPARK_JAVA_OPT_"}

// earlyEnv are the variables that Spark sets on executors before the variables of the user's configuration, so that
// spark.executorEnv.NAME overrides them.
var earlyEnv = []string{
	"SPARK_USER", "SPARK_DRIVER_URL", "SPARK_EXECUTOR_CORES", "SPARK_EXECUTOR_MEMORY", "SPARK_APPLICATION_ID", "SPARK_CONF_DIR", "SPARK_EXECUTOR_ID",
	"SPARK_RESOURCE_PROFILE_ID",
}

// EnvOfConf reports whether an executor's variable can be set only by spark.executorEnv.NAME, because Spark overrides
// the template's variable of that name.
func EnvOfConf(name string) bool { return slices.Contains(earlyEnv, name) }

// OverwrittenByConf returns the fields of an executor overlay that Spark overrides on executors because of the
// application's configuration. Fields that Spark overrides with every configuration are returned by Overwritten
// instead. For an environment variable or a device, the result contains the field and, in brackets, the name, such as
// Env[NAME].
func OverwrittenByConf(c *conf.Conf, o overlay.Overlay) []string {
	var fields []string

	last := make(map[string]int, len(o.Env))
	for i := range o.Env {
		last[o.Env[i].Name] = i
	}

	for i, v := range o.Env {
		if last[v.Name] == i && envOverwritten(c, v) {
			fields = append(fields, fmt.Sprintf("Env[%s]", v.Name))
		}
	}

	if o.SparkConfigMap != "" && envOverwritten(c, corev1.EnvVar{Name: "SPARK_CONF_DIR", Value: overlay.SparkConfDir}) {
		fields = append(fields, "SparkConfigMap")
	}

	if o.HadoopConfigMap != "" && envOverwritten(c, corev1.EnvVar{Name: "HADOOP_CONF_DIR", Value: overlay.HadoopConfDir}) {
		fields = append(fields, "HadoopConfigMap")
	}

	if gpuOverwritten(c, o.GPU) {
		fields = append(fields, fmt.Sprintf("GPU[%s]", o.GPU.Name))
	}

	if decommission, _ := c.Bool("spark.decommission.enabled", false); decommission && o.Lifecycle != nil {
		fields = append(fields, "Lifecycle")
	}
	return fields
}

func envOverwritten(c *conf.Conf, v corev1.EnvVar) bool {
	if slices.ContainsFunc(lateEnv, func(name string) bool {
		return name == v.Name || strings.HasSuffix(name, "_") && strings.HasPrefix(v.Name, name)
	}) {
		return true
	}

	if v.Name == "SPARK_CLASSPATH" && c.Has("spark.executor.extraClassPath") {
		return true
	}

	if v.Name == "HADOOP_CONF_DIR" && (c.Has("spark.kubernetes.hadoop.configMapName") || c.Has("spark.kubernetes.executor.hadoopConfigMapName")) {
		return true // set by HadoopConfExecutorFeatureStep
	}

	if c.Has("spark.kubernetes.executor.secretKeyRef." + v.Name) {
		return true // set by EnvSecretsFeatureStep
	}

	text, set := c.Get("spark.executorEnv." + v.Name)
	return set && (v.ValueFrom != nil || text != v.Value) || !set && EnvOfConf(v.Name)
}

// gpuOverwritten reports whether Spark sets a limit for the device gpu that differs from the limit in the overlay.
// Spark derives limits from its own resource settings (spark.executor.resource.NAME.amount and .vendor).
func gpuOverwritten(c *conf.Conf, gpu overlay.GPU) bool {
	const prefix = "spark.executor.resource."

	if gpu.Name == "" || gpu.Quantity <= 0 {
		return false
	}

	for rest, vendor := range c.WithPrefix(prefix) {
		name, ok := strings.CutSuffix(rest, ".vendor")
		if !ok || vendor+"/"+name != gpu.Name {
			continue
		}

		amount, err := c.Int(prefix+name+".amount", 0)
		return err != nil || int64(amount) != gpu.Quantity
	}
	return false
}

// Overwritten returns the fields of an executor overlay that Spark of this version overrides on executors, whatever the
// executors' template says (BasicExecutorFeatureStep). Only Request.Admitted can restore these fields, because it
// changes the pods after Spark. The names are those of overlay.Overlay's fields. A version that is not in the table of
// lines counts as the line that native.Build would use for it. It warns about each such field, except for a memory
// limit that Request.Admitted restores.
func Overwritten(sparkVersion string, o overlay.Overlay) []string {
	q, _ := line.Of(sparkVersion)

	var fields []string
	if o.MemoryLimit != nil {
		fields = append(fields, "MemoryLimit")
	}

	if o.TerminationGracePeriodSeconds != nil && q.ExecutorGrace {
		fields = append(fields, "TerminationGracePeriodSeconds")
	}
	return fields
}

// OverwrittenPrefix is the beginning of each warning about a field that Overwritten returns. A caller that reports such
// fields itself, under the names in its own API, can find these warnings by the prefix and leave them out.
const OverwrittenPrefix = "the executors' "
