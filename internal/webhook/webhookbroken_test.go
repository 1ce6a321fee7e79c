package webhook_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/webhook"
	"github.com/sparkoperator/spark-operator/internal/webhook/certs"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// serveWith serves a handler with a certificate for 127.0.0.1 that is valid for the given time.
func serveWith(t *testing.T, valid time.Duration) (url string, chain []byte) {
	t.Helper()

	chain, key, err := certs.Issue([]string{"127.0.0.1"}, time.Now(), valid)
	if err != nil {
		t.Fatal(err)
	}

	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, chain
}

// TestBrokenWebhook checks the outcomes of webhooks that the API server cannot call. With the failure policy Fail, a
// creation is refused and the error names the cause, but applications that exist go on. With Ignore, a new application
// is admitted and launched.
func TestBrokenWebhook(t *testing.T) {
	t.Parallel()
	kit.NeedsLoopback(t)

	path := webhook.Path(configured.Admission(nil)[0].GVK())
	for name, c := range map[string]struct {
		to   func(*world.World) admissionregistrationv1.WebhookClientConfig
		want string
	}{
		"no Service": {func(w *world.World) admissionregistrationv1.WebhookClientConfig {
			return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: w.Namespace, Name: "nobody", Path: &path}}
		}, `service "nobody" not found`},
		"a Service without endpoints": {func(w *world.World) admissionregistrationv1.WebhookClientConfig {
			w.Create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "empty"},
				Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}}})
			return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: w.Namespace, Name: "empty", Path: &path}}
		}, "failed to call webhook: Post "},
		"an expired certificate": {func(*world.World) admissionregistrationv1.WebhookClientConfig {
			url, chain := serveWith(t, -time.Minute)
			return admissionregistrationv1.WebhookClientConfig{URL: new(url + path), CABundle: chain}
		}, "x509: certificate has expired"},
		"a foreign certificate": {func(*world.World) admissionregistrationv1.WebhookClientConfig {
			url, _ := serveWith(t, time.Hour)
			_, other := serveWith(t, time.Hour)
			return admissionregistrationv1.WebhookClientConfig{URL: new(url + path), CABundle: other}
		}, "x509: certificate signed by unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			w.RunReal()
			running := w.Application("before", scene.WithDriver)
			driver := w.DriverOf(running, 1)
			w.ReviewBy("https://127.0.0.1:1", nil, w.Namespace)
			to := c.to(w)
			call(w, to, admissionregistrationv1.Fail)

			fresh := func() *v1beta2.SparkApplication {
				return &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "fresh"},
					Spec: running.Spec}
			}
			kit.Wait(t, "the refusal", func(ctx context.Context) error {
				if err := w.API.Create(ctx, fresh(), client.DryRunAll); err == nil ||
					!strings.Contains(err.Error(), "failed calling webhook") || !strings.Contains(err.Error(), c.want) {
					return errors.Join(errors.New("want "+c.want), err)
				}
				return nil
			})
			w.Execute(driver, scene.Exited(0, ""))
			w.WaitState("before", v1beta2.ApplicationStateCompleted)
			call(w, to, admissionregistrationv1.Ignore)
			kit.Wait(t, "the admission", func(ctx context.Context) error { return w.API.Create(ctx, fresh()) })
			w.DriverOf(w.Get("fresh"), 1)
		})
	}
}

// call changes the address and the failure policy of the webhook that reviewBy registered.
func call(w *world.World, to admissionregistrationv1.WebhookClientConfig,
	policy admissionregistrationv1.FailurePolicyType) {
	w.T.Helper()

	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := w.API.Get(w.T.Context(), client.ObjectKey{Name: "webhook-" + w.Namespace}, configuration); err != nil {
		w.T.Fatal(err)
	}

	hook := &configuration.Webhooks[0]
	hook.ClientConfig, hook.FailurePolicy, hook.TimeoutSeconds = to, &policy, new(int32(1))

	if err := w.API.Update(w.T.Context(), configuration); err != nil {
		w.T.Fatal(err)
	}
}
