package world

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
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/webhook"
	"github.com/sparkoperator/spark-operator/internal/webhook/certs"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// Leftover creates and returns the webhook configuration that remains when the kubeflow operator is uninstalled. The
// webhook selects pods by a label that our pods have too. It appends the application's volumes without checking whether
// a pod already has them.
func (w *World) Leftover(url string, ca []byte) *admissionregistrationv1.MutatingWebhookConfiguration {
	w.T.Helper()
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "leftover-" + w.Namespace},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "mutate--v1-pod.sparkoperator.k8s.io", AdmissionReviewVersions: []string{"v1"},
			SideEffects: new(admissionregistrationv1.SideEffectClassNone), FailurePolicy: new(admissionregistrationv1.Fail), TimeoutSeconds: new(int32(10)),
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: ca},
			ObjectSelector:    &metav1.LabelSelector{MatchLabels: map[string]string{sparkoperator.LabelLaunchedBy: "true"}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.Namespace}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}
	w.Create(configuration)
	w.T.Cleanup(func() {
		if err := client.IgnoreNotFound(w.API.Delete(context.Background(), configuration)); err != nil {
			w.T.Error(err)
		}
	})
	return configuration
}

// WithVolume gives an application a driver with a volume.
func WithVolume(app *v1beta2.SparkApplication) {
	scene.WithDriver(app)
	app.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	app.Spec.Driver.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
}

// ReviewBy registers a webhook that reviews the SparkApplications of the given namespaces. url and ca are the address
// and the CA certificate of the webhook's server.
func (w *World) ReviewBy(url string, ca []byte, namespaces ...string) {
	w.T.Helper()

	kind := configured.Admission(nil)[0].GVK()
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

// StandbyConfig returns the configuration of a replica that does not lead, because another replica holds the lease.
func (w *World) StandbyConfig() config.Configuration {
	w.T.Helper()
	cfg := Config(w.Namespace)
	election := &cfg.LeaderElection
	election.Enabled, election.Namespace, election.LeaseName = new(true), w.Namespace, "lock"
	w.Create(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "lock"}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: new("another"), LeaseDurationSeconds: new(int32(3600)), RenewTime: &metav1.MicroTime{Time: time.Now()}, AcquireTime: &metav1.MicroTime{Time: time.Now()},
	}})
	return cfg
}

// WriteCertificate writes a certificate for 127.0.0.1 and its key into a directory, and returns the certificate.
func WriteCertificate(t *testing.T, dir string) []byte {
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

// Review sends a review request without an object to a webhook, again and again, until the webhook answers with status
// 200.
func Review(t *testing.T, address string, chain []byte) {
	t.Helper()

	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(chain)
	to := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted}}}
	defer to.CloseIdleConnections()

	kit.Wait(t, "the answer to a review", func(ctx context.Context) error {
		const text = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"DELETE"}}`

		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address+webhook.Path(configured.Admission(nil)[0].GVK()), strings.NewReader(text))
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
