package telemetry

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// counts gathers every unlabelled value that is not 0; of summaries and histograms the number of observations.
func counts(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() +
				float64(m.GetHistogram().GetSampleCount()) + float64(m.GetSummary().GetSampleCount())
			if value != 0 && len(m.GetLabel()) == 0 {
				got[family.GetName()] = value
			}
		}
	}
	return got
}

func TestStoredCounts(t *testing.T) {
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	step := func(from, to lifecycle.Phase, attempt int32, outcome lifecycle.Outcome) lifecycle.Transition {
		return lifecycle.Transition{From: from, To: to, Attempt: attempt, Outcome: outcome, At: created.Add(time.Second)}
	}
	for _, test := range []struct {
		name  string
		trail []lifecycle.Transition
		want  map[string]float64
	}{
		{"nothing", nil, map[string]float64{}},
		{"first launch", []lifecycle.Transition{step("", lifecycle.Launched, 1, "")}, map[string]float64{
			"spark_application_count": 1, "spark_application_submit_count": 1,
			"spark_application_submit_latency_seconds": 1, "spark_application_submit_latency_seconds_histogram": 1,
		}},
		{"a second launch has no latency", []lifecycle.Transition{step(lifecycle.Waiting, lifecycle.Launched, 2, "")},
			map[string]float64{"spark_application_submit_count": 1}},
		{"the driver runs", []lifecycle.Transition{step(lifecycle.Launched, lifecycle.Started, 1, "")}, map[string]float64{
			"spark_application_start_latency_seconds": 1, "spark_application_start_latency_seconds_histogram": 1,
		}},
		{"the driver runs and is ready in one pass", []lifecycle.Transition{
			step(lifecycle.Launched, lifecycle.Started, 1, ""), step(lifecycle.Started, lifecycle.Running, 1, ""),
		}, map[string]float64{"spark_application_start_latency_seconds": 1, "spark_application_start_latency_seconds_histogram": 1}},
		{"a lost node is no start", []lifecycle.Transition{step(lifecycle.Launched, lifecycle.Unknown, 1, "")}, map[string]float64{}},
		{"refused, to be tried again", []lifecycle.Transition{
			step("", lifecycle.Ended, 1, lifecycle.Refused), step(lifecycle.Ended, lifecycle.Waiting, 1, lifecycle.Refused),
		}, map[string]float64{"spark_application_count": 1, "spark_application_failed_submission_count": 1}},
		{"refused for good", []lifecycle.Transition{
			step("", lifecycle.Ended, 1, lifecycle.Refused), step(lifecycle.Ended, lifecycle.Done, 1, lifecycle.Refused),
		}, map[string]float64{"spark_application_count": 1, "spark_application_failed_submission_count": 1, "spark_application_failure_count": 1}},
		{"ended well", []lifecycle.Transition{
			step(lifecycle.Running, lifecycle.Ended, 1, lifecycle.Succeeded), step(lifecycle.Ended, lifecycle.Retained, 1, lifecycle.Succeeded),
		}, map[string]float64{"spark_application_success_count": 1}},
		{"failed", []lifecycle.Transition{step(lifecycle.Ended, lifecycle.Retained, 1, lifecycle.Failed)},
			map[string]float64{"spark_application_failure_count": 1}},
		{"released after its end", []lifecycle.Transition{step(lifecycle.Retained, lifecycle.Done, 1, lifecycle.Failed)}, map[string]float64{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			reg := prometheus.NewRegistry()
			NewMetrics(reg).Stored("sparkapplication", created, lifecycle.Plan{Trail: test.trail})
			if diff := cmp.Diff(test.want, counts(t, reg)); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunningGaugeIsByLevel(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg)
	a, b := types.NamespacedName{Namespace: "x", Name: "a"}, types.NamespacedName{Namespace: "x", Name: "b"}
	for _, step := range []struct {
		do   func()
		want float64
	}{
		{func() { m.Is("k", a, lifecycle.Started) }, 1},
		{func() { m.Is("k", a, lifecycle.Running) }, 1}, // told twice, counted once
		{func() { m.Is("other", a, lifecycle.Running) }, 2},
		{func() { m.Is("k", b, lifecycle.Launched) }, 2},
		{func() { m.Is("k", b, lifecycle.Ready) }, 3},
		{func() { m.Is("k", a, lifecycle.Retained) }, 2},
		{func() { m.Gone("k", b) }, 1},
		{func() { m.Gone("other", a) }, 0},
	} {
		step.do()
		if got := counts(t, reg)["spark_application_running_count"]; got != step.want {
			t.Errorf("running is %v, want %v", got, step.want)
		}
	}
}
