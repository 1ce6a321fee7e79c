package telemetry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// samplesOf returns those samples of the named metric that have the given value of one label, such as the name of an
// application. The keys of the result are the samples' values of a second label, which the argument key names.
func samplesOf(w *world.World, name, key, label, value string) map[string]*dto.Metric {
	w.T.Helper()

	families, err := w.Registry.Gather()
	if err != nil {
		w.T.Fatal(err)
	}

	found := map[string]*dto.Metric{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}

			if family.GetName() == name && labels[label] == value {
				found[labels[key]] = m
			}
		}
	}
	return found
}

// TestApacheMetrics checks the metrics of one application: a count of its transitions, the duration of each completed
// phase, and the durations of requests to the API server. No metric has a namespace in its name; the namespace is a
// label.
func TestApacheMetrics(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.RunApache(w, world.Config(w.Namespace), time.Now)
	app := resources.CreateApache(w, "pi")
	driver := resources.ReadyDriver(w, app, 1)
	resources.WaitApache(w, "pi", sparkv1.ApplicationRunningHealthy)
	w.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	resources.WaitApache(w, "pi", sparkv1.ApplicationResourceReleased)
	w.WaitMetric("sparkoperator_transitions_total", 6)

	entered := map[string]float64{}
	for phase, m := range samplesOf(w, "sparkoperator_transitions_total", "phase", "kind",
		configured.ApacheApplicationName) {
		entered[phase] = m.GetCounter().GetValue()
	}

	if diff := cmp.Diff(map[string]float64{"Launched": 1, "Started": 1, "Ready": 1, "Running": 1, "Ended": 1,
		"Done": 1}, entered); diff != "" {
		t.Errorf("phases entered (-want +got):\n%s", diff)
	}

	left := samplesOf(w, "sparkoperator_phase_duration_seconds", "phase", "kind", configured.ApacheApplicationName)
	for _, phase := range []string{"Launched", "Started", "Ready", "Running", "Ended"} {
		if n := left[phase].GetHistogram().GetSampleCount(); n != 1 {
			t.Errorf("%d durations of %s are reported", n, phase)
		}
	}

	made := samplesOf(w, "sparkoperator_api_request_duration_seconds", "verb", "resource",
		"pods")["create"].GetHistogram()
	if made.GetSampleCount() != 1 || made.GetSampleSum() <= 0 {
		t.Errorf("%d pods were created in %v s", made.GetSampleCount(), made.GetSampleSum())
	}

	families, err := w.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}

	for _, family := range families {
		if strings.Contains(family.GetName(), strings.ReplaceAll(w.Namespace, "-", "_")) {
			t.Errorf("the name of the metric %s contains the namespace", family.GetName())
		}
	}
}
