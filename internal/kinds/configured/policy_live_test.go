package configured_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/settings/policy"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// withPolicy returns a configuration with the given section policy.
func withPolicy(t *testing.T, cfg config.Configuration, text string) config.Configuration {
	t.Helper()

	cfg.Policy = policy.Policy{}
	if err := yaml.UnmarshalStrict([]byte(text), &cfg.Policy); err != nil {
		t.Fatal(err)
	}

	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// ownImages allows only images of one registry.
const ownImages = `{owner: data team, rules: [{name: images, images: {allowed: ["registry.example.com/*"]}}]}`

// TestPolicyByNamespace checks that the rules apply to the namespaces that the selector selects. The webhook rejects an
// application with the message that a pass would write into its status. A change of a namespace's labels takes effect
// without a restart.
func TestPolicyByNamespace(t *testing.T) {
	t.Parallel()
	kit.NeedsLoopback(t)
	tenant, other := world.New(t), world.New(t)
	tenant.Relabel("tier", "tenant")
	cfg := withPolicy(t, world.Config(tenant.Namespace, other.Namespace), `{owner: "data team, #spark", rules: [
		{name: tenants, selector: tier=tenant, images: {allowed: ["registry.example.com/spark/*"]}}]}`)
	cfg.Webhook = config.Webhook{BindAddress: kit.FreeAddress(t), CertDir: t.TempDir()}
	chain := world.WriteCertificate(t, cfg.Webhook.CertDir)
	tenant.RunBoth(cfg)

	other.DriverOf(other.Application("pi", scene.WithDriver), 1)
	tenant.DriverOf(tenant.Application("good", scene.WithDriver, func(app *v1beta2.SparkApplication) {
		app.Spec.Image = new("registry.example.com/spark/spark:4.1.4")
	}), 1)
	tenant.Application("bad", scene.WithDriver)
	failed := tenant.WaitState("bad", v1beta2.ApplicationStateFailed)

	const words = " is not allowed by the rule images of the policy tenants (owner: data team, #spark); allowed are: registry.example.com/spark/*"
	if message := failed.Status.AppState.ErrorMessage; !strings.HasPrefix(message, "spec.image: the image ") ||
		!strings.HasSuffix(message, words) {
		t.Errorf("the message of the failed application is %q", message)
	}

	if reason := failed.Status.Conditions[0].Reason; !strings.Contains(fmt.Sprint(failed.Status.Conditions),
		lifecycle.ReasonInvalid) {
		t.Errorf("the reason is %s, want %s in %v", reason, lifecycle.ReasonInvalid, failed.Status.Conditions)
	}

	var pods corev1.PodList
	if err := tenant.API.List(t.Context(), &pods, client.InNamespace(tenant.Namespace)); err != nil ||
		len(pods.Items) != 1 {
		t.Errorf("%d pods: %v", len(pods.Items), err)
	}

	tenant.ReviewBy("https://"+cfg.Webhook.BindAddress, chain, tenant.Namespace, other.Namespace)

	create := func(namespace string) error {
		app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "again"}}
		app.Spec = failed.Spec
		return tenant.API.Create(t.Context(), app, client.DryRunAll)
	}
	var refused error
	kit.Wait(t, "the webhook's refusal", func(context.Context) error {
		if refused = create(tenant.Namespace); refused == nil {
			return errors.New("the application is admitted")
		}
		return nil
	})

	if !strings.HasSuffix(refused.Error(), "denied the request: "+failed.Status.AppState.ErrorMessage) {
		t.Errorf("refused with %v, failed with %q", refused, failed.Status.AppState.ErrorMessage)
	}

	if err := create(other.Namespace); err != nil {
		t.Errorf("in a namespace without rules the webhook rejects the application: %v", err)
	}

	tenant.Relabel("tier", "")
	kit.Wait(t, "the namespace to have no rules", func(context.Context) error { return create(tenant.Namespace) })
}

