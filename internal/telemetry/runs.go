package telemetry

import "time"

// These are the results of a schedule's run, as values of the label result.
const (
	RunStarted   = "started"   // started at its scheduled time
	RunAsked     = "asked"     // started on request
	RunSkipped   = "skipped"   // not started: another run was active, or its deadline had passed
	RunRefused   = "refused"   // the run's application could not be created
	RunReplaced  = "replaced"  // deleted while active, in favour of the next run
	RunSucceeded = "succeeded" // the run's application succeeded
	RunFailed    = "failed"    // the run's application ended without success
)

var runResults = []string{RunStarted, RunAsked, RunSkipped, RunRefused, RunReplaced, RunSucceeded, RunFailed}

// ExpectRuns creates the counters of a kind's runs with 0. Otherwise Prometheus' increase() would miss the first event.
func (m *Metrics) ExpectRuns(kind string) {
	for _, result := range runResults {
		m.runs.WithLabelValues(kind, result)
	}
}

// RunStarted counts a run that started and measures the delay from due to at. The time due is zero for a requested run.
func (m *Metrics) RunStarted(kind string, due, at time.Time) {
	if due.IsZero() {
		m.Run(kind, RunAsked)
		return
	}
	m.Run(kind, RunStarted)
	m.runDelaySeconds.WithLabelValues(kind).Observe(between(due, at))
}

// Run counts a run by its result: RunSkipped, RunRefused...
func (m *Metrics) Run(kind, result string) { m.runs.WithLabelValues(kind, result).Inc() }
