package application

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

const executorEnvPrefix = "spark.executorEnv."

// executorConf sets configuration keys for those values of the executors' template that Spark would otherwise override
// (BasicExecutorFeatureStep).
func executorConf(c *conf.Conf, spec *v1beta2.SparkApplicationSpec) {
	executor := &spec.Executor
	if grace := executor.TerminationGracePeriodSeconds; grace != nil {
		seconds := *grace
		if seconds < 0 {
			seconds = 1 // as Kubernetes does for negative values
		}
		c.Set("spark.kubernetes.executor.terminationGracePeriodSeconds", strconv.FormatInt(seconds, 10)+"s") // since 4.1
	}
	for _, v := range executor.Env {
		if v.ValueFrom == nil && submit.EnvOfConf(v.Name) {
			c.Set(executorEnvPrefix+v.Name, v.Value)
		} else {
			c.Delete(executorEnvPrefix + v.Name)
		}
	}
	if sparkoperator.StringValue(spec.SparkConfigMap) != "" {
		c.Set(executorEnvPrefix+"SPARK_CONF_DIR", overlay.SparkConfDir)
	}
}

// typedEnv removes an environment variable from a role's configuration keys if the role's env or the spec's ConfigMaps
// set the same variable, because the typed fields have precedence.
//
// If the key stayed, its value would win on executors: Spark appends the variables of the keys to those of the
// template, and Kubernetes uses the last of two variables with the same name.
func typedEnv(c *conf.Conf, spec *v1beta2.SparkApplicationSpec, role string, env []corev1.EnvVar) {
	prefix := envPrefix(role)
	for _, v := range env {
		c.Delete(prefix+v.Name, "spark.kubernetes."+role+".secretKeyRef."+v.Name)
	}
	if sparkoperator.StringValue(spec.HadoopConfigMap) != "" {
		c.Delete(prefix + "HADOOP_CONF_DIR")
	}
	if sparkoperator.StringValue(spec.SparkConfigMap) != "" {
		c.Delete(prefix + "SPARK_CONF_DIR")
	}
}

func envPrefix(role string) string {
	if role == "driver" {
		return "spark.kubernetes.driverEnv."
	}
	return executorEnvPrefix
}
