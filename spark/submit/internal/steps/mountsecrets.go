package steps

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
)

// MountSecrets mounts Secrets of the namespace (MountSecretsFeatureStep): spark.kubernetes.ROLE.secrets.NAME=PATH.
func MountSecrets(d *draft.Draft) error {
	prefix := "spark.kubernetes." + d.Role + ".secrets."
	for name, path := range d.Conf.WithPrefix(prefix) {
		volume := name + "-volume"
		if errs := validation.IsDNS1123Label(volume); len(errs) > 0 {
			return submit.KeyErrorf(prefix+name, "the volume of this Secret would have the name %q, which is not valid: %s; mount the Secret by a pod template", volume, errs[0])
		}

		if path == "" {
			return submit.KeyErrorf(prefix+name, "should be the path at which the Secret is mounted")
		}

		d.Mount(corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}},
			corev1.VolumeMount{MountPath: path})
	}
	return nil
}
