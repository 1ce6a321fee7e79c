// Package resources creates SparkConnects, SparkClusters, applications of spark.apache.org, and the objects that other
// operators leave, in a world.
package resources

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TheirFinalizer is the finalizer by which the Java operator delays the deletion of an application until that operator
// has cleaned up.
const TheirFinalizer = "sparkapplications.spark.apache.org/finalizer"

type (
	// ApacheApp is a SparkApplication of spark.apache.org.
	ApacheApp = sparkv1.SparkApplication
	// ApacheState is a state of such an application.
	ApacheState = sparkv1.ApplicationStateSummary
)

// RunApache starts an operator that serves only SparkApplications of spark.apache.org.
func RunApache(w *world.World, cfg config.Configuration, clock controller.Clock, change ...func(*operator.Environment)) (stop func()) {
	w.T.Helper()
	return world.ServeAlone(w, cfg, clock, func(op *operator.Operator) contract.Kind {
		return configured.For(kinds.ApacheApplication).Build(op.Settings, nil)
	}, change)
}

// CreateApache creates a SparkApplication of spark.apache.org.
func CreateApache(w *world.World, name string, change ...func(*ApacheApp)) *ApacheApp {
	w.T.Helper()

	app := &ApacheApp{
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

// WithTolerations sets an application's tolerations.
func WithTolerations(t sparkv1.ApplicationTolerations) func(*ApacheApp) {
	return func(app *ApacheApp) { app.Spec.ApplicationTolerations = &t }
}

// RestartConfig returns a restart policy with at most the given number of restarts. Its backoff of 1 ms is so short
// that it does not delay a test.
func RestartConfig(policy sparkv1.RestartPolicy, most int64) *sparkv1.RestartConfig {
	return &sparkv1.RestartConfig{RestartPolicy: policy, MaxRestartAttempts: &most, RestartBackoffMillis: new(int64(1))}
}

// GetApache returns an application of spark.apache.org.
func GetApache(w *world.World, name string) *ApacheApp {
	w.T.Helper()

	app := &ApacheApp{}
	if err := w.API.Get(w.T.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, app); err != nil {
		w.T.Fatal(err)
	}
	return app
}

// PatchApache patches an application of spark.apache.org.
func PatchApache(w *world.World, name, patch string) {
	w.T.Helper()

	if err := w.API.Patch(w.T.Context(), GetApache(w, name), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.T.Fatal(err)
	}
}

// TriggerApachePass triggers a pass over an application.
func TriggerApachePass(w *world.World, name string) {
	w.T.Helper()
	PatchApache(w, name, fmt.Sprintf(`{"metadata":{"annotations":{"poked":%q}}}`, time.Now()))
}

// WaitApache waits until an application is in the given state and meets all given conditions.
func WaitApache(w *world.World, name string, state ApacheState, holds ...func(*ApacheApp) error) *ApacheApp {
	w.T.Helper()

	app := &ApacheApp{}
	kit.Wait(w.T, fmt.Sprintf("%s to be %s", name, state), func(ctx context.Context) error {
		app = &ApacheApp{}
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

// ApacheDriver waits for the driver of an attempt, counted from 1.
func ApacheDriver(w *world.World, app client.Object, attempt int) *corev1.Pod {
	w.T.Helper()
	var pods corev1.PodList
	kit.Wait(w.T, fmt.Sprintf("the driver of %s, attempt %d", app.GetName(), attempt), func(ctx context.Context) error {
		if err := w.API.List(ctx, &pods, client.InNamespace(w.Namespace), client.MatchingLabels{
			identity.AppUIDLabel: string(app.GetUID()), identity.AttemptLabel: fmt.Sprint(attempt), identity.RoleLabel: identity.RoleDriver,
		}); err != nil {
			return err
		}
		return world.Want(len(pods.Items), 1)
	})
	return &pods.Items[0]
}

// ReadyDriver plays the kubelet until the driver of an attempt is reported as running.
func ReadyDriver(w *world.World, app client.Object, attempt int) *corev1.Pod {
	w.T.Helper()
	driver := ApacheDriver(w, app, attempt)
	w.Ready(driver.Name)
	WaitApache(w, app.GetName(), sparkv1.ApplicationRunningHealthy)
	return driver
}

// ApacheExecutorPod returns an executor pod as the driver of an application of spark.apache.org creates it.
func ApacheExecutorPod(w *world.World, app client.Object, driver *corev1.Pod, id int) *corev1.Pod {
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

// These tests begin with the state that the Java operator leaves: its statuses and its objects, none of which has a
// label of ours (docs/migrate-apache.md).

// LeftApache describes an application as the Java operator leaves it to this operator.
type LeftApache struct {
	Name   string
	Past   []ApacheState
	Driver corev1.PodPhase // of its driver pod; "" if there is none
	Change func(*ApacheApp)
}

// CreateInheritedApache creates an application as the Java operator leaves it: with that operator's finalizer, the
// pods, the pods' objects and the status. It returns the application and its driver.
func CreateInheritedApache(w *world.World, a LeftApache) (*ApacheApp, *corev1.Pod) {
	w.T.Helper()
	app := CreateApache(w, a.Name, func(app *ApacheApp) {
		app.Finalizers = []string{TheirFinalizer}
		if a.Change != nil {
			a.Change(app)
		}
	})
	before := app.DeepCopy()
	app.Status.StateTransitionHistory = map[string]sparkv1.ApplicationState{}

	began := time.Now().Add(-time.Minute)
	for i, state := range a.Past {
		entry := sparkv1.ApplicationState{CurrentStateSummary: state, LastTransitionTime: began.Add(time.Duration(i) * time.Second).UTC().Format(time.RFC3339Nano), Message: "theirs"}
		app.Status.StateTransitionHistory[fmt.Sprint(i)] = entry
		app.Status.CurrentState = &entry
	}

	if len(a.Past) > 0 {
		app.Status.CurrentAttemptSummary = &sparkv1.ApplicationAttemptSummary{AttemptInfo: &sparkv1.AttemptInfo{}}
		if err := w.API.Status().Patch(w.T.Context(), app, client.MergeFrom(before)); err != nil {
			w.T.Fatal(err)
		}
	}

	if a.Driver == "" {
		return app, nil
	}

	driver := theirDriver(w, app)
	switch a.Driver {
	case corev1.PodRunning:
		w.Ready(driver.Name)
	case corev1.PodSucceeded:
		w.Kubelet(driver.Name, a.Driver, scene.Exited(0, ""))
	case corev1.PodFailed:
		w.Kubelet(driver.Name, a.Driver, scene.Exited(1, "boom"))
	}
	return app, driver
}

// theirDriver creates a driver as the Java operator does: the application owns the driver, but is not its controller.
// It also creates the ConfigMap and the Service that the driver owns.
func theirDriver(w *world.World, app *ApacheApp) *corev1.Pod {
	w.T.Helper()

	id := app.Name + "-0"
	labels := map[string]string{
		"spark.operator/name": "spark-kubernetes-operator", identity.ApacheAppNameLabel: app.Name, identity.RoleLabel: identity.RoleDriver, "spark-app-selector": id, "spark-version": "4.1.4",
	}
	driver := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: id + "-driver", Labels: labels, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: sparkv1.GroupVersion.String(), Kind: "SparkApplication", Name: app.Name, UID: app.UID, BlockOwnerDeletion: new(true),
		}}},
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: "default", TerminationGracePeriodSeconds: new(int64(0)),
			Containers: []corev1.Container{{Name: overlay.DriverContainer, Image: "spark"}}},
	}
	w.Create(driver)
	owner := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: driver.Name, UID: driver.UID, Controller: new(true)}}
	w.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: id + "-spark-drv-conf-map", Labels: labels, OwnerReferences: owner}, Immutable: new(true)})
	w.Create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: id + "-driver-svc", Labels: labels, OwnerReferences: owner}, Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, Selector: labels, Ports: []corev1.ServicePort{{Name: "driver-rpc-port", Port: 7078}},
	}})
	executor := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: id + "-exec-1", OwnerReferences: owner, Labels: map[string]string{
			"spark.operator/name": "spark-kubernetes-operator", identity.ApacheAppNameLabel: app.Name, identity.RoleLabel: identity.RoleExecutor, "spark-app-selector": id, "spark-exec-id": "1",
		}},
		Spec: corev1.PodSpec{TerminationGracePeriodSeconds: new(int64(0)), Containers: []corev1.Container{{Name: overlay.ExecutorContainer, Image: "spark"}}},
	}
	w.Create(executor)
	w.Kubelet(executor.Name, corev1.PodRunning, world.Running())
	return driver
}

// IsTakenOver returns an error unless this operator has taken over an application: the status is ours, and the
// application has no finalizer.
func IsTakenOver(app *ApacheApp) error {
	if err := world.Want(app.Status.Operator != nil, true); err != nil {
		return fmt.Errorf("it was not taken over: %w", err)
	}
	return world.Want(len(app.Finalizers), 0)
}

// These tests play whole lives of SparkApplications of spark.apache.org on a real API server. The test plays the
// kubelet and Spark.

// Ran returns the history of an application whose driver ran: the states up to RunningHealthy, and then the given
// states.
func Ran(then ...ApacheState) []ApacheState {
	return append([]ApacheState{sparkv1.ApplicationSubmitted, sparkv1.ApplicationDriverRequested, sparkv1.ApplicationDriverStarted, sparkv1.ApplicationDriverReady,
		sparkv1.ApplicationRunningHealthy}, then...)
}

// Says returns an error if a text does not contain a word.
func Says(text, word string) error {
	if !strings.Contains(text, word) {
		return fmt.Errorf("it says %q, not %q", text, word)
	}
	return nil
}
