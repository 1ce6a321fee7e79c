package scenario

import (
	"context"
	"os"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/jvm"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// Submit runs the real spark-submit of versions of Spark, and puts what it took beside the operator's whole lives.
func Submit(versions ...string) Func {
	return func(ctx context.Context, w *world.World, s *Sink) error {
		if err := jvm.Measure(ctx, w, s, os.Stderr, versions...); err != nil {
			return err
		}
		s.Add(besides(s, versions)...)
		s.Say(figure.Lives, "Of spark-submit it is the submission alone: %d at a time for the rate, one at a time for CPU and memory. Its applications are neither run nor watched.",
			jvm.AtOnce)
		return nil
	}
}

// besides are columns of the table of whole lives: what spark-submit takes for a part of what the operator does.
func besides(s *Sink, versions []string) (out []figure.Figure) {
	for _, version := range versions {
		of := "spark-submit " + version
		take := func(atOnce int, name, as, unit string, factor float64) {
			found, ok := s.Value(figure.Figure{Scenario: figure.Submit, Case: figure.SubmitCase(version, atOnce), Name: name}.ID())
			if ok {
				out = append(out, figure.Figure{Scenario: figure.Lives, Case: of, Name: as, Value: found.Value * factor, Unit: unit})
			}
		}
		take(jvm.AtOnce, "submissions a second", figure.Rate, "1/s", 1)
		take(1, figure.SubmitCPU, figure.CPU, "ms", 1000)
		take(1, figure.SubmitMemory, figure.Peak, "MB", 1)
	}
	return out
}
