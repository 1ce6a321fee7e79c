package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Metrics holds the operator's metrics, which count the phases and results of applications. docs/metrics.md lists all
// of them. The metrics whose names do not begin with sparkoperator_ are the same as in the kubeflow operator, so that
// existing dashboards work.
//
// Counters increase only when a transition was stored, so that a restart of the operator counts nothing twice. Gauges
// are computed from the current state, so they are right again after the first pass over every application.
// maxNamespaces and maxLabelSets bound the values of labels that tenants choose.
type Metrics struct {
	sets      *labelSets
	standings *standings
	usage     *usageCounters

	seen, submitted, refused, succeeded, failed            *prometheus.CounterVec
	submitSummary, startSummary, succeededTime, failedTime *prometheus.SummaryVec
	submitHistogram, startHistogram                        *prometheus.HistogramVec
	executorsSucceeded, executorsFailed                    *prometheus.CounterVec

	transitions, retries, statusWrites, runs, runRecords *prometheus.CounterVec
	Unwatched                                            *prometheus.GaugeVec // set by package access
	eventsDropped, spansDropped                          prometheus.Counter
	phaseSeconds, submissionSeconds, runDelaySeconds     *prometheus.HistogramVec
	lagSeconds, requestSeconds                           *prometheus.HistogramVec

	logsNotKept, logBytes *prometheus.CounterVec
	logSeconds            *prometheus.HistogramVec
	logStreams            prometheus.Gauge
	logStreamSeconds      prometheus.Histogram
	logStreamFailures     prometheus.Counter
}

// MetricsOptions configures Metrics. The zero value has no prefix, no labels and the default buckets.
type MetricsOptions struct {
	// Prefix is put before the metrics of sparkoperator.k8s.io, not before sparkoperator_*. Hyphens become underscores.
	Prefix string
	// Labels are the labels of the metrics that have the prefix: label keys of applications, and "namespace".
	Labels []string
	// SubmitBuckets and StartBuckets are the ascending upper bounds, in seconds, of the two latency histograms. If
	// empty, defaultSubmitBuckets and defaultStartBuckets apply.
	SubmitBuckets, StartBuckets []float64
	// OwnerLabel is the key of the label of custom resources by which usage is counted; empty for none.
	OwnerLabel string
}

// defaultSubmitBuckets returns the buckets for the seconds from creation to the first submission: 62.5 ms to 256 s.
func defaultSubmitBuckets() []float64 { return prometheus.ExponentialBuckets(0.0625, 2, 13) }

// defaultStartBuckets returns the buckets for the seconds from creation to the first running driver: 1 s to 1024 s.
func defaultStartBuckets() []float64 { return prometheus.ExponentialBuckets(1, 2, 11) }

// These are the parts of a submission's time, as values of the label part.
const (
	partOperator = "operator"
	partAPI      = "api"
)

// phaseBuckets are the buckets for the seconds in a phase, from transient phases to an application that runs for a day.
var phaseBuckets = []float64{0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600}

// NewMetrics registers the metrics with reg and returns them. It panics if reg already has any of them.
func NewMetrics(reg prometheus.Registerer, options MetricsOptions) *Metrics {
	m := &Metrics{sets: newLabelSets(options.Labels)}
	m.registerPeers(reg, options)
	m.registerOurs(reg)
	m.usage = newUsageCounters(reg, options.OwnerLabel)
	return m
}

