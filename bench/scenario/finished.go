package scenario

import (
	"context"
	"errors"
	"fmt"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/bench/loads"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// FinishedCase is the case of so many applications that are over.
func FinishedCase(n int) string { return figure.Count(n) + " finished" }

// Finished measures the operator with applications lying about that are over: its memory, how a probe of short applications fares beside them, and how many more it
// carries at its full rate. The operator has carried a tenth of them to its end, and finds the others when it starts; they have no executors, so that this does not take
// longer than what is measured, and leave their driver pods.
func Finished(n, probe, pressing int) Func {
	return func(ctx context.Context, w *world.World, s *Sink) (err error) {
		carried := max(1, n/10)
		if err := copyFinished(ctx, w, n-carried); err != nil {
			return fmt.Errorf("copies: %w", err)
		}
		r, err := raise(ctx, w, "")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.close()) }()
		in := FinishedCase(n)
		b, err := r.carry(ctx, ending(carried))
		if err != nil {
			return err
		}
		s.Add(b.rate(figure.Finished, "the last of them", carried)...)
		rest, err := atRest(ctx, r.op)
		if err != nil {
			return err
		}
		s.Add(megabytes(figure.Finished, in, figure.AtRest, rest.Resident))
		s.Say(figure.Finished, "%s of the finished applications were carried to their ends by the same operator in the same run, and the others were there when it started, as copies of one that "+
			"was; they had no executors, and their driver pods are kept. %s", figure.Count(carried), atRestSays)
		_, err = r.probe(ctx, s, figure.Finished, in, probe, pressing)
		return err
	}
}

// ending is load that is soon over, over as many namespaces as have a thousand each.
func ending(n int) load.Spec {
	spec := described(loads.Finished).Sized(n)
	c := &spec.Classes[0]
	c.Name, c.Namespaces = fresh(c.Name), min(n, 1+n/1000)
	return spec
}
