package dependents_test

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
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/gang"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// createInheritedGroup creates the PodGroup of another operator for an application. The group has no label of ours. The
// application owns it, unless another owner is given.
func createInheritedGroup(w *world.World, kind schema.GroupVersionKind, app *v1beta2.SparkApplication,
	owner ...metav1.OwnerReference) *unstructured.Unstructured {
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
	w := world.New(t)
	definitionsOfGroups(w)
	type left struct {
		app   *v1beta2.SparkApplication
		group *unstructured.Unstructured
	}
	leave := func(name, scheduler string, kind schema.GroupVersionKind, owner ...metav1.OwnerReference) left {
		app := resources.CreateInherited(w,
			resources.Theirs{Name: name, State: v1beta2.ApplicationStateRunning, Driver: corev1.PodRunning,
				Spec: asGang(scheduler)})
		return left{app, createInheritedGroup(w, kind, app, owner...)}
	}
	ends, tuned := leave("ends", "volcano", gang.VolcanoKind), leave("tuned", "tuned", gang.CoschedulingKind)
	stops := leave("stops", "volcano", gang.VolcanoKind)
	// The other owner exists, since the collector deletes objects whose owner does not exist.
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "other"}}
	w.Create(other)
	foreign := leave("foreign", "volcano", gang.VolcanoKind,
		metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: other.Name, UID: other.UID})

	runGangs(w)

	for _, l := range []left{ends, tuned, stops, foreign} {
		waitOurs(w, l.app.Name, v1beta2.ApplicationStateRunning)
		w.MustExist(l.group)
	}

	for _, l := range []left{ends, tuned, foreign} {
		w.Kubelet(world.DriverName(l.app.Name), corev1.PodSucceeded, scene.Exited(0, ""))
		w.WaitState(l.app.Name, v1beta2.ApplicationStateCompleted)
	}

	w.WaitGone(ends.group)
	w.WaitGone(tuned.group)
	w.Patch("stops", `{"spec":{"suspend":true}}`)
	w.WaitState("stops", v1beta2.ApplicationStateSuspended)
	w.WaitGone(stops.group)
	w.MustExist(foreign.group)
	w.WaitPod(world.DriverName("ends")) // kept for its log
}

// grouped is a kind with counted executors, and with a ConfigMap in place of another operator's PodGroup.
type grouped struct{ *tiny.Applications }

func (grouped) ExecutorRecord(object client.Object) *v1beta2.OperatorStatus {
	return object.(*v1beta2.SparkApplication).Status.Operator
}

func (grouped) InheritedGroup(object client.Object, _ lifecycle.Observed) *metav1.PartialObjectMetadata {
	group := identity.MetadataOnly(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	group.Namespace, group.Name, group.Labels = object.GetNamespace(), "group",
		tiny.Meta(object.(*v1beta2.SparkApplication), "", 1).Labels
	return group
}

// TestGoneBesideAGroup checks that a deleted executor is reported even if the pass that finds the deletion also finds
// another operator's PodGroup.
func TestGoneBesideAGroup(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	kind := tiny.Kind()
	kind.OnDecide = func(app *v1beta2.SparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
		plan := tiny.Decide(app, seen, now)
		for i := range seen.UncountedExecutors {
			app.Status.ExecutorState = map[string]v1beta2.ExecutorState{seen.UncountedExecutors[i].Name: v1beta2.ExecutorStateCompleted}
		}
		return plan
	}
	w.RunTiny(grouped{kind})
	app := w.Application("tiny")
	driver := w.WaitPod("tiny-driver")
	w.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "group",
		OwnerReferences: tiny.Meta(app, "", 1).OwnerReferences}})
	w.Kubelet(driver.Name, corev1.PodRunning, world.Running())
	w.WaitState("tiny", v1beta2.ApplicationStateRunning)
	executor := w.Executor(app, driver, 1)
	w.Create(executor)

	if err := w.API.Delete(t.Context(), executor, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "the executor to be reported", func(context.Context) error {
		return world.Want(w.Get("tiny").Status.ExecutorState[executor.Name], v1beta2.ExecutorStateCompleted)
	})
}