// registerPeers registers the metrics that the kubeflow operator has too, with the configured labels. It also registers
// all gauges about custom resources.
func (m *Metrics) registerPeers(reg prometheus.Registerer, options MetricsOptions) {
	labels, prefix := m.sets.names, labelName(options.Prefix)
	counter := func(name, help string) *prometheus.CounterVec {
		return register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels))
	}
	summary := func(name, help string) *prometheus.SummaryVec {
		return register(reg, prometheus.NewSummaryVec(prometheus.SummaryOpts{Name: prefix + name, Help: help}, labels))
	}
	histogram := func(name, help string, buckets, otherwise []float64) *prometheus.HistogramVec {
		if len(buckets) == 0 {
			buckets = otherwise
		}
		return register(reg, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: buckets}, labels))
	}
	const submit, start = "Time from creation to the first submission.", "Time from creation to the first running driver."
	m.seen = counter("spark_application_count", "Applications seen for the first time.")
	m.submitted = counter("spark_application_submit_count", "Submissions whose objects were all created.")
	m.refused = counter("spark_application_failed_submission_count", "Submissions that failed.")
	m.succeeded = counter("spark_application_success_count", "Applications that succeeded and reached their final state.")
	m.failed = counter("spark_application_failure_count", "Applications that failed and reached their final state.")
	m.succeededTime = summary("spark_application_success_execution_time_seconds", "Time from the last submission to the end of successful applications.")
	m.failedTime = summary("spark_application_failure_execution_time_seconds", "Time from the last submission to the end of failed applications.")
	m.submitSummary = summary("spark_application_submit_latency_seconds", submit)
	m.startSummary = summary("spark_application_start_latency_seconds", start)
	m.submitHistogram = histogram("spark_application_submit_latency_seconds_histogram", submit, options.SubmitBuckets, defaultSubmitBuckets())
	m.startHistogram = histogram("spark_application_start_latency_seconds_histogram", start, options.StartBuckets, defaultStartBuckets())
	m.executorsSucceeded = counter("spark_executor_success_count", "Executors that succeeded, or were no longer needed.")

	m.executorsFailed = counter("spark_executor_failure_count", "Executors that failed.")
	if len(labels) == 0 { // the only series exists from the start
		for _, vec := range []*prometheus.CounterVec{m.seen, m.submitted, m.refused, m.succeeded, m.failed, m.executorsSucceeded, m.executorsFailed} {
			vec.WithLabelValues()
		}
	}

	gauge := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	m.standings = register(reg, &standings{
		sets: m.sets, now: time.Now, all: map[subjectKey]entry{}, namespaces: newSlots(maxNamespaces), states: newSlots(maxStates),
		running:   gauge(prefix+"spark_application_running_count", "Applications whose driver runs now.", labels...),
		executors: gauge(prefix+"spark_executor_running_count", "Executors that run now.", labels...),
		applications: gauge("sparkoperator_applications", "Custom resources that exist now, by phase and state.",
			"kind", "app_namespace", "state", "phase"),
		waiting: gauge("sparkoperator_applications_waiting", "Custom resources that wait now, by wait reason.", "kind", "phase", "reason"),
		longest: gauge("sparkoperator_applications_waiting_longest_seconds", "Time that the longest-waiting custom resource has been in its phase.",
			"kind", "phase", "reason"),
	})
}

// registerOurs registers the metrics that only this operator has.
func (m *Metrics) registerOurs(reg prometheus.Registerer) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
	}
	single := func(name, help string) prometheus.Counter {
		return register(reg, prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help}))
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return register(reg, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels))
	}
	m.transitions = counter("sparkoperator_transitions_total", "Phases entered, counted when the status is stored.",
		"kind", "phase", "outcome")
	m.retries = counter("sparkoperator_retries_total", "Decisions to make another attempt, by how the last one ended.", "kind", "outcome")
	m.statusWrites = counter("sparkoperator_status_writes_total", "Status patches sent, by result.", "kind", "result")
	m.runs = counter("sparkoperator_runs_total", "Runs of schedules, by result, counted when the status is stored.", "kind", "result")
	m.runRecords = counter("sparkoperator_run_records_total", "Records of finished runs, by result.", "result")
	m.runDelaySeconds = histogram("sparkoperator_run_delay_seconds", "Time from when a run was due to the creation of its application.",
		prometheus.ExponentialBuckets(0.125, 2, 15), "kind")
	m.Unwatched = register(reg, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "sparkoperator_namespace_unwatched_kinds",
		Help: "Kinds that the operator cannot watch in a namespace."}, []string{"app_namespace"}))
	m.eventsDropped = single("sparkoperator_events_dropped_total", "Kubernetes Events that could not be written.")
	m.spansDropped = single("sparkoperator_spans_dropped_total", "Spans of traces that could not be exported.")
	m.phaseSeconds = histogram("sparkoperator_phase_duration_seconds", "Duration of phases that have ended.", phaseBuckets, "kind", "phase")
	m.submissionSeconds = histogram("sparkoperator_submission_duration_seconds",
		"Time from the beginning of the pass that submits to the last created object, in the operator and in the API server.",
		prometheus.ExponentialBuckets(0.001, 2, 14), "kind", "part")
	m.lagSeconds = histogram("sparkoperator_status_lag_seconds", "Time from a change of a driver's container to the stored status that shows it.",
		prometheus.ExponentialBuckets(0.25, 2, 12), "kind", "phase")
	m.logsNotKept = counter("sparkoperator_logs_not_kept_total", "Logs of pods that could not be kept, by reason.", "reason")
	m.logBytes = counter("sparkoperator_logs_kept_bytes_total", "Compressed bytes of the logs that were kept.", "role")
	m.logSeconds = histogram("sparkoperator_log_keep_duration_seconds", "Time from when a log was wanted until it was kept.",
		prometheus.ExponentialBuckets(0.01, 3, 10), "role")
	m.logStreams = register(reg, prometheus.NewGauge(prometheus.GaugeOpts{Name: "sparkoperator_log_streams", Help: "Running drivers whose logs are uploaded in intervals."}))
	m.logStreamSeconds = register(reg, prometheus.NewHistogram(prometheus.HistogramOpts{Name: "sparkoperator_log_stream_interval_seconds",
		Help: "Time between two uploads of a running driver's log: how much of it a lost node would lose.", Buckets: []float64{6, 11, 16, 21, 31, 61, 121, 301, 601, 3601}}))
	m.logStreamFailures = single("sparkoperator_log_stream_failures_total", "Uploads of running drivers' logs that failed and are tried again.")
	m.requestSeconds = histogram("sparkoperator_api_request_duration_seconds", "Duration of requests to the API server until the answer begins, without watches.",
		prometheus.ExponentialBuckets(0.002, 2, 13), "verb", "resource")
}

