package webhook_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/webhook"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/fieldtable"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

func TestMain(m *testing.M) { kit.Main(m) }

// resources maps each kind to the plural name of its resource.
var resources = map[string]string{
	"SparkApplication": "sparkapplications", "ScheduledSparkApplication": "scheduledsparkapplications",
	"SparkConnect": "sparkconnects", "SparkCluster": "sparkclusters",
}

// hooked is a namespace with a webhook: the API server sends the custom resources of the namespace to it.
type hooked struct {
	*scene.World
	server   *httptest.Server
	warnings *warnings
	reviews  durations
	// user is a client for a user's requests. The field warnings collects the warnings that kubectl would print.
	user client.Client

	mu       sync.Mutex
	cfg      config.Configuration
	served   bool
	broken   error
	enforced bool  // whether objects are compared with the namespace's ResourceQuotas
	unread   error // the error of a read of the quotas
	// cached returns the quotas of a namespace from a cache, as in the operator. If cached is nil, the quotas are read
	// from the API server, so that a test does not have to wait for the cache.
	cached func(ctx context.Context, namespace string) ([]corev1.ResourceQuota, error)
	// labels are the labels of the namespace, and unknown is the error if they cannot be looked up.
	labels  map[string]string
	unknown error
}

func (h *hooked) namespaceLabels(context.Context, string) (map[string]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.labels, h.unknown
}

func (h *hooked) settings() config.Configuration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cfg
}

func (h *hooked) serves(context.Context, string) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.served, h.broken
}

// quotas reads the quotas of a namespace from the API server.
func (h *hooked) quotas(ctx context.Context, namespace string) ([]corev1.ResourceQuota, error) {
	h.mu.Lock()
	enforced, unread, cached := h.enforced, h.unread, h.cached
	h.mu.Unlock()
	var list corev1.ResourceQuotaList

	if !enforced || unread != nil {
		return nil, unread
	}

	if cached != nil {
		return cached(ctx, namespace)
	}

	err := h.API.List(ctx, &list, client.InNamespace(namespace))
	return list.Items, err
}

// change changes the settings that the webhook reads, such as the operator's configuration. The function f makes the
// change.
func (h *hooked) change(f func(*hooked)) {
	h.mu.Lock()
	defer h.mu.Unlock()

	f(h)
}

// warnings collects the warnings that a client receives.
type warnings struct {
	mu  sync.Mutex
	all []string
}

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.all = append(w.all, text)
}

// take returns the warnings since the last call.
func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()

	all := w.all
	w.all = nil
	return all
}

// schedulersEnabled returns the default configuration with batch schedulers enabled. Some refusals are about batch
// schedulers.
func schedulersEnabled() config.Configuration {
	cfg := config.Default()
	cfg.BatchScheduler.Enabled = true
	return cfg
}

// hook creates a namespace, starts a webhook for it, and waits until the API server calls the webhook.
func hook(t testing.TB) *hooked {
	t.Helper()
	kit.NeedsLoopback(t)
	h := &hooked{World: scene.New(t), cfg: schedulersEnabled(), served: true, warnings: &warnings{}}

	var reviewers []*webhook.Reviewer
	for _, kind := range configured.Admission(nil) {
		reviewers = append(reviewers,
			&webhook.Reviewer{Kind: kind, Settings: h.settings, Serves: h.serves, Labels: h.namespaceLabels,
				Quotas: h.quotas, Clock: time.Now, Log: h.Logger()})
	}

	handler, err := webhook.Handler(reviewers, &webhook.Executors{Log: h.Logger()}, nil)
	if err != nil {
		t.Fatal(err)
	}

	h.server = httptest.NewTLSServer(timed(handler, &h.reviews))
	t.Cleanup(h.server.Close)
	rc := kit.Rest(t)
	rc.QPS = -1

	rc.WarningHandler = rest.WarningHandler(h.warnings)
	if h.user, err = client.New(rc, client.Options{Scheme: h.API.Scheme()}); err != nil {
		t.Fatal(err)
	}

	h.configure(admissionregistrationv1.Fail)
	return h
}

