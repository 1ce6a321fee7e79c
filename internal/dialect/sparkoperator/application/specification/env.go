package specification

import (
	"path"

	corev1 "k8s.io/api/core/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// envConf sets the configuration keys of environment variables that several fields set. The field sparkConfigMap
// overrides env, which overrides secrets, which override envVars.
func envConf(c *conf.Conf, spec *v1beta2.SparkApplicationSpec) {
	for _, role := range []string{"driver", "executor"} {
		pod := sparkoperator.PodSpec(spec, role)
		for _, secret := range pod.Secrets {
			if known, ok := secretFiles[secret.Type]; ok {
				c.Set(fields.EnvPrefix(role)+known.variable, path.Join(secret.Path, known.file))
			}
		}

		typedEnv(c, spec, role, pod.Env)
	}

	executorEnv(c, spec)
}

// executorEnv sets configuration keys for those variables of the executors' template that Spark would otherwise
// override (BasicExecutorFeatureStep).
func executorEnv(c *conf.Conf, spec *v1beta2.SparkApplicationSpec) {
	for _, v := range spec.Executor.Env {
		if v.ValueFrom == nil && submit.EnvOfConf(v.Name) {
			c.Set(fields.EnvPrefix("executor")+v.Name, v.Value)
		} else {
			c.Delete(fields.EnvPrefix("executor") + v.Name)
		}
	}

	if sparkoperator.StringValue(spec.SparkConfigMap) != "" {
		c.Set(fields.EnvPrefix("executor")+"SPARK_CONF_DIR", overlay.SparkConfDir)
	}
}

// secretFiles contains for each type of Secret the name of its file, and the environment variable with the path of this
// file.
var secretFiles = map[v1beta2.SecretType]struct{ variable, file string }{
	v1beta2.SecretTypeGCPServiceAccount:     {"GOOGLE_APPLICATION_CREDENTIALS", "key.json"},
	v1beta2.SecretTypeHadoopDelegationToken: {"HADOOP_TOKEN_FILE_LOCATION", "hadoop.token"},
}

// typedEnv removes an environment variable from a role's configuration keys if the role's env or the spec's ConfigMaps
// set the same variable, because the typed fields have precedence.
//
// If the key stayed, its value would win on executors: Spark appends the variables of the keys to those of the
// template, and Kubernetes uses the last of two variables with the same name.
func typedEnv(c *conf.Conf, spec *v1beta2.SparkApplicationSpec, role string, env []corev1.EnvVar) {
	prefix := fields.EnvPrefix(role)
	for _, v := range env {
		c.Delete(prefix+v.Name, fields.PodKey(role, "envSecretKeyRefs")+v.Name)
	}

	if sparkoperator.StringValue(spec.HadoopConfigMap) != "" {
		c.Delete(prefix + "HADOOP_CONF_DIR")
	}

	if sparkoperator.StringValue(spec.SparkConfigMap) != "" {
		c.Delete(prefix + "SPARK_CONF_DIR")
	}
}
