package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

var scheduled = schema.GroupVersionResource{Group: "sparkoperator.k8s.io", Version: "v1beta2", Resource: "scheduledsparkapplications"}

const (
	scheduledLabel = "sparkoperator.k8s.io/scheduled-app-name"
	// room is for creating the schedules before they are due.
	room = 30 * time.Second
	// settled is how long nothing must come any more before it is said that nothing was doubled.
	settled = 3 * time.Second
)

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

// doubled and lost count schedules that have more than one run, and none.
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

// quantile is the lateness that a share of the runs do not pass.
func quantile(late []time.Duration, share float64) time.Duration {
	if len(late) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(late))
	return sorted[min(int(float64(len(sorted))*share), len(sorted)-1)]
}

// schedulesAtOnce creates schedules that are all due at one minute, while the operator carries their runs as in life, and prints how late each run's object
// was there: as a watch sees it, the way through the API server included. Where o.kill is given, the operator is killed once so many runs are there, and another
// one goes on.
func (w *world) schedulesAtOnce(ctx context.Context, out io.Writer) (err error) {
	op, err := w.startOperator(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, op.stop()) }()
	whole := ctx // of the operators, which are stopped when the rest is over
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopDrivers, err := w.playDrivers(ctx, cancel)
	if err != nil {
		return err
	}
	defer stopDrivers()
	due := time.Now().Add(room).Truncate(time.Minute).Add(time.Minute)
	seen := &arrivals{runs: map[string]int{}, asked: w.o.schedules}
	stopWatch, err := w.watchRuns(ctx, seen, due)
	if err != nil {
		return err
	}
	defer stopWatch()
	err = forEach(ctx, w.o.clients, w.o.schedules, func(ctx context.Context, i int) error {
		_, err := w.dyn.Resource(scheduled).Namespace(namespace).Create(ctx, scheduleAt(fmt.Sprintf("schedule-%d", i), due), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	if left := time.Until(due); left < 5*time.Second {
		return fmt.Errorf("the schedules were created %s before they are due; that is too late to measure anything", left)
	}
	before, err := op.read()
	if err != nil {
		return err
	}
	if w.o.kill > 0 {
		if err := until(ctx, "runs to be started", func() (bool, error) { return seen.seen() >= w.o.kill, nil }); err != nil {
			return err
		}
		_ = op.cmd.Process.Kill()
		_ = op.stop()
		fmt.Fprintf(out, "killed with %d runs; another goes on\n", seen.seen())
		if op, err = w.startOperator(whole); err != nil {
			return err
		}
	}
	if err := until(ctx, "the runs", func() (bool, error) {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		return len(seen.runs) == w.o.schedules && time.Since(seen.last) > settled, nil
	}); err != nil {
		return err
	}
	seen.report(out, w.o)
	if err := w.allCompleted(ctx); err != nil {
		return err
	}
	took := time.Since(due)
	after, err := op.read()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%-34s %8.2fs\n", "all runs at their end after", took.Seconds())
	if w.o.kill == 0 {
		fmt.Fprintf(out, "%-34s %6.2f ms\n", "operator's CPU a run", (after.cpu-before.cpu).Seconds()*1000/float64(w.o.schedules))
	}
	fmt.Fprintf(out, "%-34s %6.1f MB\n", "operator resident, peak", float64(after.peak)/1e6)
	return nil
}

// report prints how late the runs were there, and how many are not as they should.
func (a *arrivals) report(out io.Writer, o options) {
	doubled, lost := a.faults()
	fmt.Fprintf(out, "\n%d schedules due at once, drivers that run %s\n", o.schedules, o.runtime)
	fmt.Fprintf(out, "%-34s %8.2fs %8.2fs %8.2fs\n", "a run exists after: p50, p99, max", quantile(a.late, 0.5).Seconds(), quantile(a.late, 0.99).Seconds(), quantile(a.late, 1).Seconds())
	fmt.Fprintf(out, "%-34s %8d %8d\n", "runs lost, doubled", lost, doubled)
}

// watchRuns notes each run that comes.
func (w *world) watchRuns(ctx context.Context, to *arrivals, due time.Time) (stop func(), err error) {
	events, err := w.meta.Resource(applications).Namespace(namespace).Watch(ctx, metav1.ListOptions{LabelSelector: scheduledLabel})
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

// allCompleted waits until the runs have ended well.
func (w *world) allCompleted(ctx context.Context) error {
	return until(ctx, "the runs to end", func() (bool, error) {
		time.Sleep(5 * time.Second) // the list is long, and reading it takes what is measured
		list, err := w.dyn.Resource(applications).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: scheduledLabel})
		if err != nil {
			return false, err
		}
		for i := range list.Items {
			if state, _, _ := unstructured.NestedString(list.Items[i].Object, "status", "applicationState", "state"); state != "COMPLETED" {
				return false, nil
			}
		}
		return true, nil
	})
}

// scheduleAt is a schedule of the driver-only application that is due once, at a minute of today.
func scheduleAt(name string, due time.Time) *unstructured.Unstructured {
	due = due.UTC()
	template, _, _ := unstructured.NestedMap(application(name).Object, "spec")
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "ScheduledSparkApplication",
		"metadata": map[string]any{"name": name, "namespace": namespace},
		"spec": map[string]any{
			"schedule": fmt.Sprintf("%d %d %d %d *", due.Minute(), due.Hour(), due.Day(), due.Month()), "timeZone": "Etc/UTC", "template": template,
		},
	}}
}
