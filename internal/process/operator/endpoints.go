package operator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// addApacheEndpoints serves the metrics and the probes also at the addresses at which clients of the spark.apache.org
// operator expect them. That operator uses the ports 19090 and 19091.
func (op *Operator) addApacheEndpoints() error {
	cfg := op.config.Apache
	return errors.Join(
		op.serve("apache-metrics", cfg.Metrics.BindAddress, metricsAt(cfg.Metrics.Path)),
		op.serve("apache-health", cfg.Health.BindAddress, apacheProbes(all(op.Sentinels.Check, op.hangs.Alive), all(op.synced, op.hangs.Ready))),
	)
}

// serve serves a handler at an address. A replica that does not lead serves it as well.
func (op *Operator) serve(name, address string, handler http.Handler) error {
	if address == config.Off {
		return nil
	}
	// The address is bound now, so that an address in use prevents the start and does not end a running operator.
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return op.Add(&manager.Server{
		Name: name, Listener: listener,
		Server: &http.Server{Handler: readOnly(handler), ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 90 * time.Second, MaxHeaderBytes: 1 << 20},
	})
}

// metricsAt returns a handler that serves the process's metrics at a path.
func metricsAt(path string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(path, promhttp.HandlerFor(ctrlmetrics.Registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	return mux
}

// apacheProbes returns a handler that answers as the spark.apache.org operator does. /healthz answers 200 if the first
// check passes and otherwise 500. /readyz answers 200 if the second check passes and otherwise 400. Other paths do not
// exist.
func apacheProbes(healthy, ready func(*http.Request) error) http.Handler {
	mux := http.NewServeMux()
	answer := func(check func(*http.Request) error, good string, code int, bad string) http.HandlerFunc {
		return func(w http.ResponseWriter, req *http.Request) {
			if err := check(req); err != nil {
				w.WriteHeader(code)
				_, _ = fmt.Fprintf(w, "%s: %v\n", bad, err)
				return
			}

			_, _ = w.Write([]byte(good))
		}
	}
	mux.Handle("/healthz", answer(healthy, "healthy", http.StatusInternalServerError, "unhealthy"))
	mux.Handle("/readyz", answer(ready, "started", http.StatusBadRequest, "not started"))
	return mux
}

// all returns a check that passes if every given check passes.
func all(checks ...func(*http.Request) error) func(*http.Request) error {
	return func(req *http.Request) error {
		for _, check := range checks {
			if err := check(req); err != nil {
				return err
			}
		}
		return nil
	}
}

// readOnly returns a handler that passes only GET and HEAD requests to the given handler and rejects all others. It
// sets headers by which browsers neither cache nor embed the answers.
func readOnly(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		header := w.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Content-Security-Policy", "default-src 'none'")

		if req.Method != http.MethodGet && req.Method != http.MethodHead {
			header.Set("Allow", "GET, HEAD")
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}

		handler.ServeHTTP(w, req)
	})
}
