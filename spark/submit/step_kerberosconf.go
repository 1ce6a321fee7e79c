package submit

import (
	corev1 "k8s.io/api/core/v1"
)

const kerberosPrefix = "spark.kubernetes.kerberos."

// kerberosConfStep mounts what a driver needs to talk to a kerberised Hadoop (KerberosConfDriverFeatureStep): krb5.conf of a ConfigMap, a
// keytab of the image, a token of a Secret. Files and tickets of a submitter are refused before: there is none.
func kerberosConfStep(d *draft) error {
	krb5, err := d.conf.String(kerberosPrefix+"krb5.configMapName", "")
	if err != nil {
		return err
	}
	if krb5 != "" {
		d.mount(corev1.Volume{Name: "krb5-file", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: krb5},
			Items:                []corev1.KeyToPath{{Key: "krb5.conf", Path: "krb5.conf"}},
		}}}, corev1.VolumeMount{MountPath: "/etc/krb5.conf", SubPath: "krb5.conf"})
	}
	keytabKey, _, hasKeytab := d.conf.Lookup("spark.kerberos.keytab")
	principalKey, _, hasPrincipal := d.conf.Lookup("spark.kerberos.principal")
	switch {
	case hasKeytab && !hasPrincipal:
		return keyError(keytabKey, "needs spark.kerberos.principal too")
	case hasPrincipal && !hasKeytab:
		return keyError(principalKey, "needs spark.kerberos.keytab too")
	}
	return tokenSecret(d, hasKeytab)
}

func tokenSecret(d *draft, hasKeytab bool) error {
	const nameKey, itemKey = kerberosPrefix + "tokenSecret.name", kerberosPrefix + "tokenSecret.itemKey"
	name, err := d.conf.String(nameKey, "")
	if err != nil {
		return err
	}
	item, err := d.conf.String(itemKey, "")
	if err != nil {
		return err
	}
	switch {
	case name == "" && item == "":
		return nil
	case name == "":
		return keyError(itemKey, "needs %s too", nameKey)
	case item == "":
		return keyError(nameKey, "needs %s too", itemKey)
	case hasKeytab:
		d.warn("%s: has no effect beside spark.kerberos.keytab", nameKey)
		return nil
	}
	const dir = "/mnt/secrets/hadoop-credentials"
	d.mount(corev1.Volume{Name: "hadoop-secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}},
		corev1.VolumeMount{MountPath: dir})
	d.env("HADOOP_TOKEN_FILE_LOCATION", dir+"/"+item)
	return nil
}
