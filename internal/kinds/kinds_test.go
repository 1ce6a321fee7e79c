package kinds

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// TestAllOfTheGroups checks that the list has every kind of the schemes of the three API packages, with the right
// group, version, type and list.
func TestAllOfTheGroups(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1beta2.AddToScheme, v1alpha1.AddToScheme, sparkv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}

	for _, k := range All {
		for kind, object := range map[string]runtime.Object{k.Kind: k.Empty(), k.Kind + "List": k.NewList()} {
			want := k.GroupVersion().WithKind(kind)
			if got, err := apiutil.GVKForObject(object, scheme); err != nil || got != want {
				t.Errorf("%s: the type %T is %v, %v", want, object, got, err)
			}
		}

		if resource, _ := meta.UnsafeGuessKindToResource(k.GroupVersionKind); resource.Resource != k.Resource {
			t.Errorf("%s: resource %s, want %s", k.GroupVersionKind, k.Resource, resource.Resource)
		}

		if Of(k.New()) != k || Served(k.GroupVersionKind) != k {
			t.Errorf("%s is not found by its type or by its version", k.GroupVersionKind)
		}
	}

	for known := range scheme.AllKnownTypes() {
		object, err := scheme.New(known)
		if _, isList := object.(interface{ GetContinue() string }); err != nil || isList ||
			known.Version == runtime.APIVersionInternal {
			continue
		}

		if _, err := meta.Accessor(object); err == nil && Served(known) == nil {
			t.Errorf("the list lacks %s", known)
		}
	}
}
