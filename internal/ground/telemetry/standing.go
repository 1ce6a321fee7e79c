package telemetry

import (
	"cmp"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// subjectKey identifies a custom resource. The kind is part of it, because custom resources of different kinds can have
// the same namespace and name.
type subjectKey struct {
	kind string
	key  types.NamespacedName
}

func keyOf(subject lifecycle.Subject) subjectKey {
	return subjectKey{subject.Kind, types.NamespacedName{Namespace: subject.Namespace, Name: subject.Name}}
}

// entry is the state of one custom resource for the gauges.
type entry struct {
	lifecycle.Standing
	labels, executorLabels []string // values; nil if noApplication
	noApplication          bool
	// The largest counts of ended executors in this attempt. A count in a status may decrease, but a counter must not.
	completed, failed int32
}

// standings holds the state of every custom resource. The gauges are summed up at each scrape, so that they cannot
// drift.
type standings struct {
	sets *labelSets
	now  func() time.Time

	running, executors, applications, waiting, longest *prometheus.Desc

	mu                 sync.Mutex
	all                map[subjectKey]entry
	namespaces, states slots
}

// stateKey and waitKey are the label values of one series of a gauge.
type (
	stateKey struct{ kind, namespace, state, phase string }
	waitKey  struct{ kind, phase, reason string }
)

// wait sums up the custom resources that wait for the same reason.
type wait struct {
	count int
	since time.Time // the start of the longest of these waits
}

// counted holds how many executors have ended since the counters were last increased.
type counted struct {
	labels            []string
	completed, failed int32
}

// has reports whether a standing of the custom resource was recorded.
func (s *standings) has(subject lifecycle.Subject) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	_, known := s.all[keyOf(subject)]
	return known
}

func (s *standings) record(subject lifecycle.Subject, now lifecycle.Standing) counted {
	key := keyOf(subject)
	if now.Since.IsZero() {
		now.Since = subject.Created
	}

	if subject.NoApplication {
		s.mu.Lock()
		defer s.mu.Unlock()

		s.all[key] = entry{Standing: now, noApplication: true}
		return counted{}
	}

	labels := s.sets.valuesOf(subject.Namespace, subject.Labels)

	executorLabels := labels
	if len(subject.ExecutorLabels) > 0 && len(s.sets.names) > 0 {
		executorLabels = s.sets.valuesOf(subject.Namespace, merged(subject.Labels, subject.ExecutorLabels))
	}

	next := entry{Standing: now, labels: labels, executorLabels: executorLabels, completed: now.ExecutorsCompleted, failed: now.ExecutorsFailed}
	ended := counted{labels: executorLabels}

	s.mu.Lock()
	defer s.mu.Unlock()

	last, known := s.all[key]
	switch {
	case !known: // the previous process counted the executors that the status contains at the start
	case last.Attempt == now.Attempt:
		next.completed, next.failed = max(next.completed, last.completed), max(next.failed, last.failed)
		ended.completed, ended.failed = next.completed-last.completed, next.failed-last.failed
	default:
		ended.completed, ended.failed = next.completed, next.failed
	}

	s.all[key] = next
	return ended
}

func merged(a, b map[string]string) map[string]string {
	both := make(map[string]string, len(a)+len(b))
	maps.Copy(both, a)
	maps.Copy(both, b)
	return both
}

func (s *standings) recordWait(kind string, key types.NamespacedName, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if e, known := s.all[subjectKey{kind, key}]; known {
		e.Waits = reason
		s.all[subjectKey{kind, key}] = e
	}
}

func (s *standings) remove(kind string, key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()

	delete(s.all, subjectKey{kind, key})
}

// Describe implements prometheus.Collector.
func (s *standings) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{s.running, s.executors, s.applications, s.waiting, s.longest} {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (s *standings) Collect(to chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}

	sum := s.sum()
	for _, set := range sum.sets {
		gauge(s.running, float64(set.running), set.labels...)
		gauge(s.executors, float64(set.executors), set.labels...)
	}

	for key, n := range sum.states {
		gauge(s.applications, float64(n), key.kind, key.namespace, key.state, key.phase)
	}

	now := s.now()
	for key, waits := range sum.waits {
		gauge(s.waiting, float64(waits.count), key.kind, key.phase, key.reason)
		gauge(s.longest, max(now.Sub(waits.since).Seconds(), 0), key.kind, key.phase, key.reason)
	}
}

type sums struct {
	sets   map[string]*setSum // by setKey
	states map[stateKey]int
	waits  map[waitKey]wait
}

type setSum struct {
	labels             []string
	running, executors int
}

func (t sums) set(labels []string) *setSum {
	key := setKey(labels)
	if t.sets[key] == nil {
		t.sets[key] = &setSum{labels: labels}
	}
	return t.sets[key]
}

func (s *standings) sum() sums {
	t := sums{sets: map[string]*setSum{}, states: map[stateKey]int{}, waits: map[waitKey]wait{}}
	for _, labels := range s.sets.all() {
		t.set(labels) // a combination keeps its series, with 0, because dashboards for these names expect that
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	used := map[string]bool{}
	for subject := range s.all {
		used[clean(subject.key.Namespace)] = true
	}

	s.namespaces.keep(func(namespace string) bool { return used[namespace] })

	for id, e := range s.all {
		if !e.noApplication {
			if runs(e.Phase) {
				t.set(e.labels).running++
			}

			t.set(e.executorLabels).executors += int(e.ExecutorsRunning)
		}

		phase := phaseValue(e.Phase)

		t.states[stateKey{id.kind, s.namespaces.take(id.key.Namespace), s.states.take(cmp.Or(e.State, "NEW")), phase}]++
		if e.Waits == "" {
			continue
		}

		key := waitKey{id.kind, phase, reasonValue(e.Waits)}

		w := t.waits[key]
		if w.count++; w.count == 1 || e.Since.Before(w.since) {
			w.since = e.Since
		}

		t.waits[key] = w
	}
	return t
}

// runs reports whether a driver runs in a phase. It does not count the phase Unknown, because Kubernetes cannot
// confirm that the driver still runs.
func runs(phase lifecycle.Phase) bool {
	switch phase {
	case lifecycle.Started, lifecycle.Ready, lifecycle.Scaling:
		return true
	}
	return phase.Runs()
}