// configure creates the ValidatingWebhookConfiguration, and waits until the API server uses it.
func (h *hooked) configure(policy admissionregistrationv1.FailurePolicyType) *admissionregistrationv1.ValidatingWebhookConfiguration {
	h.T.Helper()
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: h.Namespace}}

	var conditions []admissionregistrationv1.MatchCondition
	if err := yaml.UnmarshalStrict([]byte(readFile(h.T, "../../charts/spark-operator/files/webhook-condition.yaml")), &conditions); err != nil {
		h.T.Fatal(err)
	}

	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.server.Certificate().Raw})
	for _, kind := range configured.Admission(nil) {
		gvk, resource := kind.GVK(), resources[kind.GVK().Kind]
		configuration.Webhooks = append(configuration.Webhooks, admissionregistrationv1.ValidatingWebhook{
			Name: strings.TrimPrefix(webhook.Path(gvk), "/") + "." + gvk.Group, AdmissionReviewVersions: []string{"v1"},
			SideEffects: new(admissionregistrationv1.SideEffectClassNone), FailurePolicy: &policy,
			TimeoutSeconds: new(int32(10)), MatchConditions: conditions,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new(h.server.URL + webhook.Path(gvk)),
				CABundle: ca},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: h.Namespace}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create,
					admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{gvk.Group},
					APIVersions: []string{gvk.Version}, Resources: []string{resource}},
			}},
		})
	}

	h.Create(configuration)
	h.T.Cleanup(func() {
		if err := client.IgnoreNotFound(h.API.Delete(context.Background(), configuration)); err != nil {
			h.T.Error(err)
		}
	})
	kit.Wait(h.T, "the API server to call the webhook", func(context.Context) error {
		if err := h.dryRun(h.object(unusable)); !byWebhook(err) {
			return errors.Join(errors.New("it admits an invalid spec"), err)
		}
		return nil
	})
	return configuration
}

// byWebhook reports whether an error is a refusal of the webhook.
func byWebhook(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), `admission webhook "validate-`) && apierrors.IsInvalid(err)
}

// refusalMessage returns the message of a refusal by the webhook. It removes the text that the API server puts before
// it.
func refusalMessage(err error) string {
	_, rest, _ := strings.Cut(err.Error(), " denied the request: ")
	return rest
}

func (h *hooked) dryRun(object *unstructured.Unstructured) error {
	return h.user.Create(h.T.Context(), object.DeepCopy(), client.DryRunAll)
}

const plain = `
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: pi}
spec:
  type: Java
  mode: cluster
  sparkVersion: 4.1.4
  image: spark:4.1.4
  mainClass: org.apache.spark.examples.SparkPi
  mainApplicationFile: local:///opt/spark/examples/jars/spark-examples.jar
  driver: {}
  executor: {instances: 2}
`

// object returns a custom resource with pieces of YAML merged into it. If the first piece has an apiVersion, it is the
// whole custom resource. Otherwise the pieces are merged into an application.
func (h *hooked) object(pieces ...string) *unstructured.Unstructured {
	h.T.Helper()

	if len(pieces) == 0 || !strings.Contains(pieces[0], "apiVersion:") {
		pieces = append([]string{plain}, pieces...)
	}

	whole := map[string]any{"metadata": map[string]any{"namespace": h.Namespace}}
	for _, piece := range pieces {
		var over map[string]any
		if err := yaml.Unmarshal([]byte(piece), &over); err != nil {
			h.T.Fatalf("%v in\n%s", err, piece)
		}

		fieldtable.Merge(whole, over)
	}

	text, err := json.Marshal(whole)
	if err != nil {
		h.T.Fatal(err)
	}

	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(text); err != nil {
		h.T.Fatal(err)
	}
	return object
}

// typed decodes an object as the operator's caches do.
func (h *hooked) typed(object *unstructured.Unstructured, kind configured.Admitted) client.Object {
	h.T.Helper()

	text, err := object.MarshalJSON()
	if err != nil {
		h.T.Fatal(err)
	}

	out := kind.New()
	if err := json.Unmarshal(text, out); err != nil {
		h.T.Fatal(err)
	}
	return out
}

func kindOf(t testing.TB, kind schema.GroupVersionKind) configured.Admitted {
	t.Helper()

	for _, k := range configured.Admission(nil) {
		if k.GVK() == kind {
			return k
		}
	}

	t.Fatalf("no kind %s", kind)
	return configured.Admitted{}
}
