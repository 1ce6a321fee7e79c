package telemetry

import (
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle/schedule"
)

var runResults = []string{
	schedule.ResultStarted, schedule.ResultAsked, schedule.ResultSkipped, schedule.ResultRefused, schedule.ResultReplaced,
	schedule.ResultSucceeded, schedule.ResultFailed,
}

// ExpectRuns creates the counters of one kind's runs, with the value 0. Without them, Prometheus' increase() would miss
// the first run of each result.
func (m *Metrics) ExpectRuns(kind string) {
	for _, result := range runResults {
		m.runs.WithLabelValues(kind, result)
	}
}

// RunStarted counts a run that started, and measures the delay from its due time to its start. If due is the zero time,
// the run was requested and has no delay.
func (m *Metrics) RunStarted(kind string, due, start time.Time) {
	if due.IsZero() {
		m.Run(kind, schedule.ResultAsked)
		return
	}

	m.Run(kind, schedule.ResultStarted)
	m.runDelaySeconds.WithLabelValues(kind).Observe(between(due, start))
}

// Run counts a run of a kind under its result, which is one of the Result constants of package schedule.
func (m *Metrics) Run(kind, result string) { m.runs.WithLabelValues(kind, result).Inc() }