// ExpectLogs creates the counters of logs and of run records that could not be kept, with the value 0. Without them,
// Prometheus' increase() would miss the first one of each reason.
func (m *Metrics) ExpectLogs(reasons []string) {
	for _, reason := range reasons {
		m.logsNotKept.WithLabelValues(reason)
	}

	m.runRecords.WithLabelValues(recordFailed)
}

// LogKept counts a log that was kept. The role is that of the pod, driver or executor.
func (m *Metrics) LogKept(role string, bytes int64, seconds float64) {
	m.logBytes.WithLabelValues(role).Add(float64(bytes))
	m.logSeconds.WithLabelValues(role).Observe(seconds)
}

// LogNotKept counts a log that could not be kept.
func (m *Metrics) LogNotKept(reason string) { m.logsNotKept.WithLabelValues(reason).Inc() }

// LogStreams sets the number of logs that are uploaded in intervals.
func (m *Metrics) LogStreams(n int) { m.logStreams.Set(float64(n)) }

// LogStreamed observes the time between two uploads of a log.
func (m *Metrics) LogStreamed(seconds float64) { m.logStreamSeconds.Observe(seconds) }

// LogStreamFailed counts an upload of a log that failed.
func (m *Metrics) LogStreamFailed() { m.logStreamFailures.Inc() }

func register[C prometheus.Collector](reg prometheus.Registerer, c C) C {
	reg.MustRegister(c)
	return c
}

// Stored counts the transitions of a plan after the status of the plan was stored. The argument before is the state of
// the custom resource (its Standing) before these transitions.
func (m *Metrics) Stored(subject lifecycle.Subject, before lifecycle.Standing, plan lifecycle.Plan) {
	since := before.Since
	for _, t := range plan.Transitions {
		m.transitions.WithLabelValues(subject.Kind, phaseValue(t.To), string(t.Outcome)).Inc()
		// A requested restart, whose outcome is undecided, is no retry.
		if t.To == lifecycle.Waiting && t.From == lifecycle.Ended && t.Outcome != lifecycle.Undecided {
			m.retries.WithLabelValues(subject.Kind, string(t.Outcome)).Inc()
		}

		if t.From == lifecycle.New {
			since = subject.Created
		}

		if !since.IsZero() {
			m.phaseSeconds.WithLabelValues(subject.Kind, phaseValue(t.From)).Observe(between(since, t.At))
		}

		since = t.At
	}

	if len(plan.Transitions) == 0 || subject.NoApplication {
		return
	}

	labels := m.sets.valuesOf(subject.Namespace, subject.Labels)
	for _, t := range plan.Transitions {
		m.entered(subject, t, labels)

		if t.To.Terminal() && !t.From.Terminal() {
			m.ended(t, plan.Next, labels)
		}
	}
}

