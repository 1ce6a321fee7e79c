package controller

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/testkit"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// recreate deletes an application whose driver takes its time to stop, and makes another of the same name at once.
func (w *world) recreate(change ...func(*v1beta2.SparkApplication)) (app *v1beta2.SparkApplication, goes func()) {
	w.T.Helper()
	first := w.Application("pi", withDriver)
	driver := w.runningDriver(first, 1)
	goes = w.TakesItsTime(driver)
	if err := w.API.Delete(w.T.Context(), first); err != nil {
		w.T.Fatal(err)
	}
	w.WaitGone(first)
	return w.Application("pi", append(change, withDriver)...), goes
}

// TestRecreatedApplication: kubectl delete and apply, or replace --force: the second application waits for what the first one left, says so, and runs.
func TestRecreatedApplication(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runReal()
	app, goes := w.recreate()
	testkit.Wait(t, "the wait to be told", func(context.Context) error {
		got := w.Get("pi")
		ready, told := condition(got, "Ready"), w.EventsOf(app)[dependents.ReasonNameTaken]
		if ready.Reason != dependents.ReasonNameTaken || !strings.Contains(ready.Message, driverName("pi")) || !strings.Contains(told, "same name") {
			return fmt.Errorf("Ready is %+v, the event %q", ready, told)
		}
		return want(got.Status.AppState.State, "")
	})
	goes()
	w.execute(w.driverOf(app, 1), exited(0, ""))
	if got := w.waitState("pi", v1beta2.ApplicationStateCompleted); got.Status.SubmissionAttempts != 1 {
		t.Errorf("%d submissions", got.Status.SubmissionAttempts)
	}
}

// TestRecreatedApplicationIsBounded: as long as a driver may take to start.
func TestRecreatedApplicationIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runReal()
	_, _ = w.recreate(func(app *v1beta2.SparkApplication) {
		app.Spec.Timeouts = &v1beta2.Timeouts{DriverStartSeconds: new(int64(4))}
	})
	got := w.waitState("pi", v1beta2.ApplicationStateFailed)
	if c := condition(got, "Failed"); c.Reason != lifecycle.ReasonStartTimedOut || !strings.Contains(c.Message, driverName("pi")) {
		t.Errorf("Failed is %+v", c)
	}
}

// TestLeftWithPod: what only pods own that are gone or going is waited for; what another owns as well, or a pod that stays, belongs to somebody.
func TestLeftWithPod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := &Reconciler{client: w.API, live: w.API}
	app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Name: "pi", UID: "second"}}
	stays, goes := foreignPod(w.Namespace, "stays"), foreignPod(w.Namespace, "goes")
	w.Create(stays)
	w.Create(goes)
	w.TakesItsTime(goes)
	if err := w.API.Delete(t.Context(), goes.DeepCopy(), client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	pod := func(name string, uid types.UID) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: name, UID: uid}
	}
	gone := pod("gone", "1")
	for _, test := range []struct {
		name   string
		refs   []metav1.OwnerReference
		waited bool
	}{
		{"nobody's", nil, false},
		{"of a pod that is gone", []metav1.OwnerReference{gone}, true},
		{"of one whose name another has", []metav1.OwnerReference{pod(stays.Name, "1")}, true},
		{"of one that is going", []metav1.OwnerReference{pod(goes.Name, goes.UID)}, true},
		{"of one that stays", []metav1.OwnerReference{pod(stays.Name, stays.UID)}, false},
		{"of one that is gone and one that stays", []metav1.OwnerReference{gone, pod(stays.Name, stays.UID)}, false},
		{"of one that is gone and another thing", []metav1.OwnerReference{gone, {APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "r", UID: "1"}}, false},
	} {
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "settings", OwnerReferences: test.refs}}
		if why, err := r.dependents().LeftWithPod(t.Context(), config, "ConfigMap", app); err != nil || (why != "") != test.waited {
			t.Errorf("%s: %q, %v", test.name, why, err)
		}
	}
}
