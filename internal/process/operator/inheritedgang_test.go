package operator

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/kind/typed"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/gang"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
)

// createInheritedGroup creates the PodGroup of another operator for an application. The group has no label of ours. The
// application owns it, unless another owner is given.
func (w *world) createInheritedGroup(kind schema.GroupVersionKind, app *v1beta2.SparkApplication, owner ...metav1.OwnerReference) *unstructured.Unstructured {
	left := groupOf(kind, app)
	left.SetOwnerReferences(append(owner, tiny.Meta(app, "", 1).OwnerReferences...)[:1])
	left.Object["spec"] = map[string]any{"minMember": int64(1), "minResources": map[string]any{"memory": "1"}}
	w.Create(left)
	return left
}

// TestGroupOfARunThatWasTakenOver checks an inherited run whose PodGroup another operator created. This operator
// deletes the PodGroup when the run ends, as the other operator would, and not before. It never deletes a PodGroup that
// does not belong to the run.
func TestGroupOfARunThatWasTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.definitionsOfGroups()
	type left struct {
		app   *v1beta2.SparkApplication
		group *unstructured.Unstructured
	}
	leave := func(name, scheduler string, kind schema.GroupVersionKind, owner ...metav1.OwnerReference) left {
		app := w.createInherited(theirs{name: name, state: v1beta2.ApplicationStateRunning, driver: corev1.PodRunning, spec: asGang(scheduler)})
		return left{app, w.createInheritedGroup(kind, app, owner...)}
	}
	ends, tuned := leave("ends", "volcano", gang.VolcanoKind), leave("tuned", "tuned", gang.CoschedulingKind)
	stops := leave("stops", "volcano", gang.VolcanoKind)
	// The other owner exists, since the collector deletes objects whose owner does not exist.
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "other"}}
	w.Create(other)
	foreign := leave("foreign", "volcano", gang.VolcanoKind, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: other.Name, UID: other.UID})

	w.runGangs()

	for _, l := range []left{ends, tuned, stops, foreign} {
		w.waitOurs(l.app.Name, v1beta2.ApplicationStateRunning)
		w.mustExist(l.group)
	}

	for _, l := range []left{ends, tuned, foreign} {
		w.kubelet(driverName(l.app.Name), corev1.PodSucceeded, scene.Exited(0, ""))
		w.waitState(l.app.Name, v1beta2.ApplicationStateCompleted)
	}

	w.WaitGone(ends.group)
	w.WaitGone(tuned.group)
	w.Patch("stops", `{"spec":{"suspend":true}}`)
	w.waitState("stops", v1beta2.ApplicationStateSuspended)
	w.WaitGone(stops.group)
	w.mustExist(foreign.group)
	w.waitPod(driverName("ends")) // kept for its log
}

// TestGoneBesideAGroup checks that a deleted executor is reported even if the pass that finds the deletion also finds
// another operator's PodGroup.
func TestGoneBesideAGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kind := tiny.Kind()
	kind.Executors.Remembers = typed.Of(func(app *v1beta2.SparkApplication) *v1beta2.OperatorStatus { return app.Status.Operator })
	kind.Inherited.PodGroup = typed.With(func(app *v1beta2.SparkApplication, _ lifecycle.Observed) *metav1.PartialObjectMetadata {
		group := identity.MetadataOnly(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		group.Namespace, group.Name, group.Labels = app.Namespace, "group", tiny.Meta(app, "", 1).Labels
		return group
	})
	kind.Decide = typed.Decides(func(app *v1beta2.SparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
		plan := tiny.Decide(app, seen, now)
		for i := range seen.UncountedExecutors {
			app.Status.ExecutorState = map[string]v1beta2.ExecutorState{seen.UncountedExecutors[i].Name: v1beta2.ExecutorStateCompleted}
		}
		return plan
	})
	w.runTiny(kind)
	app := w.Application("tiny")
	driver := w.waitPod("tiny-driver")
	w.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "group", OwnerReferences: tiny.Meta(app, "", 1).OwnerReferences}})
	w.kubelet(driver.Name, corev1.PodRunning, running())
	w.waitState("tiny", v1beta2.ApplicationStateRunning)
	executor := w.executor(app, driver, 1)
	w.Create(executor)

	if err := w.API.Delete(t.Context(), executor, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "the executor to be reported", func(context.Context) error {
		return want(w.Get("tiny").Status.ExecutorState[executor.Name], v1beta2.ExecutorStateCompleted)
	})
}

// mustExist reads an object, and fails the test if the object does not exist.
func (w *world) mustExist(object client.Object) {
	w.T.Helper()

	if err := w.API.Get(w.T.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		w.T.Error(err)
	}
}
