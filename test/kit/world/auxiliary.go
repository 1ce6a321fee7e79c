package world

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// Exposed is the type of the condition that reports the state of the auxiliary objects.
const Exposed = "Exposed"

// UIService waits until the UI's Service meets all the given conditions, and returns it. It triggers no pass, since the
// operator's own passes have to bring the Service into this state.
func (w *World) UIService(name string, holds ...func(*corev1.Service) error) *corev1.Service {
	w.T.Helper()

	service := &corev1.Service{}
	kit.Wait(w.T, "the UI's Service of "+name, func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name + "-ui-svc"}, service); err != nil {
			return err
		}

		for _, check := range holds {
			if err := check(service); err != nil {
				return err
			}
		}
		return nil
	})
	return service
}

// WaitExposed waits until the condition Exposed has the given status and reason and its message contains all the texts,
// and returns the application.
func (w *World) WaitExposed(name string, status metav1.ConditionStatus, reason string, says ...string) *v1beta2.SparkApplication {
	w.T.Helper()
	var app *v1beta2.SparkApplication
	kit.Wait(w.T, fmt.Sprintf("Exposed to be %s of %s", status, name), func(context.Context) error {
		app = w.Get(name)

		c := Condition(app, Exposed)
		if err := errors.Join(Want(c.Status, status), Want(c.Reason, reason)); err != nil {
			return fmt.Errorf("%w; it says %q", err, c.Message)
		}

		for _, text := range says {
			if !strings.Contains(c.Message, text) {
				return fmt.Errorf("it says %q, not %q", c.Message, text)
			}
		}
		return nil
	})
	return app
}

// TriggerPass triggers a pass over an application.
func (w *World) TriggerPass(name string) {
	w.T.Helper()
	app := w.Get(name)
	before := app.DeepCopy()
	metav1.SetMetaDataAnnotation(&app.ObjectMeta, "poked", time.Now().String())

	if err := w.API.Patch(w.T.Context(), app, client.MergeFrom(before)); err != nil {
		w.T.Fatal(err)
	}
}

// RunWith starts an operator that serves SparkApplications of sparkoperator.k8s.io, with the given configuration and
// clock.
func (w *World) RunWith(cfg config.Configuration, clock controller.Clock, change ...func(*operator.Environment)) (stop func()) {
	w.T.Helper()

	env := w.Environment()
	for _, c := range change {
		c(&env)
	}

	op, err := operator.NewEmpty(w.T.Context(), cfg, env)
	if err != nil {
		w.T.Fatal(err)
	}

	if err := operator.Add(w.T.Context(), op, configured.For(kinds.SparkApplication).Build(op.Settings, nil), clock); err != nil {
		w.T.Fatal(err)
	}
	return w.Run(op)
}

// WithBudget requests a budget for the driver of an application.
func WithBudget(app *v1beta2.SparkApplication) { app.Spec.DriverPodDisruptionBudget = new(true) }

// Budgets returns the PodDisruptionBudgets of an application.
func (w *World) Budgets(app *v1beta2.SparkApplication) []policyv1.PodDisruptionBudget {
	w.T.Helper()

	var list policyv1.PodDisruptionBudgetList
	if err := w.API.List(w.T.Context(), &list, client.InNamespace(w.Namespace), client.MatchingLabels{identity.AppUIDLabel: string(app.UID)}); err != nil {
		w.T.Fatal(err)
	}
	return list.Items
}

// WaitBudgets waits until the application has exactly one PodDisruptionBudget and this budget belongs to the given
// attempt. If attempt is 0, it waits until the application has no PodDisruptionBudget.
func (w *World) WaitBudgets(app *v1beta2.SparkApplication, attempt int32) {
	w.T.Helper()
	kit.Wait(w.T, fmt.Sprintf("the budget of attempt %d", attempt), func(context.Context) error {
		got := w.Budgets(app)
		if attempt == 0 {
			return Want(len(got), 0)
		}

		if err := Want(len(got), 1); err != nil {
			return err
		}
		return Want(identity.Attempt(&got[0]), attempt)
	})
}

// Ready plays the kubelet: it reports that the pod's first container runs and that the pod is ready.
func (w *World) Ready(name string) {
	w.T.Helper()
	pod := w.WaitPod(name)
	before := pod.DeepCopy()
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
		{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
	}

	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, State: Running(), Ready: true}}
	if err := w.API.Status().Patch(w.T.Context(), pod, client.MergeFrom(before)); err != nil {
		w.T.Fatal(err)
	}
}

// Executor returns an executor pod as Spark would create it.
func (w *World) Executor(app *v1beta2.SparkApplication, driver *corev1.Pod, id int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: fmt.Sprintf("%s-exec-%d", app.Name, id),
			Labels: map[string]string{
				identity.AppUIDLabel: string(app.UID), identity.AttemptLabel: driver.Labels[identity.AttemptLabel], identity.RoleLabel: identity.RoleExecutor, "spark-exec-id": fmt.Sprint(id),
				"spark-app-selector": driver.Labels["spark-app-selector"],
			},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: driver.Name, UID: driver.UID, Controller: new(true)},
				{APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "SparkApplication", Name: app.Name, UID: app.UID}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: overlay.ExecutorContainer, Image: "i"}}},
	}
}
