package telemetry

import "time"

// What becomes of a schedule's run, as the metric's label.
const (
	RunStarted   = "started"   // by its time
	RunAsked     = "asked"     // started since somebody asked for it
	RunSkipped   = "skipped"   // not started: another goes on, or its deadline had passed
	RunRefused   = "refused"   // its application could not be created
	RunReplaced  = "replaced"  // deleted while it went on, for the next
	RunSucceeded = "succeeded" // it ended well
	RunFailed    = "failed"    // it ended otherwise
)

var runResults = []string{RunStarted, RunAsked, RunSkipped, RunRefused, RunReplaced, RunSucceeded, RunFailed}

// ExpectRuns makes the counters of a kind that has runs begin at 0: the increase of one that begins with its first event is lost to whoever watches it.
func (m *Metrics) ExpectRuns(kind string) {
	for _, result := range runResults {
		m.runs.WithLabelValues(kind, result)
	}
}

// RunStarted counts a run of a schedule that exists since a time, and how late that was; due is zero for one that somebody asked for.
func (m *Metrics) RunStarted(kind string, due, at time.Time) {
	if due.IsZero() {
		m.Run(kind, RunAsked)
		return
	}
	m.Run(kind, RunStarted)
	m.runDelaySeconds.WithLabelValues(kind).Observe(between(due, at))
}

// Run counts what became of a run of a schedule: RunSkipped, RunRefused...
func (m *Metrics) Run(kind, result string) { m.runs.WithLabelValues(kind, result).Inc() }
