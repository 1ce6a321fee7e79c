package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/sparkoperator/spark-operator/bench/audit"
	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/bench/node"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// senders is how many applications are created at a time: more than the API server answers at a time would wait there.
const senders = 32

// rig is an operator at work, with nodes that play and a client that sends load.
type rig struct {
	w     *world.World
	op    *world.Operator
	nodes *node.Cluster
	load  dynamic.Interface
}

// raise starts an operator and nodes, and has them carry a few applications, so that no figure has the first connections and caches in it.
// settings are more YAML of its configuration file.
func raise(ctx context.Context, w *world.World, settings string) (r *rig, err error) {
	r = &rig{w: w}
	if _, r.load, err = w.Client(audit.LoadAgent); err != nil {
		return nil, err
	}
	if r.op, err = w.StartOperator(ctx, world.OperatorOptions{Settings: settings}); err != nil {
		return nil, errors.Join(err, r.close())
	}
	if r.nodes, err = node.Start(ctx, w, node.Options{}); err != nil {
		return nil, errors.Join(err, r.close())
	}
	if err := r.warm(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("warm-up: %w", err), r.close())
	}
	return r, nil
}

// warm has the operator carry a few applications.
func (r *rig) warm(ctx context.Context) error {
	return r.through(ctx, load.Spec{Classes: []load.Class{{
		Name: fresh("warm"), Namespace: warmNamespace, Count: 10, Executors: 2, Run: load.For(100 * time.Millisecond),
	}}})
}

// through has the operator carry a load of which nothing is noted.
func (r *rig) through(ctx context.Context, spec load.Spec) error {
	return r.pass(ctx, spec, func(send func() (time.Time, error)) error {
		if _, err := send(); err != nil {
			return err
		}
		_, err := settleFor(ctx, time.Second, r.op.Usage)
		return err
	})
}

// close stops the operator and the nodes, and returns what went wrong in them.
func (r *rig) close() error {
	var errs []error
	if r.op != nil {
		errs = append(errs, r.op.Stop())
	}
	if r.nodes != nil {
		errs = append(errs, r.nodes.Stop())
	}
	return errors.Join(errs...)
}

// carry sends a load and waits until all of it has ended and the operator is quiet.
func (r *rig) carry(ctx context.Context, spec load.Spec) (b bill, err error) {
	err = r.pass(ctx, spec, func(send func() (time.Time, error)) (err error) {
		b, err = charge(ctx, r.w, r.op, send)
		return err
	})
	return b, err
}

// pass does what a load needs before and after it, and has around call send, which sends the load and returns when all of it has ended, with the moment of the last
// end.
func (r *rig) pass(ctx context.Context, spec load.Spec, around func(send func() (time.Time, error)) error) error {
	for _, name := range spec.Namespaces() {
		if err := r.w.Namespace(ctx, name); err != nil {
			return err
		}
	}
	seen, err := watchEnds(ctx, r.load, spec) // whose watch is opened again by the replay
	if err != nil {
		return err
	}
	defer seen.stop()
	err = around(func() (time.Time, error) {
		if _, err := load.Send(ctx, r.load, spec, senders); err != nil {
			return time.Time{}, err
		}
		return seen.wait(ctx)
	})
	if err := errors.Join(err, r.nodes.Err()); err != nil {
		return err
	}
	return seen.held(spec)
}

// measure carries a load and notes its figures in a case of a scenario: rates, cost, latencies and writes; and how the operator was meanwhile. It begins when the
// control plane has done what came before.
func (r *rig) measure(ctx context.Context, spec load.Spec, s *Sink, scenario, in string) (bill, error) {
	if err := calmWorld(ctx, r.w); err != nil {
		return bill{}, err
	}
	b, seen, err := r.sampled(ctx, spec)
	if err != nil {
		return b, err
	}
	s.Plot(courses(scenario, seen)...)
	account, err := r.heard(scope(b, spec))
	if err != nil {
		return b, err
	}
	n := spec.Count()
	b.sustained = perApplication(account.Answered, n)
	s.Add(perSecond(scenario, in, b.sustained)...)
	s.Add(figure.Figure{Scenario: scenario, Case: in, Name: untilLast, Value: float64(n) / b.took().Seconds(), Unit: "1/s"})
	enter(b, seen, account, n, s, scenario, in)
	return b, nil
}

