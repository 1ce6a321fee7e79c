package telemetry_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/checkout"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// documentedMetrics reads the table under a heading of docs/metrics.md. The keys of the result are the names of the
// metrics, and the values have the form "type labels".
func documentedMetrics(t *testing.T, heading string) map[string]string {
	t.Helper()

	root, err := checkout.Root()
	if err != nil {
		t.Fatal(err)
	}

	page, err := os.ReadFile(filepath.Join(root, "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}

	_, section, found := strings.Cut(string(page), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("docs/metrics.md has no %q", heading)
	}

	section, _, _ = strings.Cut(section, "\n## ")

	table := map[string]string{}
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); strings.HasPrefix(line, "| `") && len(cells) >= 5 {
			cell := func(i int) string { return strings.ReplaceAll(strings.TrimSpace(cells[i]), "`", "") }
			table[cell(1)] = strings.TrimSpace(cell(2) + " " + cell(3))
		}
	}
	return table
}

// servedMetrics returns the metrics of a registry. As in the result of documentedMetrics, the keys are the names of the
// metrics, and the values have the form "type labels".
func servedMetrics(t *testing.T, from prometheus.Gatherer) map[string]string {
	t.Helper()

	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}

	table := map[string]string{}
	for _, family := range families {
		names := []string{}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if !slices.Contains(names, label.GetName()) {
					names = append(names, label.GetName())
				}
			}
		}

		slices.Sort(names)

		name := family.GetName()
		for _, prefix := range []string{"go_", "process_"} { // the metrics of the process itself, which are many
			if strings.HasPrefix(name, prefix) {
				name = ""
			}
		}

		if name != "" {
			table[name] = strings.TrimSpace(strings.ToLower(dto.MetricType_name[int32(family.GetType())]) + " " +
				strings.Join(names, ", "))
		}
	}
	return table
}

// TestMetricsThatAreServed checks that an operator that has handled two applications until they ended serves the
// metrics that docs/metrics.md describes, with their types and labels. A test of package telemetry checks that
// docs/metrics.md describes all metrics.
func TestMetricsThatAreServed(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	cfg := world.Config(w.Namespace)
	cfg.LeaderElection.Enabled, cfg.LeaderElection.Namespace = new(true), w.Namespace
	cfg.Webhook = config.Webhook{BindAddress: kit.FreeAddress(t), CertDir: t.TempDir()}
	chain := world.WriteCertificate(t, cfg.Webhook.CertDir)

	op, err := operator.NewOperator(t.Context(), cfg, w.Environment())
	if err != nil {
		t.Fatal(err)
	}

	w.Run(op)
	world.Review(t, cfg.Webhook.BindAddress, chain)

	good, bad := w.Application("good"), w.Application("bad")
	// Each driver is reported as running before it ends, so that the lag of two statuses of each application is
	// measured.
	w.Kubelet(w.RunningDriver(good, 1).Name, corev1.PodSucceeded, scene.Exited(0, ""))
	w.Kubelet(w.RunningDriver(bad, 1).Name, corev1.PodFailed, scene.Exited(1, "boom"))
	w.WaitState("good", v1beta2.ApplicationStateCompleted)
	w.WaitState("bad", v1beta2.ApplicationStateFailed)

	all := documentedMetrics(t, "For dashboards of sparkoperator.k8s.io")
	maps.Copy(all, documentedMetrics(t, "The operator's own"))

	got := servedMetrics(t, w.Registry)
	for name, value := range got {
		if all[name] != value {
			t.Errorf("%s is served as %q, docs/metrics.md has %q", name, value, all[name])
		}
	}

	for _, name := range []string{"spark_application_running_count", "sparkoperator_applications",
		"sparkoperator_phase_duration_seconds",
		"sparkoperator_submission_duration_seconds", "sparkoperator_status_lag_seconds",
		"sparkoperator_api_request_duration_seconds"} {
		if got[name] == "" {
			t.Errorf("%s is not served", name)
		}
	}

	if diff := cmp.Diff(documentedMetrics(t, "Of the libraries"), servedMetrics(t, ctrlmetrics.Registry)); diff != "" {
		t.Errorf("docs/metrics.md and what controller-runtime and client-go serve (-page +served):\n%s", diff)
	}

	for name, want := range map[string]float64{
		"spark_application_count": 2, "spark_application_submit_count": 2, "spark_application_success_count": 1,
		"spark_application_failure_count":           1,
		"sparkoperator_submission_duration_seconds": 4, "sparkoperator_status_lag_seconds": 4,
		"spark_application_running_count": 0,
	} {
		kit.Wait(t, name, func(context.Context) error { return want64(w.Metric(name), want) })
	}
}

