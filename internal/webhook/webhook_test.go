package webhook_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestWebhookOfAStandby checks the webhook of a replica that does not lead. The replica becomes ready when it has a
// certificate, and answers reviews for the namespaces that it serves. The webhook rejects an invalid application with
// the message that a pass writes into its status.
func TestWebhookOfAStandby(t *testing.T) {
	t.Parallel()
	kit.NeedsLoopback(t)
	w, other := world.New(t), world.New(t)
	cfg := world.Config(w.Namespace)
	election := &cfg.LeaderElection
	election.Enabled, election.Namespace, election.LeaseName = new(true), w.Namespace, "lock"
	cfg.Health.BindAddress = kit.FreeAddress(t)
	w.RunBoth(cfg) // it leads
	standby := cfg
	standby.Health.BindAddress = kit.FreeAddress(t)
	standby.Webhook = config.Webhook{BindAddress: kit.FreeAddress(t), CertDir: t.TempDir()}
	w.RunBoth(standby)

	ready := func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"http://"+standby.Health.BindAddress+"/readyz", nil)
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
	chain := world.WriteCertificate(t, standby.Webhook.CertDir)
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
	w.ReviewBy("https://"+standby.Webhook.BindAddress, chain, w.Namespace, other.Namespace)

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

// TestSelfSignedWebhook checks that the operator issues a certificate for the configured Service, serves the webhook
// with it, and stores the CA certificate in the webhook configuration, so that the API server trusts the webhook. The
// replica does not lead.
func TestSelfSignedWebhook(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "certs"}})
	w.ReviewBy("https://127.0.0.1:1", nil, w.Namespace)
	cfg := w.StandbyConfig()
	cfg.Webhook.BindAddress = kit.FreeAddress(t)
	cfg.Webhook.SelfSigned.Secret, cfg.Webhook.SelfSigned.Namespace = "certs", w.Namespace

	cfg.Webhook.SelfSigned.Configuration, cfg.Webhook.SelfSigned.Service = "webhook-"+w.Namespace, "hook"
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}

	w.RunBoth(cfg)
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
