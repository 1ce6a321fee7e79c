package steps_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
)

func TestKrb5Conf(t *testing.T) {
	const name = "my-app-1-c05dd8a1fbc0dc03-krb5-file"
	for file, want := range map[string][]corev1.KeyToPath{
		"krb5.conf": {{Key: "krb5.conf", Path: "krb5.conf"}},
		// Spark mounts an empty directory here.
		"prod-krb5.conf": {{Key: "prod-krb5.conf", Path: "krb5.conf"}},
	} {
		r := kit.Minimal()
		r.Krb5Conf = &submit.File{Name: file, Content: []byte("[libdefaults]\n")}

		o := kit.Build(t, r)
		if diff := cmp.Diff(map[string]string{file: "[libdefaults]\n"},
			kit.Find[*corev1.ConfigMap](t, o, name).Data); diff != "" {
			t.Errorf("%s: ConfigMap (-want +got):\n%s", file, diff)
		}

		source := kit.VolumeOf(t, o, "krb5-file").ConfigMap
		if diff := cmp.Diff(want, source.Items); diff != "" || source.Name != name {
			t.Errorf("%s: volume of %s (-want +got):\n%s", file, source.Name, diff)
		}

		for _, m := range kit.SparkContainer(t, o).VolumeMounts {
			if m.Name == "krb5-file" && (m.MountPath != "/etc/krb5.conf" || m.SubPath != "krb5.conf") {
				t.Errorf("%s: mount is %+v", file, m)
			}
		}
	}

	if source := kit.VolumeOf(t, kit.Build(t, kit.With("spark.kubernetes.kerberos.krb5.configMapName", "theirs")),
		"krb5-file").ConfigMap; source.Name != "theirs" || source.Items != nil {
		t.Errorf("volume of a ConfigMap that is there: %+v", source)
	}
}

func TestKeytab(t *testing.T) {
	const name = "my-app-1-c05dd8a1fbc0dc03-kerberos-keytab"
	for _, key := range []string{"spark.kerberos.principal", "spark.yarn.principal"} {
		r := kit.With(key, "p@R", "spark.kubernetes.kerberos.tokenSecret.name", "tokens",
			"spark.kubernetes.kerberos.tokenSecret.itemKey", "item")
		r.Keytab = &submit.File{Name: "user.keytab", Content: []byte{5, 2, 0xff}}

		o := kit.Build(t, r)
		if diff := cmp.Diff(map[string][]byte{"user.keytab": {5, 2, 0xff}},
			kit.Find[*corev1.Secret](t, o, name).Data); diff != "" {
			t.Errorf("Secret (-want +got):\n%s", diff)
		}

		if kit.VolumeOf(t, o, "kerberos-keytab").Secret.SecretName != name ||
			kit.MountsOf(kit.SparkContainer(t, o))["kerberos-keytab"] != "/mnt/secrets/kerberos-keytab" {
			t.Error("the Secret is not mounted")
		}

		if got := kit.Props(t, o)["spark.kerberos.keytab"]; got != "/mnt/secrets/kerberos-keytab/user.keytab" {
			t.Errorf("spark.properties has %q", got)
		}

		if _, ok := kit.EnvOf(kit.SparkContainer(t, o))["HADOOP_TOKEN_FILE_LOCATION"]; ok || len(o.Warnings) != 1 {
			t.Errorf("a token has no effect beside a keytab that is uploaded, and a warning should say so: %q",
				o.Warnings)
		}
	}
}

// TestKeytabOfTheImage checks that the delegation token is also mounted if the keytab is in the image. Spark omits the
// token only for a keytab that it uploads.
func TestKeytabOfTheImage(t *testing.T) {
	o := kit.Build(t, kit.With("spark.kerberos.keytab", "local:///k", "spark.kerberos.principal", "p",
		"spark.kubernetes.kerberos.tokenSecret.name", "tokens",
		"spark.kubernetes.kerberos.tokenSecret.itemKey", "item"))
	if got := kit.Props(t, o)["spark.kerberos.keytab"]; got != "local:///k" || len(o.Before) != 2 {
		t.Errorf("spark.properties has %q; %d objects", got, len(o.Before))
	}

	if got := kit.EnvOf(kit.SparkContainer(t,
		o))["HADOOP_TOKEN_FILE_LOCATION"]; got != "/mnt/secrets/hadoop-credentials/item" {
		t.Errorf("the token is at %q", got)
	}
}

func TestKerberosRefused(t *testing.T) {
	for what, c := range map[string]struct {
		change     func(*submit.Request)
		name, text string
	}{
		"keytab in the Request and a key": {func(r *submit.Request) {
			r.Keytab = &submit.File{Name: "k"}
			r.Conf.Set("spark.kerberos.keytab", "local:///k")
			r.Conf.Set("spark.kerberos.principal", "p")
		}, "spark.kerberos.keytab", "of the submitter"},
		"keytab without a principal": {func(r *submit.Request) { r.Keytab = &submit.File{Name: "k"} }, "Keytab",
			"spark.kerberos.principal"},
		"invalid keytab name": {func(r *submit.Request) {
			r.Keytab = &submit.File{Name: "a b"}
			r.Conf.Set("spark.kerberos.principal", "p")
		}, "Keytab", "cannot be a key"},
		"too large keytab": {func(r *submit.Request) {
			r.Keytab = &submit.File{Name: "k", Content: make([]byte, 1<<20+1)}
			r.Conf.Set("spark.kerberos.principal", "p")
		}, "Keytab", "more than a Secret"},
		"invalid krb5.conf name": {func(r *submit.Request) { r.Krb5Conf = &submit.File{Name: ".."} }, "Krb5Conf",
			"cannot be a key"},
		"krb5.conf that is not UTF-8": {func(r *submit.Request) {
			r.Krb5Conf = &submit.File{Name: "krb5.conf",
				Content: []byte{0xff}}
		}, "Krb5Conf", "UTF-8"},
		"too large krb5.conf": {func(r *submit.Request) {
			r.Krb5Conf = &submit.File{Name: "krb5.conf",
				Content: make([]byte, 1<<20+1)}
		}, "Krb5Conf", "more than a ConfigMap"},
		"krb5.conf in the Request and a key": {func(r *submit.Request) {
			r.Krb5Conf = &submit.File{Name: "krb5.conf"}
			r.Conf.Set("spark.kubernetes.kerberos.krb5.configMapName", "c")
		}, "spark.kubernetes.kerberos.krb5.configMapName", "of the submitter"},
	} {
		t.Run(what, func(t *testing.T) {
			r := kit.Minimal()
			c.change(&r)
			kit.RefusedFor(t, r, c.name, c.text)
		})
	}
}
