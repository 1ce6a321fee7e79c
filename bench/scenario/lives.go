package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/sparkoperator/spark-operator/bench/audit"
	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/bench/node"
	"github.com/sparkoperator/spark-operator/bench/replay"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// Lives has the operator carry whole lives that are offered faster than they can be carried, and then, on the same API server, plain clients make the same writes
// without it: with each of these numbers of applications at a time, of which the fastest counts.
func Lives(spec load.Spec, workers ...int) Func {
	return func(ctx context.Context, w *world.World, s *Sink) error {
		b, err := operatorLives(ctx, w, s, spec)
		if err != nil {
			return err
		}
		s.Say(figure.Lives, "%s applications of a driver and five executors are created at %.0f a second, over %d namespaces; drivers run 2 to 5 s, and %d of them fail.",
			figure.Count(spec.Count()), spec.Classes[0].Rate, len(spec.Namespaces()), failing(spec))
		return rawLives(ctx, w, s, scope(b, spec), workers)
	}
}

// operatorLives is the operator's part. The operator and the nodes are gone when it returns.
func operatorLives(ctx context.Context, w *world.World, s *Sink, spec load.Spec) (b bill, err error) {
	r, err := raise(ctx, w, "")
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	b, err = r.measure(ctx, spec, s, figure.Lives, figure.Operator)
	s.Say(figure.Lives, "%s", binds(b.cpu, b.quiet.Sub(b.began), runtime.NumCPU()))
	return b, err
}

// rawLives makes the writes of what was done again, and notes how fast that goes.
func rawLives(ctx context.Context, w *world.World, s *Sink, of audit.Scope, workers []int) error {
	plan, err := writesOf(w.AuditLog(), of)
	if err != nil {
		return err
	}
	stop, err := node.Keep(ctx, w, node.Nodes)
	if err != nil {
		return err
	}
	defer stop()
	results, err := replay.Best(ctx, w, plan, workers...)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	best := results[0]
	s.Add(best.Figures(figure.Lives)...)
	done, ok := s.Value(figure.Figure{Scenario: figure.Lives, Case: figure.Operator, Name: figure.Rate}.ID())
	if !ok {
		return errors.New("the operator's rate was not measured")
	}
	s.Add(figure.Figure{Scenario: figure.Lives, Case: figure.Operator, Name: figure.Share, Value: done.Value / best.Rate()})
	if best.Failed > 0 {
		s.Say(figure.Lives, "%d of %d writes of the raw limit failed, the first with: %v", best.Failed, best.Failed+best.Writes, best.First)
	}
	for _, r := range results {
		s.Say(figure.Lives, "The raw limit with %d applications at a time: %.1f a second.", r.Workers, r.Rate())
	}
	return nil
}

// writesOf reads what was written from an audit log.
func writesOf(file string, of audit.Scope) (*replay.Plan, error) {
	log, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	return replay.Read(log, of)
}
