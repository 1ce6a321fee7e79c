package operator

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// These tests begin with the state that the Java operator leaves: its statuses and its objects, none of which has a
// label of ours (docs/migrate-apache.md).

// leftApache describes an application as the Java operator leaves it to this operator.
type leftApache struct {
	name   string
	past   []apacheState
	driver corev1.PodPhase // of its driver pod; "" if there is none
	change func(*apacheApp)
}

// createInheritedApache creates an application as the Java operator leaves it: with that operator's finalizer, the
// pods, the pods' objects and the status. It returns the application and its driver.
func (w *world) createInheritedApache(a leftApache) (*apacheApp, *corev1.Pod) {
	w.T.Helper()
	app := w.apacheApp(a.name, func(app *apacheApp) {
		app.Finalizers = []string{theirFinalizer}
		if a.change != nil {
			a.change(app)
		}
	})
	before := app.DeepCopy()
	app.Status.StateTransitionHistory = map[string]sparkv1.ApplicationState{}

	began := time.Now().Add(-time.Minute)
	for i, state := range a.past {
		entry := sparkv1.ApplicationState{CurrentStateSummary: state, LastTransitionTime: began.Add(time.Duration(i) * time.Second).UTC().Format(time.RFC3339Nano), Message: "theirs"}
		app.Status.StateTransitionHistory[fmt.Sprint(i)] = entry
		app.Status.CurrentState = &entry
	}

	if len(a.past) > 0 {
		app.Status.CurrentAttemptSummary = &sparkv1.ApplicationAttemptSummary{AttemptInfo: &sparkv1.AttemptInfo{}}
		if err := w.API.Status().Patch(w.T.Context(), app, client.MergeFrom(before)); err != nil {
			w.T.Fatal(err)
		}
	}

	if a.driver == "" {
		return app, nil
	}

	driver := w.theirDriver(app)
	switch a.driver {
	case corev1.PodRunning:
		w.ready(driver.Name)
	case corev1.PodSucceeded:
		w.kubelet(driver.Name, a.driver, scene.Exited(0, ""))
	case corev1.PodFailed:
		w.kubelet(driver.Name, a.driver, scene.Exited(1, "boom"))
	}
	return app, driver
}

// theirDriver creates a driver as the Java operator does: the application owns the driver, but is not its controller.
// It also creates the ConfigMap and the Service that the driver owns.
func (w *world) theirDriver(app *apacheApp) *corev1.Pod {
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
	w.kubelet(executor.Name, corev1.PodRunning, running())
	return driver
}

// isTakenOver returns an error unless this operator has taken over an application: the status is ours, and the
// application has no finalizer.
func isTakenOver(app *apacheApp) error {
	if err := want(app.Status.Operator != nil, true); err != nil {
		return fmt.Errorf("it was not taken over: %w", err)
	}
	return want(len(app.Finalizers), 0)
}

