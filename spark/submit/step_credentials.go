package submit

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	credentialsPrefix = "spark.kubernetes.authenticate.driver."
	credentialsVolume = "kubernetes-credentials"
	credentialsDir    = "/mnt/secrets/spark-kubernetes-credentials"
	// hidden is what Spark leaves of a token in spark.properties.
	hidden = "<present_but_redacted>"
)

// credentialsStep gives the driver its service account, or a token of the user's in a Secret (DriverKubernetesCredentialsFeatureStep).
// Certificate files, which would be the submitter's, are refused before.
func credentialsStep(d *draft) error {
	token, ok := d.conf.Get(credentialsPrefix + "oauthToken")
	account, err := d.conf.String(credentialsPrefix+"serviceAccountName", "")
	if err != nil {
		return err
	}
	if !ok {
		if account != "" {
			d.pod.Spec.ServiceAccountName, d.pod.Spec.DeprecatedServiceAccount = account, account
		}
		return nil
	}
	if account != "" {
		d.warn("%sserviceAccountName: has no effect beside %[1]soauthToken", credentialsPrefix)
	}
	name := bounded("", d.r.ResourceNamePrefix, "-kubernetes-credentials")
	d.add(&corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: d.meta(name),
		Data:       map[string][]byte{"oauth-token": []byte(token)},
		Immutable:  new(true),
	})
	d.mount(corev1.Volume{Name: credentialsVolume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}},
		corev1.VolumeMount{MountPath: credentialsDir})
	d.props.SetIfMissing(credentialsPrefix+"mounted.oauthTokenFile", credentialsDir+"/oauth-token")
	for _, key := range d.props.Keys() {
		if strings.HasSuffix(key, "oauthToken") {
			d.props.Set(key, hidden)
		}
	}
	return nil
}
