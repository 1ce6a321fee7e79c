package operator

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

func TestAnswersOfApacheProbes(t *testing.T) {
	good := func(*http.Request) error { return nil }

	bad := func(*http.Request) error { return errors.New("some reason") }
	for _, test := range []struct {
		name           string
		handler        http.Handler
		method, path   string
		code           int
		says, contains string
	}{
		{"healthy", apacheProbes(good, bad), http.MethodGet, "/healthz", 200, "healthy", ""},
		{"unhealthy", apacheProbes(bad, good), http.MethodGet, "/healthz", 500, "", "unhealthy: some reason"},
		{"started", apacheProbes(bad, good), http.MethodGet, "/readyz", 200, "started", ""},
		{"not started", apacheProbes(good, bad), http.MethodGet, "/readyz", 400, "", "some reason"},
		{"a HEAD request", apacheProbes(good, good), http.MethodHead, "/healthz", 200, "", ""},
		{"an unknown path", apacheProbes(good, good), http.MethodGet, "/", 404, "", ""},
		{"a POST request", apacheProbes(good, good), http.MethodPost, "/healthz", 405, "", ""},
		{"metrics", metricsAt("/prometheus"), http.MethodGet, "/prometheus", 200, "", "controller_runtime"},
		{"metrics at another path", metricsAt("/other"), http.MethodGet, "/prometheus", 404, "", ""},
		{"a DELETE request for metrics", metricsAt("/prometheus"), http.MethodDelete, "/prometheus", 405, "", ""},
	} {
		answer := httptest.NewRecorder()
		readOnly(test.handler).ServeHTTP(answer, httptest.NewRequest(test.method, test.path, nil))

		body := answer.Body.String()
		if answer.Code != test.code || test.says != "" && body != test.says || !strings.Contains(body, test.contains) {
			t.Errorf("%s: %d %.100q", test.name, answer.Code, body)
		}

		for key, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cache-Control": "no-store"} {
			if got := answer.Header().Get(key); got != want {
				t.Errorf("%s: %s is %q", test.name, key, got)
			}
		}
	}
}

// TestEndpointThatIsOff checks that an endpoint that is switched off has no listener.
func TestEndpointThatIsOff(t *testing.T) {
	if err := (&Operator{}).serve("off", config.Off, http.NotFoundHandler()); err != nil {
		t.Error(err)
	}
}
