package steps

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
)

// EnvSecrets sets environment variables from keys of Secrets (EnvSecretsFeatureStep):
// spark.kubernetes.ROLE.secretKeyRef.ENV=SECRET:KEY.
func EnvSecrets(d *draft.Draft) error {
	prefix := "spark.kubernetes." + d.Role + ".secretKeyRef."
	for name, ref := range d.Conf.WithPrefix(prefix) {
		parts := strings.Split(ref, ":")
		if len(parts) != 2 || parts[0] == "" || parts[1] == "" {
			return submit.KeyErrorf(prefix+name, "should be SECRET:KEY, but is %s", conf.Quote(prefix+name, ref))
		}

		if errs := validation.IsRelaxedEnvVarName(name); len(errs) > 0 {
			return submit.KeyErrorf(prefix+name, "%q is not a valid name of an environment variable: %s", name, errs[0])
		}

		d.Spark.Env = append(d.Spark.Env, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: parts[0]}, Key: parts[1],
		}}})
	}
	return nil
}