func want64(got, want float64) error {
	if got != want {
		return fmt.Errorf("it is %v, want %v", got, want)
	}
	return nil
}

// TestMetricsAcrossRestarts checks that a new process of the operator has the right gauges after its first pass over
// each application. The counters of the new process start at zero. They include transitions that happened while no
// operator ran, because the new process writes these transitions into the status.
func TestMetricsAcrossRestarts(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	stop := w.RunReal()
	runs, waits, over := w.Application("runs"), w.Application("waits"), w.Application("over")
	w.Kubelet(w.DriverOf(runs, 1).Name, corev1.PodRunning, world.Running())
	w.Kubelet(w.DriverOf(waits, 1).Name, corev1.PodPending, world.Waiting("ImagePullBackOff", "no such image"))
	w.Execute(w.DriverOf(over, 1), scene.Exited(0, ""))
	w.WaitState("runs", v1beta2.ApplicationStateRunning)
	w.WaitState("over", v1beta2.ApplicationStateCompleted)

	gauges := func() error {
		for name, want := range map[string]float64{
			// One application waits for an image, and one for executors.
			"spark_application_running_count": 1, "sparkoperator_applications": 3,
			"sparkoperator_applications_waiting": 2,
		} {
			if got := w.Metric(name); got != want {
				return fmt.Errorf("%s is %v, want %v", name, got, want)
			}
		}
		return nil
	}
	kit.Wait(t, "the gauges", func(context.Context) error { return gauges() })
	w.WaitMetric("spark_application_submit_count", 3)
	stop()

	// The next operator counts what happened while no operator ran.
	w.Kubelet(world.DriverName("runs"), corev1.PodSucceeded, scene.Exited(0, ""))
	w.RunReal()
	w.WaitState("runs", v1beta2.ApplicationStateCompleted)

	for name, want := range map[string]float64{
		"sparkoperator_applications": 3, "spark_application_running_count": 0, "sparkoperator_applications_waiting": 1,
		"spark_application_success_count": 1, "spark_application_submit_count": 0, "spark_application_count": 0,
	} {
		kit.Wait(t, name, func(context.Context) error { return want64(w.Metric(name), want) })
	}

	if err := w.API.Delete(t.Context(), waits); err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "the gauge not to count a deleted application", func(context.Context) error {
		return want64(w.Metric("sparkoperator_applications_waiting"), 0)
	})
}

// TestTracesOfAPass checks that a launch is one trace, which contains the requests that created its objects and wrote
// its status. The operator sends the trace to a collector.
func TestTracesOfAPass(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	var received sync.Map
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter,
		r *http.Request) {
		received.Store(r.URL.Path, r.ContentLength)
	}))
	defer collector.Close()

	cfg := world.Config(w.Namespace)
	cfg.Tracing.Endpoint, cfg.Tracing.Insecure = collector.URL, true
	var reported, watched sync.Map
	env := w.Environment()
	env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return world.RoundTrip(func(r *http.Request) (*http.Response, error) {
			if parent := r.Header.Get("Traceparent"); parent != "" {
				reported.Store(r.Method+" "+filepath.Base(r.URL.Path), strings.Split(parent, "-")[1])
			} else if r.URL.Query().Get("watch") != "" {
				watched.Store(filepath.Base(r.URL.Path), true)
			}
			return next.RoundTrip(r)
		})
	})

	op, err := operator.NewOperator(t.Context(), cfg, env)
	if err != nil {
		t.Fatal(err)
	}

	stop := w.Run(op)
	w.Application("pi")
	w.WaitState("pi", v1beta2.ApplicationStateSubmitted)
	stop() // sends the rest

	pod, _ := reported.Load("POST pods")
	configMap, _ := reported.Load("POST configmaps")

	status, _ := reported.Load("PATCH status")
	if pod == nil || pod != configMap || pod != status {
		t.Errorf("the traces of one pass's requests are %v, %v and %v", pod, configMap, status)
	}

	if _, found := reported.Load("POST events"); found {
		t.Error("events belong to a trace, although they are written in the background")
	}

	if _, found := watched.Load("sparkapplications"); !found {
		t.Error("no watch was recorded, or a watch belongs to a trace")
	}

	if size, found := received.Load("/v1/traces"); !found || size.(int64) == 0 {
		t.Error("nothing was sent to the collector")
	}

	if dropped := w.Metric("sparkoperator_spans_dropped_total"); dropped != 0 {
		t.Errorf("%v spans were dropped", dropped)
	}
}
