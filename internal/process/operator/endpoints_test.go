package operator_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestApacheEndpoints checks that both addresses of the Java operator are served in addition to the operator's own,
// with the paths and answers of the Java operator.
func TestApacheEndpoints(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	cfg := world.Config(w.Namespace)
	cfg.Health.BindAddress, cfg.Metrics.BindAddress = kit.FreeAddress(t), kit.FreeAddress(t)
	cfg.Apache.Health.BindAddress, cfg.Apache.Metrics.BindAddress = kit.FreeAddress(t), kit.FreeAddress(t)

	op, err := operator.NewEmpty(w.T.Context(), cfg, w.Environment())
	if err != nil {
		t.Fatal(err)
	}

	if err := operator.Add(w.T.Context(), op, tiny.Kind(), time.Now); err != nil {
		t.Fatal(err)
	}

	w.Run(op)

	for url, says := range map[string]string{
		"http://" + cfg.Health.BindAddress + "/healthz":            "ok",
		"http://" + cfg.Metrics.BindAddress + "/metrics":           "controller_runtime_max_concurrent_reconciles",
		"http://" + cfg.Apache.Health.BindAddress + "/healthz":     "healthy",
		"http://" + cfg.Apache.Health.BindAddress + "/readyz":      "started",
		"http://" + cfg.Apache.Metrics.BindAddress + "/prometheus": "controller_runtime_max_concurrent_reconciles",
	} {
		kit.Wait(t, url, func(ctx context.Context) error {
			status, body, err := world.Fetch(ctx, url)
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
	w := world.New(t)

	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()

	cfg := world.Config(w.Namespace)

	cfg.Apache.Health.BindAddress = taken.Addr().String()
	if _, err := operator.NewEmpty(t.Context(), cfg, w.Environment()); err == nil || !strings.Contains(err.Error(), taken.Addr().String()) {
		t.Errorf("%v, want it to name %s", err, taken.Addr())
	}
}