// entered counts a transition of an application. If a driver's node is lost and returns, the transitions to the phase
// Unknown and back do not count as another launch or start.
func (m *Metrics) entered(subject lifecycle.Subject, t lifecycle.Transition, labels []string) {
	if t.From == lifecycle.New {
		m.seen.WithLabelValues(labels...).Inc()
	}

	switch {
	case t.To == lifecycle.Launched && t.From != lifecycle.Unknown:
		m.launched(t, subject.Created, labels)
	case t.From == lifecycle.Launched && t.To.Live() && t.To != lifecycle.Unknown:
		m.started(t, subject.Created, labels)
	case t.Outcome == lifecycle.Refused && (t.To == lifecycle.Ended || t.From == lifecycle.New):
		m.refused.WithLabelValues(labels...).Inc()
	}
}

func (m *Metrics) launched(t lifecycle.Transition, created time.Time, labels []string) {
	m.submitted.WithLabelValues(labels...).Inc()

	if t.Attempt == 1 {
		m.submitSummary.WithLabelValues(labels...).Observe(between(created, t.At))
		m.submitHistogram.WithLabelValues(labels...).Observe(between(created, t.At))
	}
}

func (m *Metrics) started(t lifecycle.Transition, created time.Time, labels []string) {
	if t.Attempt == 1 {
		m.startSummary.WithLabelValues(labels...).Observe(between(created, t.At))
		m.startHistogram.WithLabelValues(labels...).Observe(between(created, t.At))
	}
}

func (m *Metrics) ended(t lifecycle.Transition, next lifecycle.Memory, labels []string) {
	count, lasted := m.failed, m.failedTime
	if t.Outcome == lifecycle.Succeeded {
		count, lasted = m.succeeded, m.succeededTime
	}

	count.WithLabelValues(labels...).Inc()

	if !next.SubmittedAt.IsZero() && !next.EndedAt.IsZero() {
		lasted.WithLabelValues(labels...).Observe(between(next.SubmittedAt, next.EndedAt))
	}
}

// between returns the seconds between two times. It is never negative, although the clocks of several machines differ.
func between(from, to time.Time) float64 { return max(to.Sub(from).Seconds(), 0) }

// RecordFirst records the Standing of a custom resource (its state for the gauges), unless this process has already
// recorded a Standing of the custom resource.
func (m *Metrics) RecordFirst(subject lifecycle.Subject, now lifecycle.Standing) {
	if !m.standings.has(subject) {
		m.standings.record(subject, now)
	}
}

// Record records the Standing of a custom resource (its state for the gauges). It also counts the executors that have
// ended since the last record.
func (m *Metrics) Record(subject lifecycle.Subject, now lifecycle.Standing) {
	ended := m.standings.record(subject, now)
	if subject.NoApplication {
		return
	}

	m.executorsSucceeded.WithLabelValues(ended.labels...).Add(float64(ended.completed))
	m.executorsFailed.WithLabelValues(ended.labels...).Add(float64(ended.failed))
}

// RecordWait records a wait reason that the operator does not write to the status, because the cluster or the operator
// causes the wait. The reason is a CamelCase word and applies until the next Record.
func (m *Metrics) RecordWait(kind string, key types.NamespacedName, reason string) {
	m.standings.recordWait(kind, key, reason)
}

// Remove drops a custom resource that no longer exists from the gauges.
func (m *Metrics) Remove(kind string, key types.NamespacedName) { m.standings.remove(kind, key) }

// Submitted counts the duration of a launch whose status was stored, from the beginning of the pass to the last created
// object. The argument api is the part of total that the operator spent waiting for the API server.
func (m *Metrics) Submitted(kind string, total, api time.Duration) {
	m.submissionSeconds.WithLabelValues(kind, partOperator).Observe(max(total-api, 0).Seconds())
	m.submissionSeconds.WithLabelValues(kind, partAPI).Observe(api.Seconds())
}

// Lag counts the time from a change of a driver's container to the stored status that shows the change.
func (m *Metrics) Lag(kind string, phase lifecycle.Phase, happened, stored time.Time) {
	m.lagSeconds.WithLabelValues(kind, phaseValue(phase)).Observe(between(happened, stored))
}

// StatusWrite counts a status patch by its result, which the request's error shows: stored, conflict or failed.
func (m *Metrics) StatusWrite(kind string, err error) {
	result := "failed"
	switch {
	case err == nil:
		result = "stored"
	case apierrors.IsConflict(err):
		result = "conflict"
	}

	m.statusWrites.WithLabelValues(kind, result).Inc()
}

// EventDropped counts an Event that was not written.
func (m *Metrics) EventDropped() { m.eventsDropped.Inc() }

// SpansDropped counts spans that were not exported.
func (m *Metrics) SpansDropped(n int) { m.spansDropped.Add(float64(n)) }
