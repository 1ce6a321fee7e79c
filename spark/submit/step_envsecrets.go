package submit

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// envSecretsStep sets environment variables from keys of Secrets (EnvSecretsFeatureStep):
// spark.kubernetes.ROLE.secretKeyRef.ENV=SECRET:KEY.
func envSecretsStep(d *draft) error {
	prefix := "spark.kubernetes." + d.role + ".secretKeyRef."
	for name, ref := range d.conf.WithPrefix(prefix) {
		parts := strings.Split(ref, ":")
		if len(parts) != 2 || parts[0] == "" || parts[1] == "" {
			return KeyErrorf(prefix+name, "should be SECRET:KEY, but is %s", conf.Quote(prefix+name, ref))
		}
		if errs := validation.IsRelaxedEnvVarName(name); len(errs) > 0 {
			return KeyErrorf(prefix+name, "%q is not a valid name of an environment variable: %s", name, errs[0])
		}
		d.spark.Env = append(d.spark.Env, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: parts[0]}, Key: parts[1],
		}}})
	}
	return nil
}
