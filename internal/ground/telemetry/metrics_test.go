package telemetry

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// counts returns every unlabelled value that is not 0, by the name of the metric. For summaries and histograms, the
// value is the number of observations.
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
		return lifecycle.Transition{From: from, To: to, Attempt: attempt, Outcome: outcome,
			At: created.Add(time.Second)}
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
		{"the driver runs", []lifecycle.Transition{step(lifecycle.Launched, lifecycle.Started, 1, "")},
			map[string]float64{
				"spark_application_start_latency_seconds": 1, "spark_application_start_latency_seconds_histogram": 1,
			}},
		{"the driver runs and is ready in one pass", []lifecycle.Transition{
			step(lifecycle.Launched, lifecycle.Started, 1, ""), step(lifecycle.Started, lifecycle.Running, 1, ""),
		}, map[string]float64{"spark_application_start_latency_seconds": 1,
			"spark_application_start_latency_seconds_histogram": 1}},
		{"a driver whose node works again has not started",
			[]lifecycle.Transition{step(lifecycle.Unknown, lifecycle.Started, 1, "")}, map[string]float64{}},
		{"a driver whose node works again was not launched",
			[]lifecycle.Transition{step(lifecycle.Unknown, lifecycle.Launched, 1, "")}, map[string]float64{}},
		{"a driver whose node is lost has not started",
			[]lifecycle.Transition{step(lifecycle.Launched, lifecycle.Unknown, 1, "")}, map[string]float64{}},
		{"rejected, and a retry follows", []lifecycle.Transition{
			step("", lifecycle.Ended, 1, lifecycle.Refused),
			step(lifecycle.Ended, lifecycle.Waiting, 1, lifecycle.Refused),
		}, map[string]float64{"spark_application_count": 1, "spark_application_failed_submission_count": 1}},
		{"a rejection that was already counted",
			[]lifecycle.Transition{step(lifecycle.Ended, lifecycle.Waiting, 1, lifecycle.Refused)},
			map[string]float64{}},
		{"rejected, and no retry follows", []lifecycle.Transition{
			step("", lifecycle.Ended, 1, lifecycle.Refused),
			step(lifecycle.Ended, lifecycle.Done, 1, lifecycle.Refused),
		}, map[string]float64{"spark_application_count": 1, "spark_application_failed_submission_count": 1,
			"spark_application_failure_count": 1}},
		{"succeeded", []lifecycle.Transition{
			step(lifecycle.Running, lifecycle.Ended, 1, lifecycle.Succeeded),
			step(lifecycle.Ended, lifecycle.Retained, 1, lifecycle.Succeeded),
		}, map[string]float64{"spark_application_success_count": 1}},
		{"failed", []lifecycle.Transition{step(lifecycle.Ended, lifecycle.Retained, 1, lifecycle.Failed)},
			map[string]float64{"spark_application_failure_count": 1}},
		{"released after its end", []lifecycle.Transition{step(lifecycle.Retained, lifecycle.Done, 1,
			lifecycle.Failed)}, map[string]float64{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			reg := prometheus.NewRegistry()
			NewMetrics(reg, MetricsOptions{}).Stored(lifecycle.Subject{Kind: "sparkapplication", Created: created},
				lifecycle.Standing{}, lifecycle.Plan{Transitions: test.trail})

			if diff := cmp.Diff(test.want, counts(t, reg)); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

// samples returns the values of every series whose name has the prefix, by name{label=value,...}. For summaries and
// histograms, the value is the number of observations.
func samples(t *testing.T, reg *prometheus.Registry, prefix string) map[string]float64 {
	t.Helper()

	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}

	got := map[string]float64{}
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), prefix) {
			continue
		}

		for _, m := range family.GetMetric() {
			var labels []string
			for _, label := range m.GetLabel() {
				labels = append(labels, label.GetName()+"="+label.GetValue())
			}

			got[family.GetName()+"{"+strings.Join(labels, ",")+"}"] = m.GetCounter().GetValue() +
				m.GetGauge().GetValue() +
				float64(m.GetHistogram().GetSampleCount()) + float64(m.GetSummary().GetSampleCount())
		}
	}
	return got
}

func wantSamples(t *testing.T, reg *prometheus.Registry, prefix string, want map[string]float64) {
	t.Helper()

	if diff := cmp.Diff(want, samples(t, reg, prefix)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", prefix, diff)
	}
}

