package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/testkit"
)

// podWebhookDown registers a webhook for the namespace's pods that nobody serves, as one that is down or was left behind, and waits until no pod can
// be made. It returns how to take it away again.
func (w *world) podWebhookDown() (up func()) {
	w.t.Helper()
	hook := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Webhooks: []admissionv1.ValidatingWebhook{{
		Name: "pods.example.com", FailurePolicy: new(admissionv1.Fail), SideEffects: new(admissionv1.SideEffectClassNone),
		AdmissionReviewVersions: []string{"v1"},
		ClientConfig:            admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "default", Name: "nobody"}},
		NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.namespace}},
		Rules: []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}}}},
	}}}
	w.create(hook)
	remove := func() {
		if err := client.IgnoreNotFound(w.api.Delete(context.Background(), hook)); err != nil {
			w.t.Error(err)
		}
	}
	w.t.Cleanup(remove)
	w.waitDryRun("pods to be refused", func(err error) bool { return apierrors.IsInternalError(err) })
	return func() {
		remove()
		w.waitDryRun("pods to be let in", func(err error) bool { return err == nil })
	}
}

// waitDryRun waits until the API server says something particular to a pod.
func (w *world) waitDryRun(what string, says func(error) bool) {
	w.t.Helper()
	testkit.Wait(w.t, what, func(ctx context.Context) error {
		if err := w.api.Create(ctx, foreignPod(w.namespace, "probe"), client.DryRunAll); !says(err) {
			return errors.Join(errors.New("it says something else"), err)
		}
		return nil
	})
}

// TestLaunchInBadWeather: a submission that the API server cannot take is tried again ever later, with the same objects.
func TestLaunchInBadWeather(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	up := w.podWebhookDown()
	made := &requests{}
	w.runReal(func(env *Environment) { env.Rest.Wrap(made.over) })
	app := w.application("pi", withDriver)
	configs := map[string]types.UID{}
	for begin := time.Now(); time.Since(begin) < 5*time.Second; time.Sleep(5 * time.Millisecond) {
		var list corev1.ConfigMapList
		if err := w.api.List(t.Context(), &list, client.InNamespace(w.namespace), client.MatchingLabels{labelAppUID: string(app.UID)}); err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			name, uid := list.Items[i].Name, list.Items[i].UID
			if configs[name] != "" && configs[name] != uid {
				t.Fatalf("ConfigMap %s was made again", name)
			}
			configs[name] = uid
		}
	}
	counts := made.since(nil)
	if posts := counts["POST pods"]; posts < 2 || posts > 10 || counts["DELETE configmaps"] > 0 || len(configs) == 0 {
		t.Errorf("%d ConfigMaps after the requests %v", len(configs), counts)
	}
	up()
	w.execute(w.driverOf(app, 1), exited(0, ""))
	if got := w.waitState("pi", v1beta2.ApplicationStateCompleted); got.Status.ExecutionAttempts != 1 {
		t.Errorf("%d runs", got.Status.ExecutionAttempts)
	}
}
