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
// (DriverKubernetesCredentialsFeatureStep). Keys that name certificate files, which would be the submitter's, were
// rejected before; the Request has the files' contents. Paths at which the user says the driver finds them
// (driver.mounted.*) stay.
func credentialsStep(d *draft) error {
	for _, key := range d.props.Keys() {
		if strings.HasSuffix(key, "oauthToken") {
			d.props.Set(key, redactedToken)
		}
	}
	account, err := d.conf.String(credentialsPrefix+"serviceAccountName", "")
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
		d.warn("%sserviceAccountName: has no effect beside %[1]soauthToken and certificates of the driver's own", credentialsPrefix)
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

// credentials returns the given credentials by Spark's file names.
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

// secret adds an immutable Secret and rejects one that is too large. The error names the field that the data come from.
func (d *draft) secret(field, name string, data map[string][]byte) error {
	total := 0
	content := make(map[string][]byte, len(data))
	for key, value := range data {
		content[key] = slices.Clone(value)
		total += len(value)
	}
	if total > corev1.MaxSecretSize {
		return fieldError(field, "%d bytes are more than a Secret holds (%d)", total, corev1.MaxSecretSize)
	}
	d.add(&corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: d.meta(name),
		Data:       content,
		Immutable:  new(true),
	})
	return nil
}
