package world

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// PatchPi patches the application named pi.
func (w *World) PatchPi(patch string) {
	w.T.Helper()

	app := w.Get("pi")
	if err := w.API.Patch(w.T.Context(), app, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.T.Fatal(err)
	}
}

// These tests play whole lives of SparkApplications with the real dialect, state machine and builder on a real API
// server. The test plays the kubelet and Spark.

// RunReal starts an operator for the test's namespace, as the binary starts it.
func (w *World) RunReal(change ...func(*operator.Environment)) (stop func()) {
	w.T.Helper()

	env := w.Environment()
	for _, c := range change {
		c(&env)
	}

	op, err := operator.NewOperator(w.T.Context(), Config(w.Namespace), env)
	if err != nil {
		w.T.Fatal(err)
	}
	return w.Run(op)
}

// DriverOf waits for the driver pod of an application's attempt and returns it.
func (w *World) DriverOf(app *v1beta2.SparkApplication, attempt int) *corev1.Pod {
	w.T.Helper()
	var pods corev1.PodList
	kit.Wait(w.T, fmt.Sprintf("the driver of %s, attempt %d", app.Name, attempt), func(ctx context.Context) error {
		if err := w.API.List(ctx, &pods, client.InNamespace(w.Namespace), client.MatchingLabels{
			identity.AppUIDLabel: string(app.UID), identity.AttemptLabel: fmt.Sprint(attempt), identity.RoleLabel: identity.RoleDriver,
		}); err != nil {
			return err
		}
		return Want(len(pods.Items), 1)
	})
	return &pods.Items[0]
}

// RunningDriver plays the kubelet until an attempt's driver is reported as running, and returns that driver.
func (w *World) RunningDriver(app *v1beta2.SparkApplication, attempt int) *corev1.Pod {
	w.T.Helper()
	driver := w.DriverOf(app, attempt)
	w.Kubelet(driver.Name, corev1.PodRunning, Running())
	w.WaitState(app.Name, v1beta2.ApplicationStateRunning)
	return driver
}

// Execute plays the kubelet: the driver runs, becomes ready, and ends in the given state.
func (w *World) Execute(driver *corev1.Pod, end corev1.ContainerState) {
	w.T.Helper()
	w.Kubelet(driver.Name, corev1.PodRunning, Running())

	phase := corev1.PodSucceeded
	if end.Terminated.ExitCode != 0 {
		phase = corev1.PodFailed
	}

	w.Kubelet(driver.Name, phase, end)
}

// DriverName returns the name of an application's driver pod. The kubeflow operator uses the same name, so users of its
// API expect it.
func DriverName(app string) string { return app + "-driver" }

// Condition returns the condition of an application with the given type, or an empty one.
func Condition(app *v1beta2.SparkApplication, kind string) metav1.Condition {
	for _, c := range app.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

// WaitNothingOf waits until an application has no ConfigMap, Service or pod.
func (w *World) WaitNothingOf(app *v1beta2.SparkApplication) {
	w.T.Helper()
	kit.Wait(w.T, "the deletion of all objects of "+app.Name, func(ctx context.Context) error {
		for _, list := range []client.ObjectList{&corev1.ConfigMapList{}, &corev1.ServiceList{}, &corev1.PodList{}} {
			if err := w.API.List(ctx, list, client.InNamespace(w.Namespace), client.MatchingLabels{identity.AppUIDLabel: string(app.UID)}); err != nil {
				return err
			}

			if n := MetaLen(list); n != 0 {
				return fmt.Errorf("%d in %T", n, list)
			}
		}
		return nil
	})
}

// OnFailure returns a change that restarts an application after failures, so many times.
func OnFailure(retries int32) func(*v1beta2.SparkApplication) {
	return func(app *v1beta2.SparkApplication) {
		app.Spec.RestartPolicy = v1beta2.RestartPolicy{
			Type: v1beta2.RestartPolicyOnFailure, OnFailureRetries: &retries, OnFailureRetryInterval: new(int64(1)),
			OnSubmissionFailureRetries: &retries, OnSubmissionFailureRetryInterval: new(int64(1)),
		}
	}
}

// Suspend sets the field suspend of an application.
func (w *World) Suspend(name string, suspend bool) {
	w.T.Helper()
	app := w.Get(name)
	before := app.DeepCopy()

	app.Spec.Suspend = &suspend
	if err := w.API.Patch(w.T.Context(), app, client.MergeFrom(before)); err != nil {
		w.T.Fatal(err)
	}
}