// TestConfiguredLabels checks that the metrics that dashboards read have the configured labels, with the same values as
// in the kubeflow operator.
func TestConfiguredLabels(t *testing.T) {
	reg := prometheus.NewRegistry()

	m := NewMetrics(reg, MetricsOptions{Prefix: "team-a_", Labels: []string{"app-type", "namespace", "none"}})
	for _, labels := range []map[string]string{
		{"app_type": "etl", "app-type": "not this"}, // the exact name wins
		{"app-type": "etl", "app.type": "not this"}, // then the first in order
		{"namespace": "mine"},
		nil,
	} {
		m.Stored(lifecycle.Subject{Kind: "k", Namespace: "jobs", Name: "a", Labels: labels},
			lifecycle.Standing{}, lifecycle.Plan{
				Transitions: []lifecycle.Transition{{To: lifecycle.Launched, Attempt: 2}},
			})
	}

	wantSamples(t, reg, "team_a_spark_application_submit_count", map[string]float64{
		"team_a_spark_application_submit_count{app_type=etl,namespace=jobs,none=Unknown}":     2,
		"team_a_spark_application_submit_count{app_type=Unknown,namespace=mine,none=Unknown}": 1,
		"team_a_spark_application_submit_count{app_type=Unknown,namespace=jobs,none=Unknown}": 1,
	})
	wantSamples(t, reg, "sparkoperator_transitions_total", map[string]float64{ // the operator's own metrics have no prefix
		"sparkoperator_transitions_total{kind=k,outcome=,phase=Launched}": 4,
	})
}

// TestEnds checks the counters and durations of an application that has ended.
func TestEnds(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg, MetricsOptions{})
	subject := lifecycle.Subject{Kind: "k", Created: at}
	m.Stored(subject, lifecycle.Standing{Phase: lifecycle.Running, Since: at.Add(10 * time.Second)}, lifecycle.Plan{
		Transitions: []lifecycle.Transition{
			{From: lifecycle.Running, To: lifecycle.Ended, Attempt: 1, Outcome: lifecycle.Succeeded,
				At: at.Add(100 * time.Second)},
			{From: lifecycle.Ended, To: lifecycle.Retained, Attempt: 1, Outcome: lifecycle.Succeeded,
				At: at.Add(101 * time.Second)},
		},
		Next: lifecycle.Memory{SubmittedAt: at.Add(time.Second), EndedAt: at.Add(100 * time.Second)},
	})
	// The status contains neither the start of the phase nor the time of the end.
	m.Stored(subject, lifecycle.Standing{}, lifecycle.Plan{Transitions: []lifecycle.Transition{
		{From: lifecycle.Running, To: lifecycle.Ended, Attempt: 1, Outcome: lifecycle.Failed, At: at},
		{From: lifecycle.Ended, To: lifecycle.Waiting, Attempt: 1, Outcome: lifecycle.Failed, At: at},
		// The time comes from another machine's clock.
		{From: lifecycle.Waiting, To: lifecycle.Done, Attempt: 1, Outcome: lifecycle.Failed, At: at.Add(-time.Hour)},
	}})
	// A requested restart is no retry.
	m.Stored(lifecycle.Subject{Kind: "restarted", Created: at}, lifecycle.Standing{},
		lifecycle.Plan{Transitions: []lifecycle.Transition{
			{From: lifecycle.Ended, To: lifecycle.Waiting, Attempt: 1, Outcome: lifecycle.Undecided, At: at},
		}})
	wantSamples(t, reg, "sparkoperator_retries_total",
		map[string]float64{"sparkoperator_retries_total{kind=k,outcome=Failed}": 1})
	wantSamples(t, reg, "sparkoperator_phase_duration_seconds", map[string]float64{
		"sparkoperator_phase_duration_seconds{kind=k,phase=Running}": 1,
		"sparkoperator_phase_duration_seconds{kind=k,phase=Ended}":   2,
		"sparkoperator_phase_duration_seconds{kind=k,phase=Waiting}": 1,
	})
	wantSamples(t, reg, "spark_application_success_execution_time_seconds",
		map[string]float64{"spark_application_success_execution_time_seconds{}": 1})
	wantSamples(t, reg, "spark_application_failure_count", map[string]float64{"spark_application_failure_count{}": 1})

	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}

	for _, family := range families {
		for _, metric := range family.GetMetric() {
			sum := metric.GetSummary().GetSampleSum() + metric.GetHistogram().GetSampleSum()

			want := map[string]float64{"spark_application_success_execution_time_seconds": 99}[family.GetName()]
			if family.GetName() == "sparkoperator_phase_duration_seconds" {
				want = map[string]float64{"Running": 90, "Ended": 1, "Waiting": 0}[metric.GetLabel()[1].GetValue()]
			}

			if sum != want {
				t.Errorf("%s%v sums up to %v, want %v", family.GetName(), metric.GetLabel(), sum, want)
			}
		}
	}
}