// TestApacheTakeOver checks that a running application continues to its end with its existing driver, and that its
// history has only states that readers of the Java operator's status expect. A finished application stays finished.
func TestApacheTakeOver(t *testing.T) {
	w := newWorld(t)
	var stuck *apacheApp
	w.storedBefore(func() {
		stuck, _ = w.createInheritedApache(leftApache{name: "stuck", past: []apacheState{sparkv1.ApplicationSubmitted, sparkv1.ApplicationFailed, sparkv1.ApplicationFailed},
			change: func(app *apacheApp) { app.Spec.DeploymentMode = sparkv1.ClientMode }})
	})
	t.Parallel()

	runs := map[string]leftApache{
		"unwritten":  {driver: corev1.PodPending}, // created, but not in the status
		"requested":  {past: ran()[:2], driver: corev1.PodPending},
		"started":    {past: ran()[:3], driver: corev1.PodRunning},
		"running":    {past: ran(), driver: corev1.PodRunning},
		"ended-well": {past: ran(), driver: corev1.PodSucceeded}, // while no operator ran
	}

	drivers := map[string]*corev1.Pod{}
	for name, a := range runs {
		a.name = name
		_, drivers[name] = w.createInheritedApache(a)
	}

	done := []apacheState{sparkv1.ApplicationSucceeded, sparkv1.ApplicationResourceReleased}
	released, _ := w.createInheritedApache(leftApache{name: "released", past: ran(done...)})
	kept, keptDriver := w.createInheritedApache(leftApache{name: "kept", past: ran(sparkv1.ApplicationFailed, sparkv1.ApplicationTerminatedWithoutReleaseResources), driver: corev1.PodFailed,
		change: withTolerations(sparkv1.ApplicationTolerations{ResourceRetainPolicy: sparkv1.RetainAlways})})
	w.createInheritedApache(leftApache{name: "not-cleaned", past: ran(sparkv1.ApplicationSucceeded), driver: corev1.PodSucceeded})
	w.runApache(testConfig(w.Namespace), time.Now)

	for name, driver := range drivers {
		t.Run(name, func(t *testing.T) {
			if name != "ended-well" {
				w.ready(driver.Name)

				got := w.waitApache(name, sparkv1.ApplicationRunningHealthy, isTakenOver, func(app *apacheApp) error {
					return want(app.Status.Executors != nil && app.Status.Executors.Running == 1, true)
				})
				if w.uidOf(driver.Name) != driver.UID || got.Status.CurrentAttemptSummary.AttemptInfo.ID != 0 {
					t.Errorf("the driver was replaced: %+v", got.Status.CurrentAttemptSummary)
				}

				w.kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
			}

			checkHistory(t, w.waitApache(name, sparkv1.ApplicationResourceReleased, isTakenOver), ran(done...))
			w.WaitGone(driver)
		})
	}

	checkHistory(t, w.waitApache("released", sparkv1.ApplicationResourceReleased, func(app *apacheApp) error { return want(len(app.Finalizers), 0) }), ran(done...))
	checkHistory(t, w.waitApache("not-cleaned", sparkv1.ApplicationResourceReleased, isTakenOver), ran(done...))
	w.waitApache("kept", sparkv1.ApplicationTerminatedWithoutReleaseResources, func(app *apacheApp) error { return want(len(app.Finalizers), 0) })
	w.mustExist(keptDriver)
	w.waitApache("stuck", sparkv1.ApplicationResourceReleased, isTakenOver) // the Java operator looped there for ever

	for _, app := range []*apacheApp{released, kept, stuck} {
		w.Remove(app)
		w.WaitGone(app)
	}

	w.WaitGone(keptDriver)
}

// TestApacheRecreatedAfterAnotherOperator checks that a new application waits until the objects of a deleted
// application with the same name are gone. The Java operator created these objects, the old driver pod owns them, and
// they occupy names that the new application needs. The wait does not count as an attempt.
func TestApacheRecreatedAfterAnotherOperator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, driver := w.createInheritedApache(leftApache{name: "pi", past: ran(), driver: corev1.PodRunning})
	goes := w.TakesItsTime(driver)
	w.patchApache("pi", `{"metadata":{"finalizers":null}}`)
	w.Remove(first)
	w.WaitGone(first)
	second := w.apacheApp("pi")
	w.runApache(testConfig(w.Namespace), time.Now)
	kit.Wait(t, "the wait to be reported", func(context.Context) error {
		status := w.getApache("pi").Status
		if ready := meta.FindStatusCondition(status.Conditions, "Ready"); ready == nil || ready.Reason != dependents.ReasonNameTaken {
			return fmt.Errorf("Ready is %+v, the state %+v", ready, status.CurrentState)
		}
		return want(status.CurrentState == nil, true)
	})
	goes()
	w.apacheDriver(second, 1)
	checkHistory(t, w.waitApache("pi", sparkv1.ApplicationDriverRequested), ran()[:2])
}
