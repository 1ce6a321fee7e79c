package queue

import (
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// measureEvery is the interval at which the age of the items in work is measured.
const measureEvery = 500 * time.Millisecond

// collectors are the metrics that controller-runtime registered for its own queues. This package's queue uses them too,
// so that the same dashboards and alerts apply to it. controller-runtime does not export its collectors, but the
// registry returns them to a caller that registers a collector with the same name, labels and help.
type collectors struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	latency, workDuration      *prometheus.HistogramVec
}

// registeredCollectors returns the collectors. It searches the registry when the first queue is created: the library
// has registered its collectors by then, during the initialization of the program.
var registeredCollectors = sync.OnceValue(func() collectors {
	labels := []string{"name", "controller"}
	return collectors{
		depth: registered(prometheus.NewGaugeVec(gauge(metrics.DepthKey, "Current depth of workqueue by workqueue and priority"), append(slices.Clone(labels), "priority"))),
		adds:  registered(prometheus.NewCounterVec(counter(metrics.AddsKey, "Total number of adds handled by workqueue"), labels)),
		latency: registered(prometheus.NewHistogramVec(histogram(metrics.QueueLatencyKey,
			"How long in seconds an item stays in workqueue before being requested"), labels)),
		workDuration: registered(prometheus.NewHistogramVec(histogram(metrics.WorkDurationKey,
			"How long in seconds processing an item from workqueue takes."), labels)),
		unfinished: registered(prometheus.NewGaugeVec(gauge(metrics.UnfinishedWorkKey, "How many seconds of work has been done that is in progress and hasn't been "+
			"observed by work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this "+
			"increases."), labels)),
		longest: registered(prometheus.NewGaugeVec(gauge(metrics.LongestRunningProcessorKey,
			"How many seconds has the longest running processor for workqueue been running."), labels)),
		retries: registered(prometheus.NewCounterVec(counter(metrics.RetriesKey, "Total number of items added to the workqueue with a non-zero delay "+
			"(rate-limited requeues, explicit RequeueAfter or AddAfter calls)"), labels)),
	}
})

func gauge(name, help string) prometheus.GaugeOpts {
	return prometheus.GaugeOpts{Subsystem: metrics.WorkQueueSubsystem, Name: name, Help: help}
}

func counter(name, help string) prometheus.CounterOpts {
	return prometheus.CounterOpts{Subsystem: metrics.WorkQueueSubsystem, Name: name, Help: help}
}

func histogram(name, help string) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{Subsystem: metrics.WorkQueueSubsystem, Name: name, Help: help}
}

// registered returns the collector in the registry that has the same name, labels and help as the given collector. It
// panics if the registry has a collector of this name that differs in the labels or the help, for example after an
// update of the library. Such a panic occurs at the start of the program and in every test, so it cannot stay
// unnoticed.
func registered[C prometheus.Collector](like C) C {
	err := metrics.Registry.Register(like)
	if there, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		return there.ExistingCollector.(C)
	}

	if err != nil {
		panic(err)
	}
	return like
}

// priority returns the value of the label priority in the metric workqueue_depth. For Settled items this is -100, the
// priority with which controller-runtime queues the objects that exist when it starts.
func (c Class) priority() string {
	return strconv.Itoa([classes]int{Settled: -100, Changed: 0, Fresh: 100, Leaving: 200}[c])
}

// meter measures a queue. A nil meter measures nothing.
type meter struct {
	depth                 [classes]prometheus.Gauge
	adds, retries         prometheus.Counter
	latency, workDuration prometheus.Observer
	unfinished, longest   prometheus.Gauge
}

func newMeter(name string) *meter {
	if name == "" {
		return nil
	}

	c := registeredCollectors()

	m := &meter{
		adds: c.adds.WithLabelValues(name, name), retries: c.retries.WithLabelValues(name, name),
		latency: c.latency.WithLabelValues(name, name), workDuration: c.workDuration.WithLabelValues(name, name),
		unfinished: c.unfinished.WithLabelValues(name, name), longest: c.longest.WithLabelValues(name, name),
	}
	for class := range m.depth {
		m.depth[class] = c.depth.WithLabelValues(name, name, Class(class).priority())
	}
	return m
}

// countArrival counts an item that starts to wait for a worker.
func (m *meter) countArrival(class Class) {
	if m != nil {
		m.adds.Inc()
		m.depth[class].Inc()
	}
}

// countMove counts an item that changes its class while it waits.
func (m *meter) countMove(from, to Class) {
	if m != nil {
		m.depth[from].Dec()
		m.depth[to].Inc()
	}
}

// countTaken counts an item that a worker took, and the time that the item had waited.
func (m *meter) countTaken(class Class, waited time.Duration) {
	if m != nil {
		m.depth[class].Dec()
		m.latency.Observe(waited.Seconds())
	}
}

func (m *meter) countWork(took time.Duration) {
	if m != nil {
		m.workDuration.Observe(took.Seconds())
	}
}

func (m *meter) countRetry() {
	if m != nil {
		m.retries.Inc()
	}
}

// measureWork measures periodically how long the items in work have been in work, until the queue is shut down.
func (q *Queue[T]) measureWork() {
	every := time.NewTicker(measureEvery)
	defer every.Stop()

	for {
		select {
		case <-q.end:
			return
		case now := <-every.C:
			all, longest := q.atWork(now)
			q.meter.unfinished.Set(all.Seconds())
			q.meter.longest.Set(longest.Seconds())
		}
	}
}

// atWork returns how long the items in work have been in work: the sum and the maximum.
func (q *Queue[T]) atWork(now time.Time) (all, longest time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()

	for _, job := range q.working {
		all += now.Sub(job.since)
		longest = max(longest, now.Sub(job.since))
	}
	return all, longest
}
