package telemetry

import (
	"net/http"
	"strings"
	"time"
)

// resources are the values of the label resource: the requested resources. Any other becomes otherValue.
var resources = map[string]bool{
	"sparkapplications": true, "sparkapplications/status": true, "scheduledsparkapplications": true, "scheduledsparkapplications/status": true, "sparkconnects": true, "sparkconnects/status": true, "pods": true, "configmaps": true, "services": true, "secrets": true,
	"events": true, "networkpolicies": true, "poddisruptionbudgets": true, "ingresses": true, "httproutes": true, "podgroups": true, "leases": true,
	"namespaces": true, "localsubjectaccessreviews": true,
}

// Transport returns a transport that measures the duration of requests, except watches, because they stay open.
func (m *Metrics) Transport(next http.RoundTripper) http.RoundTripper { return timed{next, m} }

type timed struct {
	next    http.RoundTripper
	metrics *Metrics
}

// RoundTrip implements http.RoundTripper.
func (t timed) RoundTrip(request *http.Request) (*http.Response, error) {
	verb, resource := requestOf(request)
	if verb == "watch" || resource == "" {
		return t.next.RoundTrip(request)
	}

	begin := time.Now()
	response, err := t.next.RoundTrip(request)
	t.metrics.requestSeconds.WithLabelValues(verb, resource).Observe(time.Since(begin).Seconds())
	return response, err
}

// WrappedRoundTripper returns the wrapped transport, so that client-go can unwrap this one.
func (t timed) WrappedRoundTripper() http.RoundTripper { return t.next }

// requestOf returns the verb and the resource of a request, as Kubernetes' authorizers name them, from its path:
//
//	/api/<version>[/namespaces/<namespace>]/<resource>[/<name>[/<subresource>]]
//	/apis/<group>/<version>[/namespaces/<namespace>]/<resource>[/<name>[/<subresource>]]
//
// The resource is empty for other paths, such as discovery.
func requestOf(request *http.Request) (verb, resource string) {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return "", ""
	}

	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}

	named := len(parts) > 1

	resource = parts[0]
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}

	if !resources[resource] {
		resource = otherValue
	}
	return verbOf(request, named), resource
}

func verbOf(request *http.Request, named bool) string {
	switch request.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if named {
			return "delete"
		}
		return "deletecollection"
	case http.MethodGet:
		if watch := request.URL.Query().Get("watch"); watch == "true" || watch == "1" {
			return "watch"
		}

		if named {
			return "get"
		}
		return "list"
	}
	return otherValue
}
