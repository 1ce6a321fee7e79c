package telemetry

import (
	"time"

	"github.com/sparkoperator/spark-operator/lifecycle/schedule"
)

var runResults = []string{
	schedule.ResultStarted, schedule.ResultAsked, schedule.ResultSkipped, schedule.ResultRefused, schedule.ResultReplaced,
	schedule.ResultSucceeded, schedule.ResultFailed,
}

// ExpectRuns creates the counters of a kind's runs with 0. Otherwise Prometheus' increase() would miss the first event.
func (m *Metrics) ExpectRuns(kind string) {
	for _, result := range runResults {
		m.runs.WithLabelValues(kind, result)
	}
}

// RunStarted counts a run that started and measures the delay from due to at. The time due is zero for a requested run.
func (m *Metrics) RunStarted(kind string, due, at time.Time) {
	if due.IsZero() {
		m.Run(kind, schedule.ResultAsked)
		return
	}
	m.Run(kind, schedule.ResultStarted)
	m.runDelaySeconds.WithLabelValues(kind).Observe(between(due, at))
}

// Run counts a run by its result: schedule.ResultSkipped...
func (m *Metrics) Run(kind, result string) { m.runs.WithLabelValues(kind, result).Inc() }
