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

// measureEvery is how often it is measured for how long what is worked on has been.
const measureEvery = 500 * time.Millisecond

// collectors are the metrics that controller-runtime has registered for its own queues, so that dashboards and alerts need not know whose a queue is. It keeps
// them to itself; the registry gives them out to whoever would register the same, by name, labels and help.
type collectors struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	latency, workDuration      *prometheus.HistogramVec
}

// registeredCollectors waits for the first queue: the library registers its own when the program is initialized.
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

// registered returns the collector that is registered as this one. One that cannot be, as after a change of the library's words, ends the program at its start,
// and every test.
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

// priority of a class in the metric workqueue_depth. That of Settled is what controller-runtime gives to what its first lists bring.
func (c Class) priority() string {
	return strconv.Itoa([classes]int{Settled: -100, Changed: 0, Fresh: 100, Leaving: 200}[c])
}

// meter measures a queue. A nil one measures nothing.
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

// came counts an item that waits for a worker from now on.
func (m *meter) came(class Class) {
	if m != nil {
		m.adds.Inc()
		m.depth[class].Inc()
	}
}

// moved counts an item that waits in another class from now on.
func (m *meter) moved(from, to Class) {
	if m != nil {
		m.depth[from].Dec()
		m.depth[to].Inc()
	}
}

// took counts an item that a worker has taken after it had waited.
func (m *meter) took(class Class, waited time.Duration) {
	if m != nil {
		m.depth[class].Dec()
		m.latency.Observe(waited.Seconds())
	}
}

func (m *meter) worked(took time.Duration) {
	if m != nil {
		m.workDuration.Observe(took.Seconds())
	}
}

func (m *meter) retried() {
	if m != nil {
		m.retries.Inc()
	}
}

// measureWork measures what is worked on until the queue is shut down.
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

// atWork tells for how long what is worked on has been, all together and the longest of it.
func (q *Queue[T]) atWork(now time.Time) (all, longest time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, is := range q.working {
		all += now.Sub(is.since)
		longest = max(longest, now.Sub(is.since))
	}
	return all, longest
}
