package scenario

import (
	"context"
	"errors"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// Whole says what Lives measures beside the operator, on the same API server, in the same run.
type Whole struct{}

// Lives has the operator carry whole lives that are offered faster than they can be carried.
func Lives(spec load.Spec, _ Whole) Func {
	return func(ctx context.Context, w *world.World, s *Sink) error {
		return operatorLives(ctx, w, s, spec)
	}
}

// operatorLives is the operator's part.
func operatorLives(ctx context.Context, w *world.World, s *Sink, spec load.Spec) (err error) {
	r, err := raise(ctx, w, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	_, err = r.measure(ctx, spec, s, figure.Lives, figure.Operator)
	return err
}
