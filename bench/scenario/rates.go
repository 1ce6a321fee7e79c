package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/bench/loads"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// Burst has a warm operator take driver-only applications that are created at once.
func Burst(n int) Func {
	return func(ctx context.Context, w *world.World, s *Sink) (err error) {
		r, err := raise(ctx, w, "")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.close()) }()
		spec := described(loads.Burst).Sized(n)
		if _, err := r.measure(ctx, spec, s, figure.Burst, ""); err != nil {
			return err
		}
		s.Say(figure.Burst, "%s driver-only applications are created at once; their drivers run %s.",
			figure.Count(n), spec.Classes[0].Run)
		return nil
	}
}

// HalfRate offers whole lives at half of the rate that Lives found in the same run, for so long.
func HalfRate(spec load.Spec, long time.Duration) Func {
	return func(ctx context.Context, w *world.World, s *Sink) (err error) {
		full := figure.Figure{Scenario: figure.Lives, Case: figure.Operator, Name: figure.Rate}
		found, ok := s.Value(full.ID())
		if !ok {
			return fmt.Errorf("there is no %q in this run: half of it is not known without scenario %s", full.ID(), figure.Lives)
		}
		r, err := raise(ctx, w, "")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.close()) }()
		paced := atRate(spec, found.Value/2, long)
		if _, err := r.measure(ctx, paced, s, figure.HalfRate, ""); err != nil {
			return err
		}
		s.Say(figure.HalfRate, "%s applications of a driver and five executors are created at %.1f a second.", figure.Count(paced.Count()), found.Value/2)
		return nil
	}
}

// atRate makes of the first class of a load one that is sent for so long at a rate.
func atRate(spec load.Spec, rate float64, long time.Duration) load.Spec {
	c := spec.Classes[0]
	c.Name, c.Namespace = "paced", "paced"
	c.Rate, c.Count = rate, max(1, int(rate*long.Seconds()))
	c.Namespaces = min(c.Namespaces, c.Count)
	return load.Spec{Seed: spec.Seed, Classes: []load.Class{c}}
}
