package submit

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	credentialsPrefix = "spark.kubernetes.authenticate.driver."
	credentialsVolume = "kubernetes-credentials"
	credentialsDir    = "/mnt/secrets/spark-kubernetes-credentials"
	// redactedToken is Spark's replacement for a token in spark.properties.
	redactedToken = "<present_but_redacted>"
)

// credentialsStep sets the driver's service account, or mounts the user's token and certificates from a Secret instead
// (DriverKubernetesCredentialsFeatureStep). An earlier check rejects keys that name certificate files of the submitter;
// the Request has the contents of these files. The step keeps the keys driver.mounted.*, with which the user names the
// paths of the files in the driver's container.
func credentialsStep(d *draft) error {
	for _, key := range d.props.Keys() {
		if strings.HasSuffix(key, "oauthToken") {
			d.props.Set(key, redactedToken)
		}
	}
	account, err := d.conf.String(driverAccountKey, "")
	if err != nil {
		return err
	}
	data := d.credentials()
	if len(data) == 0 {
		if account != "" {
			d.pod.Spec.ServiceAccountName, d.pod.Spec.DeprecatedServiceAccount = account, account
		}
		return nil
	}
	if account != "" {
		d.warn("%sserviceAccountName: has no effect, because the driver uses its own token (%[1]soauthToken) or certificates", credentialsPrefix)
	}
	name := bounded("", d.r.ResourceNamePrefix, "-kubernetes-credentials")
	if err := d.secret("DriverCredentials", name, data); err != nil {
		return err
	}
	d.mount(corev1.Volume{Name: credentialsVolume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}},
		corev1.VolumeMount{MountPath: credentialsDir})
	for file, setting := range map[string]string{
		"oauth-token": "oauthTokenFile", "ca-cert": "caCertFile", "client-key": "clientKeyFile", "client-cert": "clientCertFile",
	} {
		if _, ok := data[file]; ok {
			d.props.SetIfMissing(credentialsPrefix+"mounted."+setting, credentialsDir+"/"+file)
		}
	}
	return nil
}

// credentials returns the contents of the user's credentials, in a map from Spark's file names. The token comes from
// the configuration, and the certificates and the key come from the Request. Missing credentials are omitted.
func (d *draft) credentials() map[string][]byte {
	data := map[string][]byte{}
	if token, ok := d.conf.Get(credentialsPrefix + "oauthToken"); ok {
		data["oauth-token"] = []byte(token)
	}
	given := d.r.DriverCredentials
	for file, content := range map[string][]byte{"ca-cert": given.CACert, "client-key": given.ClientKey, "client-cert": given.ClientCert} {
		if len(content) > 0 {
			data[file] = content
		}
	}
	return data
}

// secret adds an immutable Secret to the objects that are created before the pod. It returns an error if the Secret is
// too large; the error names the field from which the data comes.
func (d *draft) secret(field, name string, data map[string][]byte) error {
	total := 0
	content := make(map[string][]byte, len(data))
	for key, value := range data {
		content[key] = slices.Clone(value)
		total += len(value)
	}
	if total > corev1.MaxSecretSize {
		return FieldErrorf(field, "%d bytes are more than a Secret holds (%d)", total, corev1.MaxSecretSize)
	}
	d.add(&corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: d.meta(name),
		Data:       content,
		Immutable:  new(true),
	})
	return nil
}
