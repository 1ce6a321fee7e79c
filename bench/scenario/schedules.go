package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/bench/node"
	"github.com/sparkoperator/spark-operator/bench/world"
)

var scheduled = schema.GroupVersionResource{Group: "sparkoperator.k8s.io", Version: "v1beta2", Resource: "scheduledsparkapplications"}

const (
	scheduledLabel = "sparkoperator.k8s.io/scheduled-app-name"
	// room is for creating the schedules before they are due.
	room = 30 * time.Second
	// nothingMore is how long nothing must come any more before it is said that nothing was doubled.
	nothingMore = 3 * time.Second

	schedulesName = "schedules" // of the scenario, and of its namespace
)

// SchedulesStep measures schedules that are all due at one minute. Where kill is given, the operator is killed once so many runs are there, and another one
// goes on.
func SchedulesStep(n, kill int) Step {
	return Step{
		Name: schedulesName, About: figure.Count(n) + " schedules that are due at one minute", Scheduler: true, Limit: 20 * time.Minute,
		Do: func(ctx context.Context, w *world.World, s *Sink) error {
			return schedules{w: w, sink: s, n: n, kill: kill}.measure(ctx)
		},
	}
}

// arrivals are the runs that a watch saw, by the schedule that they are of.
type arrivals struct {
	mu    sync.Mutex
	late  []time.Duration // of each from its time
	runs  map[string]int
	last  time.Time
	asked int // how many are wanted
}

func (a *arrivals) add(schedule string, due, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.late, a.last = append(a.late, at.Sub(due)), at
	a.runs[schedule]++
}

func (a *arrivals) seen() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.late)
}

// all reports whether every schedule has a run, and nothing came any more for a while.
func (a *arrivals) all() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.runs) == a.asked && time.Since(a.last) > nothingMore
}

// faults counts schedules that have more than one run, and none.
func (a *arrivals) faults() (doubled, lost int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, n := range a.runs {
		if n > 1 {
			doubled++
		}
	}
	return doubled, a.asked - len(a.runs)
}

// figures are how late the runs were there, and how many are not as they should.
func (a *arrivals) figures() []figure.Figure {
	doubled, lost := a.faults()
	late := func(name string, share float64) figure.Figure {
		return figure.Figure{Scenario: schedulesName, Name: "due to run, " + name, Value: figure.Quantile(a.late, share).Seconds(), Unit: "s"}
	}
	return []figure.Figure{
		late("p50", 0.5), late("p99", 0.99), late("most", 1),
		{Scenario: schedulesName, Name: "runs lost", Value: float64(lost)}, {Scenario: schedulesName, Name: "runs doubled", Value: float64(doubled)},
	}
}

// schedules is one measurement of them.
type schedules struct {
	w       *world.World
	sink    *Sink
	n, kill int
}

// measure creates the schedules, while the operator carries their runs as in life, and notes how late each run's object was there: as a watch sees it, the way
// through the API server included.
func (m schedules) measure(ctx context.Context) (err error) {
	op, err := m.w.StartOperator(ctx, world.OperatorOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, op.Stop()) }()
	nodes, err := node.Start(ctx, m.w, node.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, nodes.Stop()) }()
	due := time.Now().Add(room).Truncate(time.Minute).Add(time.Minute)
	seen := &arrivals{runs: map[string]int{}, asked: m.n}
	if err := m.create(ctx, due); err != nil {
		return err
	}
	stopWatch, err := m.watchRuns(ctx, seen, due)
	if err != nil {
		return err
	}
	defer stopWatch()
	before, err := op.Usage()
	if err != nil {
		return err
	}
	if m.kill > 0 {
		if op, err = m.killed(ctx, op, seen); err != nil {
			return err
		}
	}
	if err := world.Until(ctx, "the runs", func() (bool, error) { return seen.all(), nil }); err != nil {
		return err
	}
	m.sink.Add(seen.figures()...)
	if err := m.completed(ctx); err != nil {
		return err
	}
	m.sink.Add(figure.Figure{Scenario: schedulesName, Name: "due to the end of all runs", Value: time.Since(due).Seconds(), Unit: "s"})
	after, err := op.Usage()
	if err != nil {
		return err
	}
	if m.kill == 0 {
		m.sink.Add(figure.Figure{Scenario: schedulesName, Name: figure.CPU, Value: (after.CPU - before.CPU).Seconds() * 1000 / float64(m.n), Unit: "ms"})
	}
	m.sink.Add(figure.Figure{Scenario: schedulesName, Name: figure.Peak, Value: float64(after.Peak) / 1e6, Unit: "MB"})
	return nil
}

