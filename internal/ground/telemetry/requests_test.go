package telemetry

import (
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func urlOf(path, query string) *url.URL { return &url.URL{Path: path, RawQuery: query} }

func TestRequestOf(t *testing.T) {
	for _, test := range []struct{ method, path, query, verb, resource string }{
		{"GET", "/api/v1/namespaces/x/pods", "labelSelector=a", "list", "pods"},
		{"GET", "/api/v1/namespaces/x/pods", "watch=true", "watch", "pods"},
		{"GET", "/api/v1/pods", "watch=1", "watch", "pods"},
		{"GET", "/api/v1/pods", "watch=false", "list", "pods"},
		{"GET", "/api/v1/namespaces/x/pods/a", "", "get", "pods"},
		{"GET", "/api/v1/namespaces/x", "", "get", "namespaces"},
		{"GET", "/api/v1/namespaces", "", "list", "namespaces"},
		{"POST", "/api/v1/namespaces/x/pods", "dryRun=All", "create", "pods"},
		{"DELETE", "/api/v1/namespaces/x/pods/a", "", "delete", "pods"},
		{"DELETE", "/api/v1/namespaces/x/secrets", "", "deletecollection", "secrets"},
		{"PATCH", "/apis/sparkoperator.k8s.io/v1beta2/namespaces/x/sparkapplications/a/status", "", "patch",
			"sparkapplications/status"},
		{"PATCH", "/apis/sparkoperator.k8s.io/v1alpha1/namespaces/x/sparkconnects/a/status", "", "patch",
			"sparkconnects/status"},
		{"GET", "/apis/sparkoperator.k8s.io/v1alpha1/sparkconnects", "", "list", "sparkconnects"},
		{"PATCH", "/apis/sparkoperator.k8s.io/v1beta2/namespaces/x/sparkapplications/a/scale", "", "patch", "other"},
		{"PUT", "/apis/coordination.k8s.io/v1/namespaces/x/leases/l", "", "update", "leases"},
		{"POST", "/apis/authorization.k8s.io/v1/namespaces/x/localsubjectaccessreviews", "", "create",
			"localsubjectaccessreviews"},
		{"OPTIONS", "/api/v1/namespaces/x/pods", "", "other", "pods"},
		{"GET", "/apis/example.com/v1/widgets", "", "list", "other"},
		{"GET", "/apis/apps/v1", "", "", ""}, // discovery
		{"GET", "/api/v1", "", "", ""},
		{"GET", "/version", "", "", ""},
		{"GET", "/", "", "", ""},
	} {
		verb, resource := requestOf(&http.Request{Method: test.method, URL: urlOf(test.path, test.query)})
		if verb != test.verb || resource != test.resource {
			t.Errorf("%s %s?%s is %q %q, want %q %q", test.method, test.path, test.query, verb, resource, test.verb,
				test.resource)
		}
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func TestTransport(t *testing.T) {
	reg := prometheus.NewRegistry()
	gone := errors.New("gone")
	answers := 0
	timed := NewMetrics(reg, MetricsOptions{}).Transport(transport(func(*http.Request) (*http.Response, error) {
		if answers++; answers == 2 {
			return nil, gone
		}
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	}))

	ask := func(path, query string) error {
		response, err := timed.RoundTrip(&http.Request{Method: http.MethodGet, URL: urlOf(path, query)})
		if err == nil {
			response.Body.Close()
		}
		return err
	}
	if err := ask("/api/v1/pods", ""); err != nil {
		t.Error(err)
	}

	if err := ask("/api/v1/pods", ""); !errors.Is(err, gone) {
		t.Errorf("error %v, want the transport's", err)
	}

	for path, query := range map[string]string{"/api/v1/pods": "watch=true", "/version": ""} {
		if err := ask(path, query); err != nil {
			t.Error(err)
		}
	}

	wantSamples(t, reg, "sparkoperator_api_request_duration_seconds", map[string]float64{
		"sparkoperator_api_request_duration_seconds{resource=pods,verb=list}": 2,
	})
}
