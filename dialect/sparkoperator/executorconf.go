package sparkoperator

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

const (
	executorEnvPrefix    = "spark.executorEnv."
	executorSecretPrefix = "spark.kubernetes.executor.secretKeyRef."
)

// executorConf says by configuration what Spark would otherwise set over the executors' template (BasicExecutorFeatureStep).
func executorConf(c *conf.Conf, spec *v1beta2.SparkApplicationSpec) {
	executor := &spec.Executor
	if grace := executor.TerminationGracePeriodSeconds; grace != nil {
		seconds := *grace
		if seconds < 0 {
			seconds = 1 // as Kubernetes takes it
		}
		c.Set("spark.kubernetes.executor.terminationGracePeriodSeconds", strconv.FormatInt(seconds, 10)+"s") // since 4.1
	}
	if allow := privilegeEscalation(executor.SecurityContext); allow != nil {
		c.Set("spark.kubernetes.executor.securityContext.allowPrivilegeEscalation", strconv.FormatBool(*allow)) // since 4.3
	}
	executorEnv(c, executor.Env)
	if value(spec.SparkConfigMap) != "" {
		c.Set(executorEnvPrefix+"SPARK_CONF_DIR", overlay.SparkConfDir)
	}
	if value(spec.HadoopConfigMap) != "" && c.Has(executorEnvPrefix+"HADOOP_CONF_DIR") {
		c.Set(executorEnvPrefix+"HADOOP_CONF_DIR", overlay.HadoopConfDir)
	}
}

// privilegeEscalation is what a security context asks for, nil where it leaves that to Spark. A privileged container cannot be without it:
// Kubernetes refuses the pod.
func privilegeEscalation(s *corev1.SecurityContext) *bool {
	switch {
	case s == nil:
		return nil
	case s.AllowPrivilegeEscalation != nil:
		return s.AllowPrivilegeEscalation
	case s.Privileged != nil && *s.Privileged,
		s.Capabilities != nil && slices.Contains(s.Capabilities.Add, "CAP_SYS_ADMIN"):
		return new(true)
	}
	return nil
}

// executorEnv makes spec.executor.env win over every other source of a variable, as on the driver. Those of the template come first in the
// container, and of one name Kubernetes takes the last.
func executorEnv(c *conf.Conf, env []corev1.EnvVar) {
	for _, v := range env {
		key := executorEnvPrefix + v.Name
		c.Delete(executorSecretPrefix + v.Name)
		switch {
		case v.ValueFrom != nil:
			c.Delete(key)
		case c.Has(key) || submit.EnvOfConf(v.Name):
			c.Set(key, v.Value)
		}
	}
}