// startLive starts an operator whose settings the test can change.
func startLive(w *world.World, cfg config.Configuration) *operator.Operator {
	w.T.Helper()

	op, err := operator.NewOperator(w.T.Context(), cfg, w.Environment())
	if err != nil {
		w.T.Fatal(err)
	}

	w.Run(op)
	return op
}

// TestStricterPolicyLetsAttemptsContinue checks, for both kinds of applications, that a running attempt continues when
// the rules become stricter, and that the next attempt is refused.
func TestStricterPolicyLetsAttemptsContinue(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	cfg := world.Config(w.Namespace)
	w.GrantSparkRights()

	op := startLive(w, cfg)
	if version := op.Live.Now().Policy.ServerVersion; version.Minor() < 30 {
		t.Errorf("the rules judge pods by version %s of Kubernetes", version)
	}

	app := w.Application("pi", scene.WithDriver, world.OnFailure(3))
	driver := w.DriverOf(app, 1)

	op.Live.Update(withPolicy(t, cfg, ownImages))
	w.Kubelet(driver.Name, corev1.PodRunning, world.Running())
	w.WaitState("pi", v1beta2.ApplicationStateRunning)
	w.Kubelet(driver.Name, corev1.PodFailed, scene.Exited(1, ""))

	failed := w.WaitState("pi", v1beta2.ApplicationStateFailed)
	if message := failed.Status.AppState.ErrorMessage; !strings.Contains(message,
		"rule images of the policy images (owner: data team)") {
		t.Errorf("the message of the failed application is %q", message)
	}

	if attempt := failed.Status.Operator.Attempt; attempt != 1 {
		t.Errorf("attempt %d was started", attempt)
	}

	w.Application("later", scene.WithDriver)
	w.WaitState("later", v1beta2.ApplicationStateFailed)
}

// TestStricterPolicyLetsServersContinue checks that a running Connect server continues when the rules become stricter,
// and that no server is started after it.
func TestStricterPolicyLetsServersContinue(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	cfg := world.Config(w.Namespace)
	op := startLive(w, cfg)
	sc := resources.Server(w, "notebooks")
	pod := resources.ServerPod(w, sc, 1)

	op.Live.Update(withPolicy(t, cfg, ownImages))
	resources.StartedServer(w, sc, 1) // it becomes ready under the stricter rules

	if err := w.API.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}

	resources.WaitServer(w, "notebooks", v1alpha1.SparkConnectStateFailed, func(sc *v1alpha1.SparkConnect) error {
		text, err := json.Marshal(sc.Status)
		if err == nil && !strings.Contains(string(text), "rule images of the policy images (owner: data team)") {
			err = fmt.Errorf("the status does not name the rule: %s", text)
		}
		return err
	})
}

// TestRefusedIngressOfRunningApplication checks an edit of the Ingress of a running application, which does not restart
// the application. If a rule refuses the new Ingress, the operator does not create it, and the condition Exposed names
// the rule.
func TestRefusedIngressOfRunningApplication(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	cfg := world.Config(w.Namespace)
	cfg.UI.Ingress.Enabled = new(true)
	startLive(w, cfg)
	app := w.Application("pi", scene.WithDriver)
	w.Kubelet(w.DriverOf(app, 1).Name, corev1.PodRunning, world.Running())
	w.WaitState("pi", v1beta2.ApplicationStateRunning)
	before := w.Get("pi")
	edited := before.DeepCopy()

	edited.Spec.DriverIngressOptions = []v1beta2.DriverIngressConfiguration{{
		ServicePort: new(int32(4040)), ServicePortName: new("ui"), IngressURLFormat: "pi.example.com",
		IngressAnnotations: map[string]string{"nginx.ingress.kubernetes.io/server-snippet": "x"},
	}}
	if err := w.API.Patch(t.Context(), edited, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}

	w.WaitExposed("pi", metav1.ConditionFalse, "InvalidSpec", "spec.driverIngressOptions[0].ingressAnnotations",
		"policy.allowSnippetAnnotations", "the application continues to run")
}
