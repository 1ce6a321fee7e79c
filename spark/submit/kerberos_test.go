package submit

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestKrb5Conf(t *testing.T) {
	const name = "my-app-1-c05dd8a1fbc0dc03-krb5-file"
	for file, want := range map[string][]corev1.KeyToPath{
		"krb5.conf": {{Key: "krb5.conf", Path: "krb5.conf"}},
		// Spark mounts an empty directory here.
		"prod-krb5.conf": {{Key: "prod-krb5.conf", Path: "krb5.conf"}},
	} {
		r := minimal()
		r.Krb5Conf = &File{Name: file, Content: []byte("[libdefaults]\n")}
		o := build(t, r)
		if diff := cmp.Diff(map[string]string{file: "[libdefaults]\n"}, find[*corev1.ConfigMap](t, o, name).Data); diff != "" {
			t.Errorf("%s: ConfigMap (-want +got):\n%s", file, diff)
		}
		source := volumeOf(t, o, "krb5-file").ConfigMap
		if diff := cmp.Diff(want, source.Items); diff != "" || source.Name != name {
			t.Errorf("%s: volume of %s (-want +got):\n%s", file, source.Name, diff)
		}
		for _, m := range sparkContainer(t, o).VolumeMounts {
			if m.Name == "krb5-file" && (m.MountPath != "/etc/krb5.conf" || m.SubPath != "krb5.conf") {
				t.Errorf("%s: mount is %+v", file, m)
			}
		}
	}
	if source := volumeOf(t, build(t, with("spark.kubernetes.kerberos.krb5.configMapName", "theirs")), "krb5-file").ConfigMap; source.Name != "theirs" || source.Items != nil {
		t.Errorf("volume of a ConfigMap that is there: %+v", source)
	}
}

func TestKeytab(t *testing.T) {
	const name = "my-app-1-c05dd8a1fbc0dc03-kerberos-keytab"
	for _, key := range []string{"spark.kerberos.principal", "spark.yarn.principal"} {
		r := with(key, "p@R", "spark.kubernetes.kerberos.tokenSecret.name", "tokens", "spark.kubernetes.kerberos.tokenSecret.itemKey", "item")
		r.Keytab = &File{Name: "user.keytab", Content: []byte{5, 2, 0xff}}
		o := build(t, r)
		if diff := cmp.Diff(map[string][]byte{"user.keytab": {5, 2, 0xff}}, find[*corev1.Secret](t, o, name).Data); diff != "" {
			t.Errorf("Secret (-want +got):\n%s", diff)
		}
		if volumeOf(t, o, "kerberos-keytab").Secret.SecretName != name || mountsOf(sparkContainer(t, o))["kerberos-keytab"] != "/mnt/secrets/kerberos-keytab" {
			t.Error("the Secret is not mounted")
		}
		if got := props(t, o)["spark.kerberos.keytab"]; got != "/mnt/secrets/kerberos-keytab/user.keytab" {
			t.Errorf("spark.properties has %q", got)
		}
		if _, ok := envOf(sparkContainer(t, o))["HADOOP_TOKEN_FILE_LOCATION"]; ok || len(o.Warnings) != 1 {
			t.Errorf("a token has no effect beside a keytab that is uploaded, and a warning should say so: %q", o.Warnings)
		}
	}
}

// TestKeytabOfTheImage checks that the delegation token is also mounted if the keytab is in the image. Spark omits the
// token only for a keytab that it uploads.
func TestKeytabOfTheImage(t *testing.T) {
	o := build(t, with("spark.kerberos.keytab", "local:///k", "spark.kerberos.principal", "p", "spark.kubernetes.kerberos.tokenSecret.name", "tokens",
		"spark.kubernetes.kerberos.tokenSecret.itemKey", "item"))
	if got := props(t, o)["spark.kerberos.keytab"]; got != "local:///k" || len(o.Before) != 2 {
		t.Errorf("spark.properties has %q; %d objects", got, len(o.Before))
	}
	if got := envOf(sparkContainer(t, o))["HADOOP_TOKEN_FILE_LOCATION"]; got != "/mnt/secrets/hadoop-credentials/item" {
		t.Errorf("the token is at %q", got)
	}
}

func TestKerberosRefused(t *testing.T) {
	for what, c := range map[string]struct {
		change     func(*Request)
		name, text string
	}{
		"keytab in the Request and a key": {func(r *Request) {
			r.Keytab = &File{Name: "k"}
			r.Conf.Set("spark.kerberos.keytab", "local:///k")
			r.Conf.Set("spark.kerberos.principal", "p")
		}, "spark.kerberos.keytab", "of the submitter"},
		"keytab without a principal": {func(r *Request) { r.Keytab = &File{Name: "k"} }, "Keytab", "spark.kerberos.principal"},
		"invalid keytab name":        {func(r *Request) { r.Keytab = &File{Name: "a b"}; r.Conf.Set("spark.kerberos.principal", "p") }, "Keytab", "cannot be a key"},
		"too large keytab": {func(r *Request) {
			r.Keytab = &File{"k", make([]byte, 1<<20+1)}
			r.Conf.Set("spark.kerberos.principal", "p")
		}, "Keytab", "more than a Secret"},
		"invalid krb5.conf name":      {func(r *Request) { r.Krb5Conf = &File{Name: ".."} }, "Krb5Conf", "cannot be a key"},
		"krb5.conf that is not UTF-8": {func(r *Request) { r.Krb5Conf = &File{"krb5.conf", []byte{0xff}} }, "Krb5Conf", "UTF-8"},
		"too large krb5.conf":         {func(r *Request) { r.Krb5Conf = &File{"krb5.conf", make([]byte, 1<<20+1)} }, "Krb5Conf", "more than a ConfigMap"},
		"krb5.conf in the Request and a key": {func(r *Request) {
			r.Krb5Conf = &File{Name: "krb5.conf"}
			r.Conf.Set("spark.kubernetes.kerberos.krb5.configMapName", "c")
		}, "spark.kubernetes.kerberos.krb5.configMapName", "of the submitter"},
	} {
		t.Run(what, func(t *testing.T) {
			r := minimal()
			c.change(&r)
			refusedFor(t, r, c.name, c.text)
		})
	}
}
