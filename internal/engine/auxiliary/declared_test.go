package auxiliary

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit"
)

func TestMain(m *testing.M) { kit.MainShared(m) }

// setWithFuture returns a StatefulSet that has fields in its spec and in a container that the API server does not know.
func setWithFuture(namespace string, replicas int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": map[string]any{"name": "x", "namespace": namespace},
		"spec": map[string]any{
			"replicas": replicas, "future": "1", "selector": map[string]any{"matchLabels": map[string]any{"a": "b"}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"a": "b"}},
				"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i",
					"future": int64(2)}}},
			},
		},
	}}
}

// TestUnknownFieldsAreLeftOut checks that a StatefulSet with unknown fields in its template can be updated. The API
// server accepts a creation with such fields but rejects an apply.
func TestUnknownFieldsAreLeftOut(t *testing.T) {
	api, namespace := kit.Client(t), kit.Namespace(t)

	k := Keeper{Client: dependents.Client{Client: client.WithFieldOwner(api, identity.FieldOwner)}}
	if err := api.Create(t.Context(), setWithFuture(namespace, 1), client.FieldOwner(identity.FieldOwner)); err != nil {
		t.Fatal(err)
	}

	for _, replicas := range []int64{2, 3} {
		kit.Wait(t, "the update", func(ctx context.Context) error { // the set's controller writes too
			existing := setWithFuture(namespace, 1)
			if err := api.Get(ctx, client.ObjectKeyFromObject(existing), existing); err != nil {
				return err
			}

			_, err := k.update(ctx, existing, setWithFuture(namespace, replicas).Object)
			return err
		})

		var set appsv1.StatefulSet
		if err := api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "x"}, &set); err != nil {
			t.Fatal(err)
		}

		if int64(*set.Spec.Replicas) != replicas || len(set.Spec.Template.Spec.Containers) != 1 {
			t.Errorf("there are %d replicas, want %d, of %v", *set.Spec.Replicas, replicas,
				set.Spec.Template.Spec.Containers)
		}
	}

	existing := setWithFuture(namespace, 3)
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(existing), existing); err != nil {
		t.Fatal(err)
	}

	if !k.matches(setWithFuture(namespace, 3).Object, existing) ||
		k.matches(setWithFuture(namespace, 4).Object, existing) {
		t.Error("what the API server dropped is taken for an edit, or an edit for that")
	}

	existing.SetResourceVersion("")

	if _, err := k.update(t.Context(), existing, setWithFuture(namespace, -1).Object); !apierrors.IsInvalid(err) {
		t.Errorf("what the API server has against the rest is %v", err)
	}
}

func TestDeclared(t *testing.T) {
	scheme := clientgoscheme.Scheme
	tree := setWithFuture("ns", 2).Object
	known := declared(scheme, tree)
	want := setWithFuture("ns", 2).Object
	unstructured.RemoveNestedField(want, "spec", "future")
	spec := want["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	delete(spec["containers"].([]any)[0].(map[string]any), "future")

	if !contains(known, want) {
		t.Errorf("what is known is %v", known)
	}

	if _, kept := known["spec"].(map[string]any)["future"]; kept {
		t.Error("a field that no type knows is kept")
	}

	if diff := cmp.Diff(setWithFuture("ns", 2).Object, tree); diff != "" {
		t.Errorf("the object was changed:\n%s", diff)
	}

	if got := declared(scheme, map[string]any{"apiVersion": "example.com/v1", "kind": "Unknown"}); got != nil {
		t.Errorf("of an unknown kind this is known: %v", got)
	}
}
