package telemetry

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/sparkoperator/spark-operator/internal/lifecycle/schedule"
)

// TestFirstFailureIsAnIncrease checks that the counters of logs and records that were not kept exist before the first
// failure. The alerts use increase(), which counts nothing for a series that begins with 1.
func TestFirstFailureIsAnIncrease(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg, MetricsOptions{})
	m.ExpectLogs([]string{"PodGone", "StoreFailed"})

	want := `
		# HELP sparkoperator_logs_not_kept_total Logs of pods that could not be kept, by reason.
		# TYPE sparkoperator_logs_not_kept_total counter
		sparkoperator_logs_not_kept_total{reason="PodGone"} 0
		sparkoperator_logs_not_kept_total{reason="StoreFailed"} 0
		# HELP sparkoperator_run_records_total Records of finished runs, by result.
		# TYPE sparkoperator_run_records_total counter
		sparkoperator_run_records_total{result="failed"} 0
	`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "sparkoperator_logs_not_kept_total", "sparkoperator_run_records_total"); err != nil {
		t.Error(err)
	}
}

// TestRuns checks that a run is counted as scheduled or requested, and that only scheduled runs have a delay. The delay
// is not negative even if the clock that set the due time is ahead.
func TestRuns(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg, MetricsOptions{})
	due := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

	m.ExpectRuns("schedule")
	m.RunStarted("schedule", due, due.Add(3*time.Second))
	m.RunStarted("schedule", due, due.Add(-time.Second))
	m.RunStarted("schedule", time.Time{}, due)
	m.Run("schedule", schedule.ResultSkipped)

	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}

	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			switch family.GetName() {
			case "sparkoperator_runs_total":
				got[metric.GetLabel()[1].GetValue()] = metric.GetCounter().GetValue()
			case "sparkoperator_run_delay_seconds":
				got["delays"], got["delay"] = float64(metric.GetHistogram().GetSampleCount()),
					metric.GetHistogram().GetSampleSum()
			}
		}
	}

	want := map[string]float64{schedule.ResultStarted: 2, schedule.ResultAsked: 1, schedule.ResultSkipped: 1,
		schedule.ResultRefused: 0, schedule.ResultReplaced: 0, schedule.ResultSucceeded: 0, schedule.ResultFailed: 0,
		"delays": 2, "delay": 3}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
