package submit

import (
	"path"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	kerberosPrefix = "spark.kubernetes.kerberos."
	krb5File       = "krb5.conf"
	keytabDir      = "/mnt/secrets/kerberos-keytab"
)

// kerberosConfStep mounts the files with which a driver uses a kerberised Hadoop (KerberosConfDriverFeatureStep): a
// krb5.conf from the Request or a ConfigMap, a keytab from the Request or the image, and a token from a Secret. An
// earlier check rejects keys that name files of the submitter. Unlike spark-submit, the step reads no ticket cache,
// because there is no submitter that could have a ticket cache.
func kerberosConfStep(d *draft) error {
	if err := krb5Conf(d); err != nil {
		return err
	}
	keytabKey, _, hasKeytab := d.conf.Lookup("spark.kerberos.keytab")
	principalKey, _, hasPrincipal := d.conf.Lookup("spark.kerberos.principal")
	given := d.r.Keytab != nil
	switch {
	case given && hasKeytab:
		return KeyErrorf(keytabKey, "cannot be used together with a keytab file of the submitter (--keytab); remove one of the two")
	case given && !hasPrincipal:
		return FieldErrorf("Keytab", "needs spark.kerberos.principal too")
	case hasKeytab && !hasPrincipal:
		return KeyErrorf(keytabKey, "needs spark.kerberos.principal too")
	case hasPrincipal && !hasKeytab && !given:
		return KeyErrorf(principalKey, "needs spark.kerberos.keytab too")
	}
	if given {
		if err := keytabSecret(d); err != nil {
			return err
		}
	}
	return tokenSecret(d, given)
}

// krb5Conf mounts /etc/krb5.conf. It always mounts the file under the name that the driver expects. Spark instead
// mounts the file under its original name, so the driver finds an empty directory if that name is not krb5.conf.
func krb5Conf(d *draft) error {
	const key = kerberosPrefix + "krb5.configMapName"
	name, err := d.conf.String(key, "")
	if err != nil {
		return err
	}
	source := &corev1.ConfigMapVolumeSource{}
	if file := d.r.Krb5Conf; file != nil {
		if name != "" {
			return KeyErrorf(key, "cannot be used together with a krb5.conf file of the submitter (spark.kubernetes.kerberos.krb5.path); remove one of the two")
		}
		if err := checkFile("Krb5Conf", file); err != nil {
			return err
		}
		if !utf8.Valid(file.Content) {
			return FieldErrorf("Krb5Conf", "%s is not UTF-8 text, which a ConfigMap requires; convert the file to UTF-8", file.Name)
		}
		name = bounded("", d.r.ResourceNamePrefix, "-krb5-file")
		data := map[string]string{file.Name: string(file.Content)}
		if err := checkFiles("Krb5Conf", data); err != nil {
			return err
		}
		d.configMap(name, data)
		source.Items = []corev1.KeyToPath{{Key: file.Name, Path: krb5File}}
	}
	if name == "" {
		return nil
	}
	source.Name = name
	d.mount(corev1.Volume{Name: "krb5-file", VolumeSource: corev1.VolumeSource{ConfigMap: source}},
		corev1.VolumeMount{MountPath: "/etc/" + krb5File, SubPath: krb5File})
	return nil
}

// keytabSecret mounts the Request's keytab at the path from which the driver logs in.
func keytabSecret(d *draft) error {
	file := d.r.Keytab
	if err := checkFile("Keytab", file); err != nil {
		return err
	}
	name := bounded("", d.r.ResourceNamePrefix, "-kerberos-keytab")
	if err := d.secret("Keytab", name, map[string][]byte{file.Name: file.Content}); err != nil {
		return err
	}
	d.mount(corev1.Volume{Name: "kerberos-keytab", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}},
		corev1.VolumeMount{MountPath: keytabDir})
	d.props.Set("spark.kerberos.keytab", path.Join(keytabDir, file.Name))
	return nil
}

// checkFile returns an error for a file whose name cannot be a key of a Secret or ConfigMap.
func checkFile(field string, file *File) error {
	if errs := validation.IsConfigMapKey(file.Name); len(errs) > 0 {
		return FieldErrorf(field, "the file's name %q cannot be a key: %s", file.Name, errs[0])
	}
	return nil
}

// tokenSecret mounts delegation tokens from a Secret that another party maintains. If the Request has a keytab,
// tokenSecret mounts nothing, because the driver then creates its own tokens.
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
		return KeyErrorf(itemKey, "needs %s too", nameKey)
	case item == "":
		return KeyErrorf(nameKey, "needs %s too", itemKey)
	case hasKeytab:
		d.warn("%s: has no effect, because the driver creates its own tokens with the keytab", nameKey)
		return nil
	}
	const dir = "/mnt/secrets/hadoop-credentials"
	d.mount(corev1.Volume{Name: "hadoop-secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}},
		corev1.VolumeMount{MountPath: dir})
	d.env("HADOOP_TOKEN_FILE_LOCATION", dir+"/"+item)
	return nil
}
