package scenario

import (
	"context"
	"errors"
	"time"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// describedName is the scenario of a load that is in no plan.
const describedName = "load"

// LoadStep has the operator carry a load that somebody described.
func LoadStep(spec load.Spec) Step {
	return Step{
		Name: describedName, About: figure.Count(spec.Count()) + " applications as they are described", Scheduler: true, Bodies: true, Limit: time.Hour,
		Do: func(ctx context.Context, w *world.World, s *Sink) (err error) {
			r, err := raise(ctx, w, "")
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, r.close()) }()
			if _, err = r.measure(ctx, spec, s, describedName, ""); err != nil {
				return err
			}
			for _, c := range spec.Classes {
				s.Say(describedName, "%s: %s applications of a driver and %d executors, which run %s.", c.Name, figure.Count(c.Count), c.Executors, c.Run)
			}
			return nil
		},
	}
}

// driversAlone are n applications whose drivers run for long and ask for no executors. They say that they want none: of those that want some and have none an
// operator asks the API server again and again why, and that is not what is measured.
func driversAlone(name, namespace string, n int) load.Spec {
	return load.Spec{Classes: []load.Class{{Name: name, Namespace: namespace, Count: n, Run: load.For(12 * time.Hour), Spec: map[string]any{
		"executor":          map[string]any{"instances": nil},
		"dynamicAllocation": map[string]any{"enabled": true, "initialExecutors": int64(0), "minExecutors": int64(0)},
	}}}}
}
