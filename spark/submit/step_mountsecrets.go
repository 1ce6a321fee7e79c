package submit

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// mountSecretsStep mounts Secrets of the namespace (MountSecretsFeatureStep): spark.kubernetes.ROLE.secrets.NAME=PATH.
func mountSecretsStep(d *draft) error {
	prefix := "spark.kubernetes." + d.role + ".secrets."
	for name, path := range d.conf.WithPrefix(prefix) {
		volume := name + "-volume"
		if errs := validation.IsDNS1123Label(volume); len(errs) > 0 {
			return KeyErrorf(prefix+name, "the volume of this Secret would have the name %q, which is not valid: %s; mount the Secret by a pod template", volume, errs[0])
		}
		if path == "" {
			return KeyErrorf(prefix+name, "should be the path at which the Secret is mounted")
		}
		d.mount(corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}},
			corev1.VolumeMount{MountPath: path})
	}
	return nil
}
