package scenario

import (
	"context"
	"errors"
	"fmt"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/bench/world"
)

const replicasName = figure.Replicas

// shared has replicas share the work (internal/config, Sharding).
const shared = "leaderElection: {namespace: default}\nsharding: {enabled: true}\n"

// Replicas has several replicas share whole lives that are offered faster than they can be carried, and compares that with the one replica of Lives in the same run.
func Replicas(spec load.Spec, replicas ...int) Func {
	return func(ctx context.Context, w *world.World, s *Sink) error {
		one, ok := s.Value(figure.Figure{Scenario: figure.Lives, Case: figure.Operator, Name: figure.Rate}.ID())
		if !ok {
			return fmt.Errorf("the rate of one replica is not known in this run without scenario %s", figure.Lives)
		}
		for _, n := range replicas {
			if err := share(ctx, w, s, spec, n, one.Value); err != nil {
				return err
			}
		}
		s.Say(replicasName, "A load like that of %s, %s applications, and as fast. CPU and memory are those of all replicas together; queues are those of the first.", figure.Lives, figure.Count(spec.Count()))
		return nil
	}
}

// share measures so many replicas, and how much faster they are than one.
func share(ctx context.Context, w *world.World, s *Sink, spec load.Spec, n int, one float64) (err error) {
	r, err := raiseTeam(ctx, w, n, shared)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	in := figure.Count(n) + " replicas"
	b, err := r.measure(ctx, spec.Named(fresh("shared"), fmt.Sprintf("shared-by-%d", n)), s, replicasName, in)
	if err != nil {
		return err
	}
	limited(s, replicasName, in, b.sustained, spec)
	s.Add(figure.Figure{Scenario: replicasName, Case: in, Name: figure.ShareOfOne, Value: b.sustained / one})
	return nil
}

// team are operators that share the work.
type team []*world.Operator

// Usage is what all of them took: each its own, and the sum of their peaks at most.
func (t team) Usage() (sum world.Usage, err error) {
	for _, op := range t {
		u, err := op.Usage()
		if err != nil {
			return sum, err
		}
		sum.CPU, sum.Resident, sum.Peak = sum.CPU+u.CPU, sum.Resident+u.Resident, sum.Peak+u.Peak
	}
	return sum, nil
}
