package scenario

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/node"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// ColdStart measures the start of an operator in a world that is full: of what a step before left there, which of says ("live", "finished"). An application that
// was created while no operator ran waits for it.
func ColdStart(of string) Func {
	return func(ctx context.Context, w *world.World, s *Sink) (err error) {
		n, err := existing(ctx, w)
		if err != nil {
			return err
		}
		if n < 10 {
			return errors.New("the world is empty: a cold start is measured after the scenario that fills it, in its world")
		}
		nodes, err := node.Start(ctx, w, node.Options{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, nodes.Stop()) }()
		in := "about " + figure.Count(roundTo(n)) + " " + of
		if err := calmIfEver(ctx, w, s, figure.ColdStart, in); err != nil {
			return err
		}
		waiting := single(fresh("waiting"), "waiting")
		if err := w.Namespace(ctx, waiting.Namespace); err != nil {
			return err
		}
		arrival, err := awaitDriver(ctx, w, waiting)
		if err != nil {
			return err
		}
		if _, err := w.Dynamic.Resource(world.Applications).Namespace(waiting.Namespace).Create(ctx, waiting.Object, metav1.CreateOptions{}); err != nil {
			return err
		}
		return coldStart(ctx, w, s, in, arrival)
	}
}

// coldStart starts the operator and waits for its first decision.
func coldStart(ctx context.Context, w *world.World, s *Sink, in string, arrival func() (time.Time, error)) (err error) {
	began := time.Now()
	op, err := w.StartOperator(ctx, world.OperatorOptions{Wait: 5 * time.Minute})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, op.Stop()) }()
	ready := time.Since(began)
	decided, err := arrival()
	if err != nil {
		return err
	}
	s.Add(seconds(figure.ColdStart, in, "until it is ready", ready), seconds(figure.ColdStart, in, figure.FirstDecision, decided.Sub(began)))
	since, quiet, err := settleIfEver(ctx, calm, op)
	if err != nil {
		return err
	}
	took, err := op.Usage()
	s.Add(megabytes(figure.ColdStart, in, figure.Peak, took.Peak), megabytes(figure.ColdStart, in, figure.Resident, took.Resident))
	if quiet {
		s.Add(seconds(figure.ColdStart, in, "until it is quiet", since.Sub(began)), seconds(figure.ColdStart, in, "CPU until it is quiet", took.CPU))
	} else {
		s.Say(figure.ColdStart, "%s: the operator was not quiet within %s of its first decision; memory is as of then.", in, quietLimit)
	}
	return err
}

// roundTo leaves of a number its first digit or two: what passed through a world beside the many does not count.
func roundTo(n int) int {
	unit := 1
	for n/unit >= 100 {
		unit *= 10
	}
	return n / unit * unit
}
