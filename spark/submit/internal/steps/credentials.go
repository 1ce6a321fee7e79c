package steps

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/names"
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
func credentialsStep(d *draft.Draft) error {
	for _, key := range d.Props.Keys() {
		if strings.HasSuffix(key, "oauthToken") {
			d.Props.Set(key, redactedToken)
		}
	}

	account, err := d.Conf.String(draft.DriverAccountKey, "")
	if err != nil {
		return err
	}

	data := credentials(d)
	if len(data) == 0 {
		if account != "" {
			d.Pod.Spec.ServiceAccountName, d.Pod.Spec.DeprecatedServiceAccount = account, account
		}
		return nil
	}

	if account != "" {
		d.Warn("%sserviceAccountName: has no effect, because the driver uses its own token (%[1]soauthToken) or certificates", credentialsPrefix)
	}

	name := names.Bounded("", d.Request.ResourceNamePrefix, "-kubernetes-credentials")
	if err := d.AddSecret("DriverCredentials", name, data); err != nil {
		return err
	}

	d.Mount(corev1.Volume{Name: credentialsVolume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}},
		corev1.VolumeMount{MountPath: credentialsDir})

	for file, setting := range map[string]string{
		"oauth-token": "oauthTokenFile", "ca-cert": "caCertFile", "client-key": "clientKeyFile", "client-cert": "clientCertFile",
	} {
		if _, ok := data[file]; ok {
			d.Props.SetIfMissing(credentialsPrefix+"mounted."+setting, credentialsDir+"/"+file)
		}
	}
	return nil
}

// credentials returns the contents of the user's credentials, in a map from Spark's file names. The token comes from
// the configuration, and the certificates and the key come from the Request. Missing credentials are omitted.
func credentials(d *draft.Draft) map[string][]byte {
	data := map[string][]byte{}
	if token, ok := d.Conf.Get(credentialsPrefix + "oauthToken"); ok {
		data["oauth-token"] = []byte(token)
	}

	given := d.Request.DriverCredentials
	for file, content := range map[string][]byte{"ca-cert": given.CACert, "client-key": given.ClientKey, "client-cert": given.ClientCert} {
		if len(content) > 0 {
			data[file] = content
		}
	}
	return data
}