// create makes the schedules before they are due.
func (m schedules) create(ctx context.Context, due time.Time) error {
	if err := m.w.Namespace(ctx, schedulesName); err != nil {
		return err
	}
	spec := load.Spec{Classes: []load.Class{{Name: schedulesName, Namespace: schedulesName, Count: 1, Run: load.For(200 * time.Millisecond)}}}
	var template map[string]any
	for a := range spec.Applications() {
		template, _, _ = unstructured.NestedMap(a.Object.Object, "spec")
	}
	err := world.ForEach(ctx, senders, m.n, func(ctx context.Context, i int) error {
		_, err := m.w.Dynamic.Resource(scheduled).Namespace(schedulesName).Create(ctx, scheduleAt(fmt.Sprintf("schedule-%d", i), due, template), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	if left := time.Until(due); left < 5*time.Second {
		return fmt.Errorf("the schedules were created %s before they are due; that is too late to measure anything", left)
	}
	return nil
}

// killed ends the operator as a crash would, once enough runs are there, and starts another one.
func (m schedules) killed(ctx context.Context, op *world.Operator, seen *arrivals) (*world.Operator, error) {
	if err := world.Until(ctx, "runs to be started", func() (bool, error) { return seen.seen() >= m.kill, nil }); err != nil {
		return op, err
	}
	if err := op.Kill(); err != nil {
		return op, err
	}
	m.sink.Say(schedulesName, "The operator was killed with %d runs there; another went on.", seen.seen())
	next, err := m.w.StartOperator(ctx, world.OperatorOptions{Name: "operator-2"})
	return cmp.Or(next, op), err
}

// watchRuns notes each run that comes.
func (m schedules) watchRuns(ctx context.Context, to *arrivals, due time.Time) (stop func(), err error) {
	events, err := m.w.Metadata.Resource(world.Applications).Namespace(schedulesName).Watch(ctx, metav1.ListOptions{LabelSelector: scheduledLabel})
	if err != nil {
		return nil, err
	}
	var all sync.WaitGroup
	all.Go(func() {
		for e := range events.ResultChan() {
			if run, ok := e.Object.(*metav1.PartialObjectMetadata); ok && e.Type == watch.Added {
				to.add(run.Labels[scheduledLabel], due, time.Now())
			}
		}
	})
	return func() { events.Stop(); all.Wait() }, nil
}

// completed waits until the runs have ended well.
func (m schedules) completed(ctx context.Context) error {
	return world.Until(ctx, "the runs to end", func() (bool, error) {
		if err := pause(ctx, 5*time.Second); err != nil { // the list is long, and reading it takes what is measured
			return false, err
		}
		counts, err := states(ctx, m.w, []string{schedulesName}, nil) // nothing else is in that namespace
		delete(counts, "COMPLETED")
		return len(counts) == 0, err
	})
}

// scheduleAt is a schedule that is due once, at a minute of today.
func scheduleAt(name string, due time.Time, template map[string]any) *unstructured.Unstructured {
	due = due.UTC()
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": scheduled.GroupVersion().String(), "kind": "ScheduledSparkApplication",
		"metadata": map[string]any{"name": name, "namespace": schedulesName},
		"spec": map[string]any{
			"schedule": fmt.Sprintf("%d %d %d %d *", due.Minute(), due.Hour(), due.Day(), due.Month()), "timeZone": "Etc/UTC", "template": template,
		},
	}}
}
