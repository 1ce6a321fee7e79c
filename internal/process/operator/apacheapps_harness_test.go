package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// theirFinalizer is the finalizer by which the Java operator delays the deletion of an application until that operator
// has cleaned up.
const theirFinalizer = "sparkapplications.spark.apache.org/finalizer"

type (
	apacheApp   = sparkv1.SparkApplication
	apacheState = sparkv1.ApplicationStateSummary
)

// runApache starts an operator that serves only SparkApplications of spark.apache.org.
func (w *world) runApache(cfg config.Configuration, clock controller.Clock, change ...func(*Environment)) (stop func()) {
	w.T.Helper()
	return serveAlone(w, cfg, clock, func(op *Operator) controller.Kind { return kinds.ApacheApplications(op.Settings, nil) }, change)
}

// apacheApp creates a SparkApplication of spark.apache.org.
func (w *world) apacheApp(name string, change ...func(*apacheApp)) *apacheApp {
	w.T.Helper()

	app := &apacheApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
		Spec: sparkv1.ApplicationSpec{
			MainClass: "org.apache.spark.examples.SparkPi", Jars: "local:///opt/spark/examples/jars/spark-examples.jar",
			RuntimeVersions: sparkv1.RuntimeVersions{SparkVersion: "4.1.4"},
			SparkConf: map[string]string{
				"spark.kubernetes.container.image":                        "docker.io/apache/spark:{{SPARK_VERSION}}",
				"spark.kubernetes.authenticate.driver.serviceAccountName": "default",
				"spark.executor.instances":                                "1",
			},
		},
	}
	for _, c := range change {
		c(app)
	}

	w.Create(app)
	return app
}

// withTolerations sets an application's tolerations.
func withTolerations(t sparkv1.ApplicationTolerations) func(*apacheApp) {
	return func(app *apacheApp) { app.Spec.ApplicationTolerations = &t }
}

// restartConfig returns a restart policy with at most the given number of restarts. Its backoff of 1 ms is so short
// that it does not delay a test.
func restartConfig(policy sparkv1.RestartPolicy, most int64) *sparkv1.RestartConfig {
	return &sparkv1.RestartConfig{RestartPolicy: policy, MaxRestartAttempts: &most, RestartBackoffMillis: new(int64(1))}
}

func (w *world) getApache(name string) *apacheApp {
	w.T.Helper()

	app := &apacheApp{}
	if err := w.API.Get(w.T.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, app); err != nil {
		w.T.Fatal(err)
	}
	return app
}

func (w *world) patchApache(name, patch string) {
	w.T.Helper()

	if err := w.API.Patch(w.T.Context(), w.getApache(name), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.T.Fatal(err)
	}
}

// triggerApachePass triggers a pass over an application.
func (w *world) triggerApachePass(name string) {
	w.T.Helper()
	w.patchApache(name, fmt.Sprintf(`{"metadata":{"annotations":{"poked":%q}}}`, time.Now()))
}

// waitApache waits until an application is in the given state and meets all given conditions.
func (w *world) waitApache(name string, state apacheState, holds ...func(*apacheApp) error) *apacheApp {
	w.T.Helper()

	app := &apacheApp{}
	kit.Wait(w.T, fmt.Sprintf("%s to be %s", name, state), func(ctx context.Context) error {
		app = &apacheApp{}
		if err := w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, app); err != nil {
			return err
		}

		if current := app.Status.CurrentState; current == nil || current.CurrentStateSummary != state {
			return fmt.Errorf("it is %+v: %+v", current, app.Status.Conditions)
		}

		for _, check := range holds {
			if err := check(app); err != nil {
				return fmt.Errorf("%w: %+v", err, app.Status.Conditions)
			}
		}
		return nil
	})
	return app
}

// history returns the states of a status, oldest first.
func history(all map[string]sparkv1.ApplicationState) (states []apacheState) {
	byNumber := func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return x - y
	}
	for _, key := range slices.SortedFunc(maps.Keys(all), byNumber) {
		states = append(states, all[key].CurrentStateSummary)
	}
	return states
}

// apacheDriver waits for the driver of an attempt, counted from 1.
func (w *world) apacheDriver(app client.Object, attempt int) *corev1.Pod {
	w.T.Helper()
	var pods corev1.PodList
	kit.Wait(w.T, fmt.Sprintf("the driver of %s, attempt %d", app.GetName(), attempt), func(ctx context.Context) error {
		if err := w.API.List(ctx, &pods, client.InNamespace(w.Namespace), client.MatchingLabels{
			identity.AppUIDLabel: string(app.GetUID()), identity.AttemptLabel: fmt.Sprint(attempt), identity.RoleLabel: identity.RoleDriver,
		}); err != nil {
			return err
		}
		return want(len(pods.Items), 1)
	})
	return &pods.Items[0]
}

// readyDriver plays the kubelet until the driver of an attempt is reported as running.
func (w *world) readyDriver(app client.Object, attempt int) *corev1.Pod {
	w.T.Helper()
	driver := w.apacheDriver(app, attempt)
	w.ready(driver.Name)
	w.waitApache(app.GetName(), sparkv1.ApplicationRunningHealthy)
	return driver
}

// apacheExecutor creates an executor of a driver, as Spark does.
func (w *world) apacheExecutor(app client.Object, driver *corev1.Pod, id int) *corev1.Pod {
	w.T.Helper()
	pod := w.apacheExecutorPod(app, driver, id)
	w.Create(pod)
	return pod
}

func (w *world) apacheExecutorPod(app client.Object, driver *corev1.Pod, id int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: fmt.Sprintf("%s-%s-exec-%d", app.GetName(), driver.Labels[identity.AttemptLabel], id),
			Labels: map[string]string{
				identity.RoleLabel: identity.RoleExecutor, "spark-exec-id": fmt.Sprint(id), identity.ApacheAppNameLabel: app.GetName(),
				identity.AppUIDLabel: string(app.GetUID()), identity.AttemptLabel: driver.Labels[identity.AttemptLabel],
			},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: driver.Name, UID: driver.UID, Controller: new(true)}},
		},
		Spec: corev1.PodSpec{TerminationGracePeriodSeconds: new(int64(0)), Containers: []corev1.Container{{Name: overlay.ExecutorContainer, Image: "i"}}},
	}
}

// waitNothing waits until no pod, ConfigMap or Service of a custom resource exists, except the objects that the test
// wants to keep (the argument `kept`).
func (w *world) waitNothing(owner client.Object, kept ...client.Object) {
	w.T.Helper()
	kit.Wait(w.T, "the deletion of all objects of "+owner.GetName(), func(ctx context.Context) error {
		lists := []client.ObjectList{&corev1.PodList{}, &corev1.ConfigMapList{}, &corev1.ServiceList{}}

		var errs []error
		for _, list := range lists {
			if err := w.API.List(ctx, list, client.InNamespace(w.Namespace), client.MatchingLabels{identity.AppUIDLabel: string(owner.GetUID())}); err != nil {
				return err
			}

			if n := metaLen(list); n != 0 {
				errs = append(errs, fmt.Errorf("%d in %T", n, list))
			}
		}
		return errors.Join(errs...)
	})
}
