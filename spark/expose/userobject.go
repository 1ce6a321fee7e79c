package expose

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The kinds of objects that users specify themselves, in addition to RouteKind. Not every cluster has GRPCRoutes, which
// belong to the Gateway API.
var (
	ServiceKind   = schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	IngressKind   = schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}
	GRPCRouteKind = schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "GRPCRoute"}
)

// UserObject is the input of an object whose spec the user wrote. The object gets the spec as written, including fields
// that the Go types do not have.
type UserObject struct {
	// Kind of the object.
	Kind schema.GroupVersionKind
	// Namespace and Name of the object. They are not checked: the API server rejects invalid names.
	Namespace, Name string
	// Labels are the labels by which the caller identifies the object.
	Labels map[string]string
	// Extra are the user's labels. They never override Labels.
	Extra map[string]string
	// Annotations are the user's annotations.
	Annotations map[string]string
	// Owner of the object. If its UID is empty, the object has no owner.
	Owner metav1.OwnerReference
	// Spec is the spec as decoded JSON. Object does not change it.
	Spec map[string]any
}

// Object returns the object as decoded JSON, with its metadata and a copy of its spec.
func (g UserObject) Object() *unstructured.Unstructured {
	meta := Meta{g.Namespace, g.Name, g.Labels, g.Extra, g.Annotations, g.Owner}.objectMeta()
	object := &unstructured.Unstructured{Object: map[string]any{"spec": runtime.DeepCopyJSON(g.Spec), "metadata": metaTree(meta)}}
	object.SetGroupVersionKind(g.Kind)
	return object
}

// metaTree returns meta as decoded JSON.
func metaTree(meta metav1.ObjectMeta) map[string]any {
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&meta)
	if err != nil {
		// This cannot happen: a Kubernetes type can always be converted.
		return map[string]any{"name": meta.Name, "namespace": meta.Namespace}
	}

	delete(tree, "creationTimestamp")
	return tree
}

// WithRule returns spec if it has rules. Otherwise it returns a copy of spec with rule as its only rule. It does not
// change spec.
func WithRule(spec, rule map[string]any) map[string]any {
	if rules, _ := spec["rules"].([]any); len(rules) > 0 {
		return spec
	}

	out := maps.Clone(spec)
	if out == nil {
		out = map[string]any{}
	}

	out["rules"] = []any{rule}
	return out
}

// IngressRule returns the rule of an Ingress that routes all paths of any host to a port of a Service.
func IngressRule(service string, port int64) map[string]any {
	return map[string]any{"http": map[string]any{"paths": []any{map[string]any{
		"path": "/", "pathType": "ImplementationSpecific",
		"backend": map[string]any{"service": map[string]any{"name": service, "port": map[string]any{"number": port}}},
	}}}}
}

// HTTPRouteRule returns the rule of an HTTPRoute that routes a path, and all paths below it, to a port of a Service.
func HTTPRouteRule(path, service string, port int64) map[string]any {
	return map[string]any{
		"matches":     []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": path}}},
		"backendRefs": []any{map[string]any{"name": service, "port": port}},
	}
}

// GRPCRouteRule returns the rule of a GRPCRoute that routes all calls to a port of a Service.
func GRPCRouteRule(service string, port int64) map[string]any {
	return map[string]any{"backendRefs": []any{map[string]any{"name": service, "port": port}}}
}
