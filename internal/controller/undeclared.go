package controller

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A user's template may have fields that the operator's types do not know: those of a newer Kubernetes, and mistakes. They are kept, as they are in pods (
// spark/podtemplate). Where the API server does not know them either it drops them from what is created, and refuses to apply them: then they are left out.

// undeclared reports whether an apply was refused since it has fields that the API server does not know. There is no code for that.
func undeclared(err error) bool {
	return err != nil && strings.Contains(err.Error(), "field not declared in schema")
}

// declared is an object's tree without the fields that the operator's types do not know; nil for a kind that it has no types of.
func declared(scheme *runtime.Scheme, tree map[string]any) map[string]any {
	typed, err := scheme.New((&unstructured.Unstructured{Object: tree}).GroupVersionKind())
	if err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(tree, typed) != nil {
		return nil
	}
	object, ok := typed.(client.Object)
	if !ok {
		return nil
	}
	known, err := appliedTree(object)
	if err != nil {
		return nil
	}
	return known
}
