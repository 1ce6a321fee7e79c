package telemetry

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// Metrics counts the lives of applications. The names without our prefix are those that dashboards for sparkoperator.k8s.io read.
//
// Counters move on stored transitions only, so that a restart of the operator counts nothing twice; the gauge is computed from what
// each application is now, so that it is right again after the first look at every application.
type Metrics struct {
	seen, submitted, refused, succeeded, failed prometheus.Counter
	submitSummary, startSummary                 prometheus.Summary
	submitHistogram, startHistogram             prometheus.Histogram
	transitions                                 *prometheus.CounterVec
	statusWrites                                *prometheus.CounterVec
	eventsDropped                               prometheus.Counter

	mu      sync.Mutex
	running map[subject]struct{}
}

// subject is one custom resource. The key alone would mix kinds of one name.
type subject struct {
	kind string
	key  types.NamespacedName
}

// Results of a status write, as the metric's label.
const (
	WriteStored   = "stored"
	WriteConflict = "conflict"
	WriteFailed   = "failed"
)

// NewMetrics registers the metrics with reg. It panics when they are registered already, as prometheus does.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		reg.MustRegister(c)
		return c
	}
	vector := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		reg.MustRegister(c)
		return c
	}
	summary := func(name, help string) prometheus.Summary {
		s := prometheus.NewSummary(prometheus.SummaryOpts{Name: name, Help: help})
		reg.MustRegister(s)
		return s
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
		reg.MustRegister(h)
		return h
	}
	m := &Metrics{
		seen:          counter("spark_application_count", "Applications seen for the first time."),
		submitted:     counter("spark_application_submit_count", "Submissions whose objects were all created."),
		refused:       counter("spark_application_failed_submission_count", "Submissions that could not be made."),
		succeeded:     counter("spark_application_success_count", "Applications that ended well, for good."),
		failed:        counter("spark_application_failure_count", "Applications that failed, for good."),
		submitSummary: summary("spark_application_submit_latency_seconds", "From creation to the first submission."),
		startSummary:  summary("spark_application_start_latency_seconds", "From creation to the first running driver."),
		submitHistogram: histogram("spark_application_submit_latency_seconds_histogram", "From creation to the first submission.",
			prometheus.ExponentialBuckets(0.0625, 2, 13)),
		startHistogram: histogram("spark_application_start_latency_seconds_histogram", "From creation to the first running driver.",
			prometheus.ExponentialBuckets(1, 2, 11)),
		transitions: vector("sparkoperator_transitions_total", "Phases entered, after the status that tells them was stored.",
			"kind", "phase", "outcome"),
		statusWrites:  vector("sparkoperator_status_writes_total", "Status patches sent, by what became of them.", "kind", "result"),
		eventsDropped: counter("sparkoperator_events_dropped_total", "Kubernetes Events that could not be written."),
		running:       map[subject]struct{}{},
	}
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "spark_application_running_count", Help: "Applications whose driver runs now.",
	}, m.countRunning))
	return m
}

// Stored counts the transitions of a plan whose status was stored. created is the custom resource's creation time.
func (m *Metrics) Stored(kind string, created time.Time, plan lifecycle.Plan) {
	for i, t := range plan.Trail {
		m.transitions.WithLabelValues(kind, string(t.To), string(t.Outcome)).Inc()
		if t.From == lifecycle.New {
			m.seen.Inc()
		}
		switch {
		case t.To == lifecycle.Launched:
			m.launched(t, created)
		case t.To == lifecycle.Started, t.To.Live() && t.From == lifecycle.Launched:
			m.started(t, created)
		case t.Outcome == lifecycle.Refused && !refusedBefore(plan.Trail[:i], t.Attempt):
			m.refused.Inc()
		}
		if t.To.Terminal() && !t.From.Terminal() {
			if t.Outcome == lifecycle.Succeeded {
				m.succeeded.Inc()
			} else {
				m.failed.Inc()
			}
		}
	}
}

func (m *Metrics) launched(t lifecycle.Transition, created time.Time) {
	m.submitted.Inc()
	if t.Attempt == 1 {
		seconds := t.At.Sub(created).Seconds()
		m.submitSummary.Observe(seconds)
		m.submitHistogram.Observe(seconds)
	}
}

func (m *Metrics) started(t lifecycle.Transition, created time.Time) {
	if t.Attempt == 1 && t.To != lifecycle.Unknown {
		seconds := t.At.Sub(created).Seconds()
		m.startSummary.Observe(seconds)
		m.startHistogram.Observe(seconds)
	}
}

// refusedBefore keeps one refusal that passes through several phases in a pass (ended, then waiting) from being counted twice.
func refusedBefore(trail []lifecycle.Transition, attempt int32) bool {
	for _, t := range trail {
		if t.Outcome == lifecycle.Refused && t.Attempt == attempt {
			return true
		}
	}
	return false
}

// Is says in which phase a custom resource is now.
func (m *Metrics) Is(kind string, key types.NamespacedName, phase lifecycle.Phase) {
	running := false
	switch phase {
	case lifecycle.Started, lifecycle.Ready, lifecycle.Scaling, lifecycle.Running:
		running = true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if running {
		m.running[subject{kind, key}] = struct{}{}
	} else {
		delete(m.running, subject{kind, key})
	}
}

// Gone forgets a custom resource that does not exist any more.
func (m *Metrics) Gone(kind string, key types.NamespacedName) { m.Is(kind, key, lifecycle.Done) }

// StatusWrite counts one status patch by its result: WriteStored, WriteConflict or WriteFailed.
func (m *Metrics) StatusWrite(kind, result string) {
	m.statusWrites.WithLabelValues(kind, result).Inc()
}

// EventDropped counts an Event that was not written.
func (m *Metrics) EventDropped() { m.eventsDropped.Inc() }

func (m *Metrics) countRunning() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return float64(len(m.running))
}
