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

// atRestSays is what a table has to say beside memory at rest.
const atRestSays = "Memory at rest is what is resident after a collection of garbage that was asked for: when the next one is due is chance. Peaks have the garbage in them."

// level is what an operator keeps with so many live applications.
type level struct {
	live           int
	resident, peak float64 // MB
}

// Standing measures the operator with live applications of a driver and five executors, at each of some levels, the lowest first: its memory, how a probe of short
// applications fares beside them, and how many more it carries at its full rate. Their drivers are scheduled as any; executors say their node, and get
// to Running in one write.
func Standing(levels []int, probe, pressing int) Func {
	return func(ctx context.Context, w *world.World, s *Sink) (err error) {
		r, err := raise(ctx, w, "")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.close()) }()
		var seen []level
		for i, n := range levels {
			before := 0
			if i > 0 {
				before = levels[i-1]
			}
			at, err := r.level(ctx, s, n, before, levels[len(levels)-1], probe, pressing)
			if err != nil {
				return fmt.Errorf("%d live: %w", n, err)
			}
			seen = append(seen, at)
		}
		s.Add(slopes(seen)...)
		s.Plot(growth(seen)...)
		s.Say(figure.Standing, "Each live application has a driver and %d executors. Their executors are created with their node's name, which leaves the scheduler out; "+
			"the %d applications of the probe are whole lives of the same size, %.0f a second, and scheduled as any. Rates, and what is at full rate, are of %d lives like those of %s. "+
			"%s", standing(1, 1).Classes[0].Executors, probe, probing(1).Classes[0].Rate, pressing, figure.Lives, atRestSays)
		return nil
	}
}

// level fills up to so many live applications and measures there. What it measured with is gone when it returns, but at the top.
func (r *rig) level(ctx context.Context, s *Sink, n, before, top, probe, pressing int) (at level, err error) {
	in, began := figure.LiveCase(n), time.Now()
	if err := r.stand(ctx, standing(n, n-before)); err != nil {
		return at, err
	}
	s.Add(seconds(figure.Standing, in, "until "+figure.Count(n-before)+" more were live", time.Since(began)))
	rest, err := atRest(ctx, r.op)
	if err != nil {
		return at, err
	}
	used, err := r.probe(ctx, s, figure.Standing, in, probe, pressing)
	if err != nil {
		return at, err
	}
	after, err := r.op.Usage()
	if err != nil {
		return at, err
	}
	if n < top {
		err = r.clear(ctx, used...) // what is over costs memory too, and more of it beside few than beside many
	}
	s.Add(megabytes(figure.Standing, in, figure.AtRest, rest.Resident))
	return level{live: n, resident: float64(rest.Resident) / 1e6, peak: float64(after.Peak) / 1e6}, err
}

// standing is load that goes on running, n applications up to a level: over as many namespaces of that level as have some hundred each. Kubernetes allows more, but its
// controllers look at all pods of a namespace for each Service in it, so that larger ones take longer to fill.
func standing(level, n int) load.Spec {
	spec := described(loads.Standing).Sized(n)
	c := &spec.Classes[0]
	c.Name, c.Namespace, c.Namespaces = fresh(c.Name), fmt.Sprintf("%s-%d", c.Namespace, level), min(n, 1+n/100)
	return spec
}

// slopes are what an application more costs: between the first two levels, and the last two. Linear growth has both alike.
func slopes(levels []level) (out []figure.Figure) {
	slope := func(name string, from, to level) {
		kilobytes := (to.resident - from.resident) * 1000 / float64(to.live-from.live)
		out = append(out, figure.Figure{Scenario: figure.Standing, Name: name, Value: kilobytes, Unit: "kB"})
	}
	if n := len(levels); n > 1 {
		slope(figure.SlopeLow, levels[0], levels[1])
		if n > 2 {
			slope(figure.SlopeHigh, levels[n-2], levels[n-1])
		}
	}
	return out
}

// growth is the plot of memory over live applications.
func growth(levels []level) []figure.Series {
	line := func(name string, of func(level) float64) figure.Series {
		out := figure.Series{Scenario: figure.Standing, Title: "Resident memory by live applications", Name: name, X: "live applications", Y: "MB"}
		for _, l := range levels {
			out.Points = append(out.Points, [2]float64{float64(l.live), of(l)})
		}
		return out
	}
	return []figure.Series{line("at rest", func(l level) float64 { return l.resident }), line("peak", func(l level) float64 { return l.peak })}
}
