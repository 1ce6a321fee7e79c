package steps_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
)

func TestCredentials(t *testing.T) {
	const prefix = "spark.kubernetes.authenticate.driver."

	o := kit.Build(t, kit.With(prefix+"serviceAccountName", "spark"))
	if o.Driver.Spec.ServiceAccountName != "spark" || o.Driver.Spec.DeprecatedServiceAccount != "spark" {
		t.Errorf("service account %q, %q", o.Driver.Spec.ServiceAccountName, o.Driver.Spec.DeprecatedServiceAccount)
	}

	o = kit.Build(t, kit.With(prefix+"serviceAccountName", "spark", prefix+"oauthToken", "s3cret",
		"spark.other.oauthToken", "t0ken"))
	if o.Driver.Spec.ServiceAccountName != "" || len(o.Warnings) != 1 {
		t.Errorf("with a token the account has no effect, and a warning should say so: %q, %q",
			o.Driver.Spec.ServiceAccountName, o.Warnings)
	}

	secret := kit.Find[*corev1.Secret](t, o, "my-app-1-c05dd8a1fbc0dc03-kubernetes-credentials")
	if string(secret.Data["oauth-token"]) != "s3cret" || secret.Immutable == nil || !*secret.Immutable {
		t.Errorf("secret is %v", secret.Data)
	}

	p := kit.Props(t, o)
	if p[prefix+"oauthToken"] != "<present_but_redacted>" || p["spark.other.oauthToken"] != "<present_but_redacted>" ||
		p[prefix+"mounted.oauthTokenFile"] != "/mnt/secrets/spark-kubernetes-credentials/oauth-token" {
		t.Errorf("properties: %v", p)
	}

	for _, object := range o.Before {
		if text, _ := yaml.Marshal(object); object != submit.Object(secret) &&
			(strings.Contains(string(text), "s3cret") || strings.Contains(string(text), "t0ken")) {
			t.Errorf("the token stands in %s", object.GetName())
		}
	}

	o = kit.Build(t, kit.With(prefix+"mounted.oauthTokenFile", "/mine", "spark.other.oauthToken", "x"))
	if p := kit.Props(t, o); p["spark.other.oauthToken"] != "<present_but_redacted>" ||
		p[prefix+"mounted.oauthTokenFile"] != "/mine" || len(o.Before) != 2 {
		t.Errorf("a mounted file alone makes no Secret, and every token is hidden: %v", p)
	}
}

func TestCredentialFiles(t *testing.T) {
	const prefix, dir, name = "spark.kubernetes.authenticate.driver.", "/mnt/secrets/spark-kubernetes-credentials/",
		"my-app-1-c05dd8a1fbc0dc03-kubernetes-credentials"
	for what, c := range map[string]struct {
		given   submit.Credentials
		pairs   []string
		data    map[string]string
		mounted map[string]string
		account string
	}{
		"nothing":                {account: "spark"},
		"empty files are absent": {given: submit.Credentials{CACert: []byte{}}, account: "spark"},
		"CA certificate": {given: submit.Credentials{CACert: []byte("ca")},
			data: map[string]string{"ca-cert": "ca"}, mounted: map[string]string{"caCertFile": dir + "ca-cert"}},
		"everything": {
			given: submit.Credentials{CACert: []byte("ca"), ClientKey: []byte{0, 0xff}, ClientCert: []byte("cert")},
			pairs: []string{prefix + "oauthToken", "t"},
			data: map[string]string{"ca-cert": "ca", "client-key": "\x00\xff", "client-cert": "cert",
				"oauth-token": "t"},
			mounted: map[string]string{"caCertFile": dir + "ca-cert", "clientKeyFile": dir + "client-key",
				"clientCertFile": dir + "client-cert", "oauthTokenFile": dir + "oauth-token"},
		},
		"path that the user sets": {
			given: submit.Credentials{ClientKey: []byte("k")},
			pairs: []string{prefix + "mounted.clientKeyFile", "/mine"},
			data:  map[string]string{"client-key": "k"}, mounted: map[string]string{"clientKeyFile": "/mine"},
		},
	} {
		t.Run(what, func(t *testing.T) {
			r := kit.With(append(c.pairs, prefix+"serviceAccountName", "spark")...)
			r.DriverCredentials = c.given
			o := kit.Build(t, r)

			p := kit.Props(t, o)
			for _, key := range []string{"caCertFile", "clientKeyFile", "clientCertFile", "oauthTokenFile"} {
				if got := p[prefix+"mounted."+key]; got != c.mounted[key] {
					t.Errorf("%s is %q, want %q", key, got, c.mounted[key])
				}
			}

			if got := o.Driver.Spec.ServiceAccountName; got != c.account {
				t.Errorf("service account is %q, want %q", got, c.account)
			}

			if c.data == nil {
				if len(o.Before) != 2 {
					t.Errorf("%d objects, want no Secret", len(o.Before))
				}
				return
			}

			got := map[string]string{}
			for key, value := range kit.Find[*corev1.Secret](t, o, name).Data {
				got[key] = string(value)
			}

			if diff := cmp.Diff(c.data, got); diff != "" {
				t.Errorf("Secret (-want +got):\n%s", diff)
			}

			if kit.VolumeOf(t, o, "kubernetes-credentials").Secret.SecretName != name ||
				kit.MountsOf(kit.SparkContainer(t, o))["kubernetes-credentials"] != strings.TrimSuffix(dir, "/") {
				t.Error("the Secret is not mounted")
			}
		})
	}
}

func TestSecretSharesNoBytesWithRequest(t *testing.T) {
	r := kit.Minimal()
	r.DriverCredentials.CACert = []byte("ca")

	kit.Find[*corev1.Secret](t, kit.Build(t, r),
		"my-app-1-c05dd8a1fbc0dc03-kubernetes-credentials").Data["ca-cert"][0] = 'x'
	if string(r.DriverCredentials.CACert) != "ca" {
		t.Error("the Secret shares its bytes with the Request")
	}
}

func TestCredentialsThatAreTooLarge(t *testing.T) {
	r := kit.Minimal()
	r.DriverCredentials = submit.Credentials{CACert: make([]byte, 1<<19), ClientKey: make([]byte, 1<<19),
		ClientCert: []byte("x")}
	kit.RefusedFor(t, r, "DriverCredentials", "more than a Secret holds")
}
