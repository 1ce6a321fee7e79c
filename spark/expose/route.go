package expose

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// RouteKind is the kind of the object that DriverRoute returns: an HTTPRoute of the Gateway API. Not every cluster has
// this kind.
var RouteKind = schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"}

// Parent is the object to which a route attaches, as in parentRefs of the Gateway API. Empty fields have the API's
// defaults: the kind Gateway, the route's namespace, all listeners.
type Parent struct {
	Group, Kind, Namespace, Name, SectionName string
	Port                                      int32 // of a listener; 0 for any
}

// Route is the input of an HTTPRoute that leads to a Service of a driver.
type Route struct {
	Meta
	// Parents are the Gateways to which the route attaches. Without a Gateway the route has no effect.
	Parents []Parent
	// Hosts are the hosts of the route; none means all hosts of the Gateways.
	Hosts []string
	// Path is the path of the route, without a trailing slash. It is empty for the root. The route removes the path
	// before a request reaches the driver.
	Path string
	// Service and Port are the name and the port of the Service to which the route leads.
	Service string
	Port    int32
}

// DriverRoute returns an HTTPRoute that leads to a Service of a driver.
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

	route := &unstructured.Unstructured{Object: map[string]any{"spec": spec, "metadata": metaTree(r.objectMeta())}}
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
