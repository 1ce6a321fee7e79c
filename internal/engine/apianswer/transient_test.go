package apianswer_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// podWebhookDown makes the creation of pods in the test's namespace fail. It registers a webhook for these pods that no
// server serves, as if the webhook's server were down. It returns as soon as the API server rejects new pods. The
// function that it returns removes the webhook, and waits until pods can be created again.
func podWebhookDown(w *world.World) (up func()) {
	w.T.Helper()
	hook := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "pods.example.com", FailurePolicy: new(admissionv1.Fail),
			SideEffects:             new(admissionv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			ClientConfig:            admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "default", Name: "nobody"}},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.Namespace}},
			Rules: []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
					Resources: []string{"pods"}}}},
		}}}
	w.Create(hook)

	remove := func() {
		if err := client.IgnoreNotFound(w.API.Delete(context.Background(), hook)); err != nil {
			w.T.Error(err)
		}
	}
	w.T.Cleanup(remove)
	waitDryRun(w, "pods to be rejected", func(err error) bool { return apierrors.IsInternalError(err) })
	return func() {
		remove()
		waitDryRun(w, "pods to be admitted", func(err error) bool { return err == nil })
	}
}

// waitDryRun repeats the creation of a pod in a dry run until the function `accept` returns true for its error, which
// is nil if the creation succeeds.
func waitDryRun(w *world.World, what string, accept func(error) bool) {
	w.T.Helper()
	kit.Wait(w.T, what, func(ctx context.Context) error {
		if err := w.API.Create(ctx, scene.ForeignPod(w.Namespace, "probe"), client.DryRunAll); !accept(err) {
			return errors.Join(errors.New("the answer is another one"), err)
		}
		return nil
	})
}

// transientErrors are temporary obstacles to the creation of pods. The function begin creates an obstacle, and returns
// a function that removes it. The fields reason and message are what the application's condition contains while the
// obstacle exists.
var transientErrors = []struct {
	name, reason, message string
	begin                 func(w *world.World, env *operator.Environment) (end func())
}{
	{"a webhook does not answer", apianswer.ReasonWebhookFailed, "failed calling webhook",
		func(w *world.World, _ *operator.Environment) func() { return podWebhookDown(w) }},
	{"the API server returns an internal error", apianswer.ReasonServerError, "etcdserver: no leader",
		func(_ *world.World, env *operator.Environment) func() {
			fails := &failing{err: apierrors.NewInternalError(errors.New("etcdserver: no leader"))}
			env.Wrap = fails.over
			return fails.stop
		}},
	{"the API server is overloaded", apianswer.ReasonTooManyRequests, "later",
		func(_ *world.World, env *operator.Environment) func() {
			fails := &failing{err: apierrors.NewTooManyRequests("later", 1)}
			env.Wrap = fails.over
			return fails.stop
		}},
	{"the operator has no right", apianswer.ReasonOperatorForbidden, `User "system:serviceaccount:o:o" cannot create`,
		func(_ *world.World, env *operator.Environment) func() {
			fails := &failing{err: apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "pi-driver",
				errors.New(`User "system:serviceaccount:o:o" cannot create resource "pods" in API group "" in the namespace "ns"`))}
			env.Wrap = fails.over
			return fails.stop
		}},
}

// failing is a client that cannot create driver pods: it returns an error until the test calls its method stop.
type failing struct {
	client.Client
	err   error
	ended atomic.Bool
}

func (f *failing) over(c client.Client) client.Client {
	f.Client = c
	return f
}

func (f *failing) stop() { f.ended.Store(true) }

func (f *failing) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if object.GetLabels()[identity.RoleLabel] == identity.RoleDriver && !f.ended.Load() {
		return f.err
	}
	return f.Client.Create(ctx, object, options...)
}

