package operator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
)

// TestApacheEndpoints checks that both addresses of the Java operator are served in addition to the operator's own,
// with the paths and answers of the Java operator.
func TestApacheEndpoints(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cfg := testConfig(w.Namespace)
	cfg.Health.BindAddress, cfg.Metrics.BindAddress = freeAddress(t), freeAddress(t)
	cfg.Apache.Health.BindAddress, cfg.Apache.Metrics.BindAddress = freeAddress(t), freeAddress(t)

	op, err := newOperator(w.T.Context(), cfg, w.environment())
	if err != nil {
		t.Fatal(err)
	}

	if err := Add(w.T.Context(), op, tiny.Kind(), time.Now); err != nil {
		t.Fatal(err)
	}

	w.run(op)

	for url, says := range map[string]string{
		"http://" + cfg.Health.BindAddress + "/healthz":            "ok",
		"http://" + cfg.Metrics.BindAddress + "/metrics":           "controller_runtime_max_concurrent_reconciles",
		"http://" + cfg.Apache.Health.BindAddress + "/healthz":     "healthy",
		"http://" + cfg.Apache.Health.BindAddress + "/readyz":      "started",
		"http://" + cfg.Apache.Metrics.BindAddress + "/prometheus": "controller_runtime_max_concurrent_reconciles",
	} {
		kit.Wait(t, url, func(ctx context.Context) error {
			status, body, err := fetch(ctx, url)
			if err == nil && (status != http.StatusOK || !strings.Contains(body, says)) {
				err = fmt.Errorf("status %d: %s", status, body)
			}
			return err
		})
	}
}

// TestApacheEndpointThatIsTaken checks that the operator does not start if an address is in use, and that the error
// names the address.
func TestApacheEndpointThatIsTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()

	cfg := testConfig(w.Namespace)

	cfg.Apache.Health.BindAddress = taken.Addr().String()
	if _, err := newOperator(t.Context(), cfg, w.environment()); err == nil || !strings.Contains(err.Error(), taken.Addr().String()) {
		t.Errorf("%v, want it to name %s", err, taken.Addr())
	}
}

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
