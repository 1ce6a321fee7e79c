package operator

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/webhook"
	"github.com/sparkoperator/spark-operator/internal/webhook/certs"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// TestWebhookOfAStandby checks the webhook of a replica that does not lead. The replica becomes ready when it has a
// certificate, and answers reviews for the namespaces that it serves. The webhook rejects an invalid application with
// the message that a pass writes into its status.
func TestWebhookOfAStandby(t *testing.T) {
	t.Parallel()
	kit.NeedsLoopback(t)
	w, other := newWorld(t), newWorld(t)
	cfg := testConfig(w.Namespace)
	election := &cfg.LeaderElection
	election.Enabled, election.Namespace, election.LeaseName = new(true), w.Namespace, "lock"
	cfg.Health.BindAddress = freeAddress(t)
	w.runBoth(cfg) // it leads
	standby := cfg
	standby.Health.BindAddress = freeAddress(t)
	standby.Webhook = config.Webhook{BindAddress: freeAddress(t), CertDir: t.TempDir()}
	w.runBoth(standby)

	ready := func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+standby.Health.BindAddress+"/readyz", nil)
		if err != nil {
			return err
		}

		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}

		if _ = answer.Body.Close(); answer.StatusCode != http.StatusOK {
			return errors.New(answer.Status)
		}
		return nil
	}
	kit.Wait(t, "the standby's probes", func(context.Context) error {
		if err := ready(); err == nil || !strings.Contains(err.Error(), "500") {
			return errors.Join(errors.New("there is no certificate yet"), err)
		}
		return nil
	})
	chain := writeCertificate(t, standby.Webhook.CertDir)
	kit.Wait(t, "the standby to be ready", func(context.Context) error { return ready() })

	served := w.Application("pi", func(app *v1beta2.SparkApplication) { // without a webhook
		app.Spec.SparkConf = map[string]string{"spark.kubernetes.namespace": "elsewhere"}
	})
	var stored *v1beta2.SparkApplication
	kit.Wait(t, "the pass over an invalid application", func(context.Context) error {
		if stored = w.Get(served.Name); stored.Status.AppState.State != v1beta2.ApplicationStateFailed {
			return errors.New(string(stored.Status.AppState.State))
		}
		return nil
	})
	w.reviewBy("https://"+standby.Webhook.BindAddress, chain, w.Namespace, other.Namespace)

	invalid := func(namespace string) error {
		app := stored.DeepCopy()
		app.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: stored.Name + "-2"}
		app.Spec = stored.Spec
		return w.API.Create(t.Context(), app, client.DryRunAll)
	}
	var refused error
	kit.Wait(t, "the webhook's refusal", func(context.Context) error {
		if refused = invalid(w.Namespace); refused == nil {
			return errors.New("the application is admitted")
		}
		return nil
	})

	if said := refused.Error(); !strings.HasSuffix(said, "denied the request: "+stored.Status.AppState.ErrorMessage) {
		t.Errorf("refused with %q, failed with %q", said, stored.Status.AppState.ErrorMessage)
	}

	if err := invalid(other.Namespace); err != nil {
		t.Errorf("a namespace that is not served: %v", err)
	}
}

// reviewBy registers a webhook that reviews the SparkApplications of the given namespaces. url and ca are the address
// and the CA certificate of the webhook's server.
func (w *world) reviewBy(url string, ca []byte, namespaces ...string) {
	w.T.Helper()

	kind := kinds.Admission(nil)[0].Kind
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "webhook-" + w.Namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "validate.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionregistrationv1.SideEffectClassNone),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new(url + webhook.Path(kind)), CABundle: ca},
			NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: namespaces},
			}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{kind.Group}, APIVersions: []string{kind.Version}, Resources: []string{"sparkapplications"}},
			}},
		}},
	}
	w.Create(configuration)
	w.T.Cleanup(func() {
		if err := client.IgnoreNotFound(w.API.Delete(context.Background(), configuration)); err != nil {
			w.T.Error(err)
		}
	})
}

// TestSelfSignedWebhook checks that the operator issues a certificate for the configured Service, serves the webhook
// with it, and stores the CA certificate in the webhook configuration, so that the API server trusts the webhook. The
// replica does not lead.
func TestSelfSignedWebhook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "certs"}})
	w.reviewBy("https://127.0.0.1:1", nil, w.Namespace)
	cfg := w.standbyConfig()
	cfg.Webhook.BindAddress = freeAddress(t)
	cfg.Webhook.SelfSigned.Secret, cfg.Webhook.SelfSigned.Namespace = "certs", w.Namespace

	cfg.Webhook.SelfSigned.Configuration, cfg.Webhook.SelfSigned.Service = "webhook-"+w.Namespace, "hook"
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}

	w.runBoth(cfg)
	kit.Wait(t, "the certificate", func(ctx context.Context) error {
		configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		if err := w.API.Get(ctx, client.ObjectKey{Name: "webhook-" + w.Namespace}, configuration); err != nil {
			return err
		}

		trusted := x509.NewCertPool()
		if !trusted.AppendCertsFromPEM(configuration.Webhooks[0].ClientConfig.CABundle) {
			return errors.New("the webhook configuration has no CA bundle")
		}

		name := "hook." + w.Namespace + ".svc"
		dialer := tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted, ServerName: name}}

		connection, err := dialer.DialContext(ctx, "tcp", cfg.Webhook.BindAddress)
		if err != nil {
			return err
		}
		return connection.Close()
	})
}

// standbyConfig returns the configuration of a replica that does not lead, because another replica holds the lease.
func (w *world) standbyConfig() config.Configuration {
	w.T.Helper()
	cfg := testConfig(w.Namespace)
	election := &cfg.LeaderElection
	election.Enabled, election.Namespace, election.LeaseName = new(true), w.Namespace, "lock"
	w.Create(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "lock"}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: new("another"), LeaseDurationSeconds: new(int32(3600)), RenewTime: &metav1.MicroTime{Time: time.Now()}, AcquireTime: &metav1.MicroTime{Time: time.Now()},
	}})
	return cfg
}

// writeCertificate writes a certificate for 127.0.0.1 and its key into a directory, and returns the certificate.
func writeCertificate(t *testing.T, dir string) []byte {
	t.Helper()

	chain, key, err := certs.Issue([]string{"127.0.0.1"}, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}

	for name, text := range map[string][]byte{"tls.crt": chain, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return chain
}

// review sends a review request without an object to a webhook, again and again, until the webhook answers with status
// 200.
func review(t *testing.T, address string, chain []byte) {
	t.Helper()

	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(chain)
	to := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted}}}
	defer to.CloseIdleConnections()

	kit.Wait(t, "the answer to a review", func(ctx context.Context) error {
		const text = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"DELETE"}}`

		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address+webhook.Path(kinds.Admission(nil)[0].Kind), strings.NewReader(text))
		if err != nil {
			return err
		}

		req.Header.Set("Content-Type", "application/json")

		answer, err := to.Do(req)
		if err != nil {
			return err
		}

		if _ = answer.Body.Close(); answer.StatusCode != http.StatusOK {
			return errors.New(answer.Status)
		}
		return nil
	})
}
