package scenario

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/bench/loads"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// probe has short whole lives pass through and notes how they fared: latencies, and CPU an application. Then it has as many lives come as a cluster of 200 nodes is
// offered, faster than they can be carried, and notes how many a second it carries, and in a case of their own how those fared. It returns the namespaces of both.
func (r *rig) probe(ctx context.Context, s *Sink, scenario, in string, n, pressing int) (used []string, err error) {
	spec := probing(n)
	b, seen, err := r.watched(ctx, s, spec, scenario, in)
	if err != nil {
		return nil, fmt.Errorf("the probe: %w", err)
	}
	if _, err := r.note(b, seen, spec, s, scenario, in); err != nil {
		return nil, err
	}
	used = spec.Namespaces()
	spec = press(pressing)
	if b, seen, err = r.watched(ctx, s, spec, scenario, in); err != nil {
		return nil, fmt.Errorf("as many as can be carried: %w", err)
	}
	sustained, err := r.note(b, seen, spec, s, scenario, pressed(in))
	s.Add(perSecond(scenario, in, sustained)...)
	limited(s, scenario, in, sustained, spec)
	return append(used, spec.Namespaces()...), err
}

// limited says so where a rate may be that of the load and not what the operator can do. It is no failure of a scenario that has more to measure.
func limited(s *Sink, scenario, in string, sustained float64, of load.Spec) {
	if err := sated(sustained, of.Rate()); err != nil {
		s.Say(scenario, "%s: %v.", in, err)
	}
}

// watched carries a load once the control plane is calm, and looks at the operator meanwhile.
func (r *rig) watched(ctx context.Context, s *Sink, spec load.Spec, scenario, in string) (bill, []world.Sample, error) {
	if err := calmIfEver(ctx, r.w, s, scenario, in); err != nil {
		return bill{}, nil, err
	}
	return r.sampled(ctx, spec)
}

// press is load like that of Lives, in namespaces of its own.
func press(n int) load.Spec {
	spec := lives(n)
	c := spec.Classes[0]
	c.Name, c.Namespace, c.Count, c.Namespaces = fresh("pressing"), fresh("pressing"), n, min(n, c.Namespaces)
	return load.Spec{Seed: spec.Seed, Classes: []load.Class{c}}
}

// pressed is the case of applications that come faster than they can be carried, beside what is there in a case.
func pressed(in string) string { return in + ", at full rate" }

// probeNamespace is where probes go.
const probeNamespace = "probe"

// probing is the load of a probe.
func probing(n int) load.Spec {
	spec := described(loads.Probe).Sized(n)
	c := &spec.Classes[0]
	c.Name, c.Namespace = fresh(c.Name), probeNamespace
	return spec
}

// fresh is a name that was not used in this run.
func fresh(name string) string { return fmt.Sprintf("%s-%d", name, time.Now().UnixMilli()%10_000_000) }

// single is one application that is alone in being looked at.
func single(name, namespace string) load.Application {
	spec := load.Spec{Classes: []load.Class{{Name: name, Namespace: namespace, Count: 1, Run: load.For(time.Second)}}}
	for a := range spec.Applications() {
		return a
	}
	return load.Application{}
}

// appLabel has the name of a driver pod's application.
const appLabel = "sparkoperator.k8s.io/app-name"

// awaitDriver returns a function that waits for an application's driver pod, and returns when it came. The watch is open before the application is there.
func awaitDriver(ctx context.Context, w *world.World, a load.Application) (func() (time.Time, error), error) {
	open := func() (watch.Interface, error) {
		return w.Metadata.Resource(world.Pods).Namespace(a.Namespace).Watch(ctx, metav1.ListOptions{LabelSelector: appLabel + "=" + a.Name})
	}
	events, err := open()
	if err != nil {
		return nil, err
	}
	return func() (came time.Time, err error) {
		err = following(ctx, events, open, func(e watch.Event) bool {
			came = time.Now()
			return e.Type == watch.Added
		})
		if err != nil {
			return came, fmt.Errorf("waiting for the driver pod of %s/%s: %w", a.Namespace, a.Name, err)
		}
		return came, nil
	}, nil
}

// launch creates one application and returns how long its driver pod took from when the creation was answered.
func (r *rig) launch(ctx context.Context, a load.Application) (time.Duration, error) {
	arrival, err := awaitDriver(ctx, r.w, a)
	if err != nil {
		return 0, err
	}
	if _, err := r.load.Resource(world.Applications).Namespace(a.Namespace).Create(ctx, a.Object, metav1.CreateOptions{}); err != nil {
		return 0, err
	}
	created := time.Now()
	at, err := arrival()
	return max(0, at.Sub(created)), err
}

