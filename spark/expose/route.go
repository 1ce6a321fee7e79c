package expose

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// RouteKind is the kind of DriverRoute's object: an HTTPRoute of the Gateway API, which a cluster need not have.
var RouteKind = schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"}

// Parent is what a route attaches to, as parentRefs of the Gateway API say it. Empty fields are left to the API's defaults: a Gateway in the route's
// namespace, all of its listeners.
type Parent struct {
	Group, Kind, Namespace, Name, SectionName string
	Port                                      int32 // of a listener; 0 for any
}

// Route is what an HTTPRoute that leads to a Service of a driver is made of.
type Route struct {
	// Namespace and Name of the object. Nothing is checked: the API server refuses what is no name.
	Namespace, Name string
	// Labels and Annotations of the object.
	Labels, Annotations map[string]string
	// Owner of the object; none without a UID.
	Owner metav1.OwnerReference
	// Parents are the Gateways; without one the route leads nowhere.
	Parents []Parent
	// Hosts that the route answers to; none for all that the Gateways let through.
	Hosts []string
	// Path that the route answers to: empty for the root, else without a slash at its end. It is taken away before the driver sees it.
	Path string
	// Service and its Port that are reached.
	Service string
	Port    int32
}

// DriverRoute returns the HTTPRoute.
func DriverRoute(r Route) *unstructured.Unstructured {
	path := r.Path
	if path == "" {
		path = "/"
	}
	rule := HTTPRouteRule(path, r.Service, int64(r.Port))
	if r.Path != "" {
		rule["filters"] = []any{map[string]any{
			"type":       "URLRewrite",
			"urlRewrite": map[string]any{"path": map[string]any{"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}},
		}}
	}
	spec := map[string]any{"rules": []any{rule}}
	if parents := parentRefs(r.Parents); len(parents) > 0 {
		spec["parentRefs"] = parents
	}
	if len(r.Hosts) > 0 {
		hosts := make([]any, len(r.Hosts))
		for i, host := range r.Hosts {
			hosts[i] = host
		}
		spec["hostnames"] = hosts
	}
	meta := objectMeta(r.Namespace, r.Name, r.Labels, nil, r.Annotations, r.Owner)
	route := &unstructured.Unstructured{Object: map[string]any{"spec": spec, "metadata": metaTree(meta)}}
	route.SetGroupVersionKind(RouteKind)
	return route
}

func parentRefs(parents []Parent) (refs []any) {
	for _, parent := range parents {
		ref := map[string]any{"name": parent.Name}
		for key, value := range map[string]string{
			"group": parent.Group, "kind": parent.Kind, "namespace": parent.Namespace, "sectionName": parent.SectionName,
		} {
			if value != "" {
				ref[key] = value
			}
		}
		if parent.Port != 0 {
			ref["port"] = int64(parent.Port)
		}
		refs = append(refs, ref)
	}
	return refs
}