// TestTimes checks that a submission's time is split into its parts and that no time is negative.
func TestTimes(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg, MetricsOptions{})
	now := time.Now()

	m.Submitted("k", 30*time.Millisecond, 20*time.Millisecond)
	m.Submitted("k", time.Millisecond, 2*time.Millisecond)
	m.Lag("k", lifecycle.Started, now.Add(-time.Second), now)
	m.Lag("k", lifecycle.Ended, now.Add(time.Hour), now)

	sums := map[string]float64{}

	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}

	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if h := metric.GetHistogram(); h.GetSampleCount() > 0 {
				sums[family.GetName()+" "+metric.GetLabel()[1].GetValue()] = math.Round(h.GetSampleSum() * 1000)
			}
		}
	}

	want := map[string]float64{
		"sparkoperator_submission_duration_seconds operator": 10, "sparkoperator_submission_duration_seconds api": 22,
		"sparkoperator_status_lag_seconds Started": 1000, "sparkoperator_status_lag_seconds Ended": 0,
	}
	if diff := cmp.Diff(want, sums); diff != "" {
		t.Errorf("milliseconds (-want +got):\n%s", diff)
	}
}

// TestBuckets checks that the histograms have the configured buckets.
func TestBuckets(t *testing.T) {
	for _, test := range []struct {
		options       MetricsOptions
		submit, start int
	}{{MetricsOptions{}, 13, 11},
		{MetricsOptions{SubmitBuckets: []float64{1, 2}, StartBuckets: []float64{30, 60, 90}}, 2, 3}} {
		reg := prometheus.NewRegistry()
		m := NewMetrics(reg, test.options)
		m.submitHistogram.WithLabelValues().Observe(1)
		m.startHistogram.WithLabelValues().Observe(1)

		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}

		got := map[string]int{}
		for _, family := range families {
			if family.GetType() == dto.MetricType_HISTOGRAM {
				got[family.GetName()] = len(family.GetMetric()[0].GetHistogram().GetBucket())
			}
		}

		want := map[string]int{"spark_application_submit_latency_seconds_histogram": test.submit,
			"spark_application_start_latency_seconds_histogram": test.start, "sparkoperator_log_stream_interval_seconds": 10}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("buckets (-want +got):\n%s", diff)
		}
	}
}

// TestUsageIsBounded checks the counters of usage: a label of the custom resource is the owner, tenants cannot pretend
// to be another namespace, and many owners share one series.
func TestUsageIsBounded(t *testing.T) {
	t.Parallel()

	registry := prometheus.NewPedanticRegistry()
	m := NewMetrics(registry, MetricsOptions{OwnerLabel: "team"})
	more := statusv1.UsageSums{CPUMillicoreSeconds: 1500, MemoryMiBSeconds: 2048, GPUSeconds: 2, CostNanos: 5e8}

	m.Used(lifecycle.Subject{Namespace: "a", Labels: map[string]string{"team": "data", "namespace": "b", "app_namespace": "b"}}, more)
	m.Used(lifecycle.Subject{Namespace: "a", Labels: map[string]string{"team": "data"}}, more)
	m.Used(lifecycle.Subject{Namespace: "a"}, more)
	m.Used(lifecycle.Subject{Namespace: "b"}, statusv1.UsageSums{})

	for i := range 2 * maxLabelSets {
		m.Used(lifecycle.Subject{Namespace: "c", Labels: map[string]string{"team": fmt.Sprint(i, "\xff")}}, more)
	}

	if got := testutil.ToFloat64(m.usage.cores.WithLabelValues("a", "data")); got != 3 {
		t.Errorf("%v core-seconds of team data, want 3", got)
	}

	if got := testutil.ToFloat64(m.usage.all.WithLabelValues("a", "Unknown")); got != 0.5 {
		t.Errorf("a cost of %v without a team, want 0.5", got)
	}

	if got := testutil.CollectAndCount(m.usage.memory); got != maxLabelSets+1 {
		t.Errorf("%d series, want %d", got, maxLabelSets+1)
	}
}
