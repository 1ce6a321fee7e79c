package steps

import (
	"path"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/names"
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
func kerberosConfStep(d *draft.Draft) error {
	if err := krb5Conf(d); err != nil {
		return err
	}

	keytabKey, _, hasKeytab := d.Conf.Lookup("spark.kerberos.keytab")
	principalKey, _, hasPrincipal := d.Conf.Lookup("spark.kerberos.principal")

	given := d.Request.Keytab != nil
	switch {
	case given && hasKeytab:
		return submit.KeyErrorf(keytabKey, "cannot be used together with a keytab file of the submitter (--keytab); remove one of the two")
	case given && !hasPrincipal:
		return submit.FieldErrorf("Keytab", "needs spark.kerberos.principal too")
	case hasKeytab && !hasPrincipal:
		return submit.KeyErrorf(keytabKey, "needs spark.kerberos.principal too")
	case hasPrincipal && !hasKeytab && !given:
		return submit.KeyErrorf(principalKey, "needs spark.kerberos.keytab too")
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
func krb5Conf(d *draft.Draft) error {
	const key = kerberosPrefix + "krb5.configMapName"

	name, err := d.Conf.String(key, "")
	if err != nil {
		return err
	}

	source := &corev1.ConfigMapVolumeSource{}
	if file := d.Request.Krb5Conf; file != nil {
		if name != "" {
			return submit.KeyErrorf(key, "cannot be used together with a krb5.conf file of the submitter (spark.kubernetes.kerberos.krb5.path); remove one of the two")
		}

		if err := checkFile("Krb5Conf", file); err != nil {
			return err
		}

		if !utf8.Valid(file.Content) {
			return submit.FieldErrorf("Krb5Conf", "%s is not UTF-8 text, which a ConfigMap requires; convert the file to UTF-8", file.Name)
		}

		name = names.Bounded("", d.Request.ResourceNamePrefix, "-krb5-file")

		data := map[string]string{file.Name: string(file.Content)}
		if err := draft.CheckFiles("Krb5Conf", data); err != nil {
			return err
		}

		d.AddConfigMap(name, data)

		source.Items = []corev1.KeyToPath{{Key: file.Name, Path: krb5File}}
	}

	if name == "" {
		return nil
	}

	source.Name = name
	d.Mount(corev1.Volume{Name: "krb5-file", VolumeSource: corev1.VolumeSource{ConfigMap: source}},
		corev1.VolumeMount{MountPath: "/etc/" + krb5File, SubPath: krb5File})
	return nil
}

// keytabSecret mounts the Request's keytab at the path from which the driver logs in.
func keytabSecret(d *draft.Draft) error {
	file := d.Request.Keytab
	if err := checkFile("Keytab", file); err != nil {
		return err
	}

	name := names.Bounded("", d.Request.ResourceNamePrefix, "-kerberos-keytab")
	if err := d.AddSecret("Keytab", name, map[string][]byte{file.Name: file.Content}); err != nil {
		return err
	}

	d.Mount(corev1.Volume{Name: "kerberos-keytab", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}},
		corev1.VolumeMount{MountPath: keytabDir})
	d.Props.Set("spark.kerberos.keytab", path.Join(keytabDir, file.Name))
	return nil
}

// checkFile returns an error for a file whose name cannot be a key of a Secret or ConfigMap.
func checkFile(field string, file *submit.File) error {
	if errs := validation.IsConfigMapKey(file.Name); len(errs) > 0 {
		return submit.FieldErrorf(field, "the file's name %q cannot be a key: %s", file.Name, errs[0])
	}
	return nil
}

// tokenSecret mounts delegation tokens from a Secret that another party maintains. If the Request has a keytab,
// tokenSecret mounts nothing, because the driver then creates its own tokens.
func tokenSecret(d *draft.Draft, hasKeytab bool) error {
	const nameKey, itemKey = kerberosPrefix + "tokenSecret.name", kerberosPrefix + "tokenSecret.itemKey"

	name, err := d.Conf.String(nameKey, "")
	if err != nil {
		return err
	}

	item, err := d.Conf.String(itemKey, "")
	if err != nil {
		return err
	}

	switch {
	case name == "" && item == "":
		return nil
	case name == "":
		return submit.KeyErrorf(itemKey, "needs %s too", nameKey)
	case item == "":
		return submit.KeyErrorf(nameKey, "needs %s too", itemKey)
	case hasKeytab:
		d.Warn("%s: has no effect, because the driver creates its own tokens with the keytab", nameKey)
		return nil
	}
	const dir = "/mnt/secrets/hadoop-credentials"
	d.Mount(corev1.Volume{Name: "hadoop-secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}},
		corev1.VolumeMount{MountPath: dir})
	d.AddEnv("HADOOP_TOKEN_FILE_LOCATION", dir+"/"+item)
	return nil
}