// TestLaunchDuringTransientErrors checks that the operator repeats a submission while transient errors prevent it. The
// delays grow, the ConfigMaps are not created again, and the status shows the reason.
func TestLaunchDuringTransientErrors(t *testing.T) {
	t.Parallel()

	for _, test := range transientErrors {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			var over func()
			made := &world.Requests{}
			w.RunReal(func(env *operator.Environment) {
				over = test.begin(w, env)
				env.Rest.Wrap(made.Over)
			})
			app := w.Application("pi", scene.WithDriver)
			began := time.Now()
			var ready metav1.Condition
			configs := map[string]types.UID{}
			kit.Wait(t, "the reason in the status", func(context.Context) error {
				sameConfigs(w, app, configs)
				got := w.Get("pi")

				ready = world.Condition(got, "Ready")
				if ready.Reason != test.reason || !strings.Contains(ready.Message, test.message) ||
					ready.Status != metav1.ConditionFalse || got.Status.AppState.State != "" {
					return fmt.Errorf("Ready is %+v, the state %q", ready, got.Status.AppState.State)
				}

				if reported := w.EventsOf(app)[test.reason]; !strings.Contains(reported, test.message) ||
					strings.Contains(reported, "\n") {
					return fmt.Errorf("the event says %q", reported)
				}
				return nil
			})

			if took := ready.LastTransitionTime.Sub(app.CreationTimestamp.Time); took > 5*time.Second {
				t.Errorf("reported after %s", took)
			}

			for ; time.Since(began) < 5*time.Second; time.Sleep(5 * time.Millisecond) {
				sameConfigs(w, app, configs)
			}

			counts := made.Since(nil)
			if counts["POST configmaps"] > 20 || counts["DELETE configmaps"] > 0 ||
				counts["PATCH sparkapplications/status"] > 1 || counts["POST pods"] > 10 || len(configs) == 0 {
				t.Errorf("%d ConfigMaps after the requests %v", len(configs), counts)
			}

			over()

			driver := w.DriverOf(app, 1)
			if got := world.Condition(w.WaitState("pi", v1beta2.ApplicationStateSubmitted),
				"Ready"); got.Reason == test.reason {
				t.Errorf("the reason is still reported: %+v", got)
			}

			w.Execute(driver, scene.Exited(0, ""))

			if got := w.WaitState("pi", v1beta2.ApplicationStateCompleted); got.Status.ExecutionAttempts != 1 {
				t.Errorf("%d runs", got.Status.ExecutionAttempts)
			}
		})
	}
}

// sameConfigs fails the test if a ConfigMap of an application was deleted and created again since an earlier call. Each
// call stores the UIDs of the ConfigMaps in configs, by name.
func sameConfigs(w *world.World, app client.Object, configs map[string]types.UID) {
	w.T.Helper()

	var list corev1.ConfigMapList
	if err := w.API.List(w.T.Context(), &list, client.InNamespace(w.Namespace),
		client.MatchingLabels{identity.AppUIDLabel: string(app.GetUID())}); err != nil {
		w.T.Fatal(err)
	}

	for i := range list.Items {
		name, uid := list.Items[i].Name, list.Items[i].UID
		if configs[name] != "" && configs[name] != uid {
			w.T.Fatalf("ConfigMap %s was created again", name)
		}

		configs[name] = uid
	}
}

// TestTransientErrorsOfALaunchAreBounded checks that a launch fails, with the reason, if transient errors delay it for
// longer than a driver may take to start.
func TestTransientErrorsOfALaunchAreBounded(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	fails := &failing{err: apierrors.NewInternalError(errors.New("etcdserver: no leader"))}
	w.RunReal(func(env *operator.Environment) { env.Wrap = fails.over })
	app := w.Application("pi", scene.WithDriver, func(app *v1beta2.SparkApplication) {
		app.Spec.Timeouts = &v1beta2.Timeouts{DriverStartSeconds: new(int64(4))}
	})

	got := w.WaitState("pi", v1beta2.ApplicationStateFailed)
	if c := world.Condition(got, "Failed"); c.Reason != lifecycle.ReasonStartTimedOut ||
		!strings.Contains(c.Message, "etcdserver: no leader") {
		t.Errorf("Failed is %+v", c)
	}

	w.WaitNothingOf(app)
}

// TestTransientErrorsInALife checks a running application whose driver the operator cannot read. The status reports
// this problem. The deadline of the run still ends the application.
func TestTransientErrorsInALife(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal(func(env *operator.Environment) {
		env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return world.RoundTrip(func(request *http.Request) (*http.Response, error) {
				query := request.URL.Query()
				if strings.HasSuffix(request.URL.Path, "/pods") && request.Method == http.MethodGet &&
					query.Get("watch") == "" &&
					strings.Contains(query.Get("labelSelector"), "=pi") {
					return nil, errors.New("connection reset by peer")
				}
				return next.RoundTrip(request)
			})
		})
	})
	app := w.Application("pi", scene.WithDriver, func(app *v1beta2.SparkApplication) {
		app.Spec.Timeouts = &v1beta2.Timeouts{RunSeconds: new(int64(8))}
	})

	driver := w.RunningDriver(app, 1)
	if err := w.API.Delete(t.Context(), driver, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "the reason in the status", func(context.Context) error {
		for _, c := range w.Get("pi").Status.Conditions {
			if c.Reason == apianswer.ReasonNoAnswer && strings.Contains(c.Message, "connection reset by peer") {
				return nil
			}
		}
		return errors.New("no condition reports it")
	})

	got := w.WaitState("pi", v1beta2.ApplicationStateFailed)
	if c := world.Condition(got, "Failed"); c.Reason != lifecycle.ReasonRunTimedOut ||
		!strings.Contains(c.Message, "connection reset by peer") {
		t.Errorf("Failed is %+v", c)
	}
}