// launches creates some applications of a namespace, one after the other, each once the driver pod of the one before is there.
func (r *rig) launches(ctx context.Context, namespace string, n int) (took []time.Duration, err error) {
	if err := r.w.Namespace(ctx, namespace); err != nil {
		return nil, err
	}
	name := fresh("single")
	for i := range n {
		d, err := r.launch(ctx, single(fmt.Sprintf("%s-%d", name, i), namespace))
		if err != nil {
			return nil, err
		}
		took = append(took, d)
	}
	return took, nil
}

// states counts the applications of some namespaces by their state: those that are of a load, or all where that is nil.
func states(ctx context.Context, w *world.World, namespaces []string, of map[string]bool) (map[string]int, error) {
	counts := map[string]int{}
	for _, name := range namespaces {
		page := metav1.ListOptions{Limit: 500}
		for {
			list, err := w.Dynamic.Resource(world.Applications).Namespace(name).List(ctx, page)
			if err != nil {
				return nil, err
			}
			for i := range list.Items {
				if app := &list.Items[i]; of == nil || of[nameOf(app)] {
					counts[stateOf(app)]++
				}
			}
			if page.Continue = list.GetContinue(); page.Continue == "" {
				break
			}
		}
	}
	return counts, nil
}

// stand creates applications that go on running, and returns once all of them run, with all executors, and the operator has said so.
func (r *rig) stand(ctx context.Context, spec load.Spec) error {
	for _, name := range spec.Namespaces() {
		if err := r.w.Namespace(ctx, name); err != nil {
			return err
		}
	}
	want := r.nodes.Counts().Running
	for _, c := range spec.Classes {
		want += int64(c.Count) * int64(1+c.Executors)
	}
	if _, err := load.Send(ctx, r.load, spec, senders); err != nil {
		return err
	}
	running := func() (bool, error) { return r.nodes.Counts().Running >= want, r.nodes.Err() }
	if err := world.Until(ctx, fmt.Sprintf("%d pods to run", want), running); err != nil {
		return err
	}
	of := named(spec)
	return world.Until(ctx, "the applications to be RUNNING", func() (bool, error) {
		if err := pause(ctx, time.Second); err != nil { // the list is long, and reading it takes what is measured
			return false, err
		}
		counts, err := states(ctx, r.w, spec.Namespaces(), of)
		return counts["RUNNING"] >= spec.Count(), err
	})
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// ease is how long an operator is left alone before its memory is looked at.
const ease = 5 * time.Second

// atRest returns what an operator keeps resident once it is at rest: after a collection of garbage, as when the next one is due is a matter of chance. With many
// applications it is never quite quiet, so that it is waited for a while only.
func atRest(ctx context.Context, op *world.Operator) (world.Usage, error) {
	if _, _, err := settleIfEver(ctx, time.Second, op); err != nil {
		return world.Usage{}, err
	}
	if _, err := op.Profile(ctx, "heap?gc=1", 0); err != nil {
		return world.Usage{}, err
	}
	if err := pause(ctx, ease); err != nil {
		return world.Usage{}, err
	}
	return op.Usage()
}

// quietLimit is how long an operator is given to become quiet.
const quietLimit = time.Minute

// settleIfEver waits until an operator has been quiet for so long, and returns since when it is; or false when it was not within quietLimit.
func settleIfEver(ctx context.Context, long time.Duration, op user) (since time.Time, quiet bool, err error) {
	short, cancel := context.WithTimeout(ctx, quietLimit)
	defer cancel()
	since, err = settleFor(short, long, op.Usage)
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		return since, false, nil
	}
	return since, err == nil, err
}

// clear deletes the applications of some namespaces and waits until nothing is left of them.
func (r *rig) clear(ctx context.Context, namespaces ...string) error {
	for _, name := range namespaces {
		err := r.load.Resource(world.Applications).Namespace(name).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		if err == nil {
			err = r.w.Empty(ctx, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// existing counts the applications that there are.
func existing(ctx context.Context, w *world.World) (int, error) {
	list, err := w.Metadata.Resource(world.Applications).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, err
	}
	n := len(list.Items)
	if more := list.GetRemainingItemCount(); more != nil {
		n += int(*more)
	}
	return n, nil
}

func seconds(scenario, in, name string, d time.Duration) figure.Figure {
	return figure.Figure{Scenario: scenario, Case: in, Name: name, Value: d.Seconds(), Unit: "s"}
}

func megabytes(scenario, in, name string, bytes int64) figure.Figure {
	return figure.Figure{Scenario: scenario, Case: in, Name: name, Value: float64(bytes) / 1e6, Unit: "MB"}
}
