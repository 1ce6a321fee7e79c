package connect

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// theSecret is a value that must occur only in a Secret.
const theSecret = "Xyzzy-42"

// TestSecretsAreInASecretAlone checks a value that looks like a secret. Neither the pod, nor the ConfigMap, nor a
// warning may contain the value, and Spark must read it from the Secret's file.
func TestSecretsAreInASecretAlone(t *testing.T) {
	for name, c := range map[string]struct {
		key, value string
		more       []string
	}{
		"the token of clients":  {"spark.connect.authenticate.token", theSecret, nil},
		"a key of S3":           {"spark.hadoop.fs.s3a.secret.key", theSecret, nil},
		"a password in options": {"spark.driver.extraJavaOptions", "-Dpassword=" + theSecret, nil},
		"the user's pattern":    {"spark.example.pin", theSecret, []string{"spark.redaction.regex", "pin$"}},
		"an unreadable pattern": {"spark.example.pin", theSecret, []string{"spark.redaction.regex", "(?!x)pin"}},
		"an environment":        {"spark.executorEnv.API_TOKEN", theSecret, nil},
		"beyond ASCII":          {"spark.my.token", theSecret + "é\n", nil},
		"too long":              {"spark.my.token", theSecret + strings.Repeat("x", argumentLimit), nil},
	} {
		for _, version := range []string{"4.0.5", "4.3.0", "3.5.9"} {
			t.Run(name+", "+version, func(t *testing.T) {
				r := minimal(append([]string{c.key, c.value, "spark.example.lines", "a\rb"}, c.more...)...)
				if version == "3.5.9" {
					r = minimal(append([]string{c.key, c.value}, c.more...)...)
				}

				r.SparkVersion = version

				o := build(t, r)
				for what, object := range map[string]any{"the pod": o.Server, "the ConfigMap": o.Config,
					"a warning": o.Warnings} {
					if text, err := yaml.Marshal(object); err != nil || strings.Contains(string(text), theSecret) {
						t.Errorf("%s has the secret (%v):\n%s", what, err, text)
					}
				}

				if o.Secret == nil || !strings.Contains(string(o.Secret.Data[propertiesKey]), theSecret) {
					t.Fatalf("the Secret is %+v", o.Secret)
				}

				mounted(t, o)

				if file := string(o.Secret.Data[propertiesKey]); version != "3.5.9" &&
					!strings.Contains(file, "spark.example.lines") {
					t.Errorf("Spark reads one file, which lacks what no argument holds:\n%s", file)
				}
			})
		}
	}
}

// mounted checks that the properties file of spark-submit is mounted from the Secret and is not in the ConfigMap.
func mounted(t *testing.T, o Objects) {
	t.Helper()

	spark := o.Server.Spec.Containers[0]

	at := slices.Index(spark.Args, "--properties-file")
	if at < 0 {
		t.Fatalf("spark-submit reads no file: %q", spark.Args)
	}

	var from []string
	for _, m := range spark.VolumeMounts {
		if m.MountPath == spark.Args[at+1] && m.ReadOnly {
			from = append(from, m.Name)
		}
	}

	i := slices.IndexFunc(o.Server.Spec.Volumes,
		func(v corev1.Volume) bool { return v.Secret != nil && v.Secret.SecretName == o.Secret.Name })
	if i < 0 || len(from) != 1 || from[0] != o.Server.Spec.Volumes[i].Name {
		t.Errorf("%s comes from %q of %+v", spark.Args[at+1], from, o.Server.Spec.Volumes)
	}

	if o.Config.Data[propertiesKey] != "" || !*o.Secret.Immutable || o.Secret.Name == o.Config.Name ||
		o.Secret.OwnerReferences[0].UID != "uid-1" {
		t.Errorf("ConfigMap %+v, Secret %+v", o.Config, o.Secret.ObjectMeta)
	}
}

// TestWhatIsNoSecret checks that Build returns no Secret for values of exempt keys, although these keys or values
// contain words such as secret. An unnecessary Secret would require an additional permission of the operator.
func TestWhatIsNoSecret(t *testing.T) {
	r := minimal("spark.kubernetes.executor.secrets.s3-secret", "/etc/secret",
		"spark.kubernetes.executor.secretKeyRef.TOKEN", "s3:token", "spark.app.name", "tokens",
		"spark.authenticate.secret.file", "/etc/auth/secret", "spark.redaction.regex", "(?i)pin",
		"spark.kubernetes.driver.label.secret", "none")
	if o := build(t, r); o.Secret != nil || slices.Contains(o.Server.Spec.Containers[0].Args, "--properties-file") {
		t.Errorf("there is a Secret: %s", o.Secret.Data)
	}
}

// TestSecretWithBlanks checks that a secret with blanks at its ends is rejected, because a file would lose the blanks
// and an argument would show the secret.
func TestSecretWithBlanks(t *testing.T) {
	_, err := Build(minimal("spark.my.token", theSecret+" "))
	if wrong := refused(t, err); wrong.Key != "spark.my.token" || strings.Contains(err.Error(), theSecret) {
		t.Errorf("the error is %v", err)
	}
}