// sampled carries a load, and looks at the operator meanwhile.
func (r *rig) sampled(ctx context.Context, spec load.Spec) (bill, []world.Sample, error) {
	samples := r.op.Sample(ctx, sampleEvery)
	b, err := r.carry(ctx, spec)
	seen, e := samples.Stop()
	return b, seen, errors.Join(err, e)
}

// untilLast is a rate that has in it how the work began, and how few were left in the end.
const untilLast = "applications a second, from the first creation to the last end"

// perApplication is how many applications a second writes were made for, of which these were answered, of so many applications in all. It is taken of the writes and
// not of the ends of the applications, as an operator that begins all before it goes on with any would have its ends in a short time, of work that it did before; and
// clients that go on with as many at a time as they are would have theirs in heaps.
func perApplication(answered []time.Time, apps int) float64 {
	return figure.Sustained(answered) * float64(apps) / float64(len(answered))
}

// note adds what a load that was carried cost, and how it fared: CPU, the queue, latencies and writes. It returns how many applications a second were carried
// (perApplication).
func (r *rig) note(b bill, seen []world.Sample, spec load.Spec, s *Sink, scenario, in string) (sustained float64, err error) {
	account, err := r.heard(scope(b, spec))
	if err != nil {
		return 0, err
	}
	enter(b, seen, account, spec.Count(), s, scenario, in)
	return perApplication(account.Answered, spec.Count()), nil
}

// enter adds what so many applications cost, and how they fared.
func enter(b bill, seen []world.Sample, account audit.Account, n int, s *Sink, scenario, in string) {
	s.Add(b.figures(scenario, in, n)...)
	if most, looked := deepest(seen); looked {
		s.Add(figure.Figure{Scenario: scenario, Case: in, Name: figure.QueueDepth, Value: most})
	}
	s.Add(account.Figures(scenario, in, n)...)
	s.Name(account.Outliers(scenario, in)...)
}

// scope is what of the audit log was done for a load.
func scope(b bill, spec load.Spec) audit.Scope {
	in := map[string]bool{}
	for _, name := range spec.Namespaces() {
		in[name] = true
	}
	return audit.Scope{From: b.began, To: b.quiet.Add(calm), Namespace: func(name string) bool { return in[name] }}
}

// heard reads the audit log once for all that is computed from it.
func (r *rig) heard(of audit.Scope) (audit.Account, error) {
	return audit.ReadFile(r.w.AuditLog(), of, audit.ReadAccount)
}

// sampleEvery is how often the operator's process is looked at.
const sampleEvery = 250 * time.Millisecond

// deepest is the most keys that waited whenever the metrics were looked at, and whether they were.
func deepest(samples []world.Sample) (most float64, looked bool) {
	for _, s := range samples {
		if s.Looked {
			most, looked = max(most, s.Depth), true
		}
	}
	return most, looked
}

// courses are plots of how an operator was over time.
func courses(scenario string, samples []world.Sample) []figure.Series {
	line := func(title, y string, samples []world.Sample, of func(i int) float64) figure.Series {
		points := make([][2]float64, len(samples))
		for i, s := range samples {
			points[i] = [2]float64{s.At.Seconds(), of(i)}
		}
		return figure.Series{Scenario: scenario, Title: title, Name: figure.Operator, X: "time, s", Y: y, Points: points}
	}
	looks := slices.DeleteFunc(slices.Clone(samples), func(s world.Sample) bool { return !s.Looked })
	return []figure.Series{
		line("Queue depth", "keys", looks, func(i int) float64 { return looks[i].Depth }),
		line("Resident memory", "MB", samples, func(i int) float64 { return float64(samples[i].Resident) / 1e6 }),
		line("Operator CPU", "cores", samples, func(i int) float64 {
			if i == 0 {
				return 0
			}
			return (samples[i].CPU - samples[i-1].CPU).Seconds() / (samples[i].At - samples[i-1].At).Seconds()
		}),
	}
}
