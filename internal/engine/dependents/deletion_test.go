package dependents_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestApplicationIsDeleted checks that an application's dependents are deleted or kept according to the propagation
// policy of the deletion, as for Kubernetes' own kinds.
func TestApplicationIsDeleted(t *testing.T) {
	t.Parallel()

	for policy, stays := range map[metav1.DeletionPropagation]bool{
		metav1.DeletePropagationBackground: false, metav1.DeletePropagationForeground: false,
		metav1.DeletePropagationOrphan: true,
	} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()

			if policy != metav1.DeletePropagationBackground {
				kit.NeedsControllers(t, world.Cascade)
			}

			w := world.New(t)
			w.RunReal()
			app, last := w.Application("pi", scene.WithDriver), w.Application("last", scene.WithDriver)
			w.RunningDriver(app, 1)
			driver := w.RunningDriver(last, 1)

			had := dependentsOf(w, app)
			if len(had) < 4 {
				t.Fatalf("the application has %d objects", len(had))
			}

			if stays {
				collectorKnows(w) // the collector orphans only objects that it has received, and deletes all others
			}

			if err := w.API.Delete(t.Context(), app, client.PropagationPolicy(policy)); err != nil {
				t.Fatal(err)
			}

			w.WaitGone(app)

			if !stays {
				for _, object := range had {
					w.WaitGone(object)
				}
				return
			}
			// Another application that is deleted later disappears with its dependents. So the operator has received
			// the first deletion.
			if err := w.API.Delete(t.Context(), last); err != nil {
				t.Fatal(err)
			}

			w.WaitGone(driver)

			for _, object := range dependentsOf(w, app) {
				if object.GetDeletionTimestamp() != nil || len(object.GetOwnerReferences()) > 0 {
					t.Errorf("the deletion time of %s %s is %v, its owners are %v",
						object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), object.GetDeletionTimestamp(),
						object.GetOwnerReferences())
				}
			}

			if left := dependentsOf(w, app); len(left) != len(had) {
				t.Errorf("%d objects are left of %d: %v of %v", len(left), len(had), kindsOf(left), kindsOf(had))
			}
		})
	}
}

// collectorKnows waits until Kubernetes' garbage collector has received the existing ConfigMaps, Services and pods. To
// find that out it creates a ConfigMap, a Service and a pod whose owner does not exist, and waits until the collector
// has deleted these three.
func collectorKnows(w *world.World) {
	w.T.Helper()

	nobody := []metav1.OwnerReference{{APIVersion: v1beta2.GroupVersion.String(), Kind: "SparkApplication",
		Name: "nobody", UID: "00000000-0000-4000-8000-000000000000"}}
	meta := metav1.ObjectMeta{Namespace: w.Namespace, Name: "heard", OwnerReferences: nobody}
	pod := scene.ForeignPod(w.Namespace, "heard")
	pod.OwnerReferences = nobody

	all := []client.Object{&corev1.ConfigMap{ObjectMeta: meta},
		&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}}, pod}
	for _, object := range all {
		w.Create(object)
	}

	for _, object := range all {
		w.WaitGone(object)
	}
}

// dependentsOf returns the objects with an application's labels.
func dependentsOf(w *world.World, app *v1beta2.SparkApplication) (children []client.Object) {
	w.T.Helper()

	for _, kind := range append(slices.Clone(dependents.Kinds), corev1.SchemeGroupVersion.WithKind("Pod")) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))

		if err := w.API.List(w.T.Context(), list, client.InNamespace(w.Namespace),
			client.MatchingLabels{identity.AppUIDLabel: string(app.UID)}); err != nil {
			w.T.Fatal(err)
		}

		for i := range list.Items {
			list.Items[i].SetGroupVersionKind(kind)
			children = append(children, &list.Items[i])
		}
	}
	return children
}

// TestOperatorDeletesDependentsAtOnce checks that the operator itself requests the deletion of an application's
// dependents, so that the deletion of many applications at once does not wait for a slow garbage collector.
func TestOperatorDeletesDependentsAtOnce(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	made := &world.Requests{}
	stop := w.RunTiny(tiny.Kind(), func(env *operator.Environment) { env.Rest.Wrap(made.Over) })
	const n = 30

	var apps []*v1beta2.SparkApplication
	for i := range n {
		apps = append(apps, w.Application(fmt.Sprintf("pi-%d", i)))
	}

	for _, app := range apps {
		w.WaitState(app.Name, v1beta2.ApplicationStateSubmitted)
	}

	before := made.Since(nil)

	for _, app := range apps {
		if err := w.API.Delete(t.Context(), app); err != nil {
			t.Fatal(err)
		}
	}

	kit.Wait(t, "the namespace to be empty", func(context.Context) error { return world.Want(len(w.Stays()), 0) })
	stop()

	got := made.Since(before)
	for _, resource := range []string{"pods", "configmaps", "services"} {
		// The operator may request a deletion twice if its cache is old or the collector works on the same object. The
		// collector, which the same event wakes, may be first at many objects if the machine is busy.
		if deleted := got["DELETE "+resource]; deleted < n/5 || deleted > n+n/3 {
			t.Errorf("the operator deleted %d %s of %d applications", deleted, resource, n)
		}
	}

	for request := range got {
		writes := !strings.HasPrefix(request, "GET ") && !strings.HasSuffix(request, " events")
		if writes && !slices.Contains([]string{"DELETE pods", "DELETE configmaps", "DELETE services",
			"PATCH sparkapplications/status"}, request) {
			t.Errorf("%d times %s", got[request], request)
		}
	}
}

func kindsOf(all []client.Object) (kinds []string) {
	for _, object := range all {
		kinds = append(kinds, object.GetObjectKind().GroupVersionKind().Kind+" "+object.GetName())
	}
	return kinds
}
