// Package scenario is what the bench does to an operator: each scenario loads a control plane in a way of its own and notes what it measured. A plan is a list
// of them at sizes that belong together.
package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// Sink takes what is measured.
type Sink = figure.Run

// Func is a scenario at a size. It ends what it started in the world but need not tidy up: a world is thrown away.
type Func func(context.Context, *world.World, *Sink) error

// Step is a scenario of a plan.
type Step struct {
	Name string
	// About says in half a sentence what is measured.
	About string
	// World is the name of the world that it runs in: steps in a row that name the same one share a control plane, as those must whose figures are
	// compared. Empty: one of its own.
	World string
	// Scheduler and Bodies are the world's options, those of the first step of a shared one.
	Scheduler, Bodies bool
	// Bare steps have no world: they need none and would be disturbed by one. Do is called without.
	Bare bool
	// Limit bounds how long it may take, the start of its world included. Default 5 min.
	Limit time.Duration
	Do    Func
}

// Pick leaves of a plan the steps that are named, in the plan's order. No names leave all.
func Pick(steps []Step, names []string) ([]Step, error) {
	if len(names) == 0 {
		return steps, nil
	}
	var known []string
	for _, s := range steps {
		known = append(known, s.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("no scenario %q in this plan; there are %s", name, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return !slices.Contains(names, s.Name) }), nil
}

// Worlds makes a world with a step's options. A run has one; tests have others.
type Worlds func(ctx context.Context, s Step) (*world.World, error)

// Run does the steps in their order, and says on out what it is at and how long each took. A step that fails does not keep the others from being measured; all
// failures are returned together. The end of the context ends it.
func Run(ctx context.Context, steps []Step, worlds Worlds, sink *Sink, out io.Writer) error {
	var errs []error
	var shared *world.World
	for i, step := range steps {
		err := ctx.Err()
		if err == nil {
			began := time.Now()
			fmt.Fprintf(out, "--- %s: %s\n", step.Name, step.About)
			shared, err = step.run(ctx, shared, worlds, sink)
			fmt.Fprintf(out, "--- %s took %.1f s\n", step.Name, time.Since(began).Seconds())
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("scenario %s: %w", step.Name, err))
			sink.Fail(step.Name)
		}
		last := i+1 == len(steps) || step.World == "" || steps[i+1].World != step.World
		if shared != nil && (last || err != nil) { // what a step that failed left behind would be in the way of the next
			errs = append(errs, shared.Close())
			shared = nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// run does one step, in the world that is there or one that it makes, and returns that world.
func (s Step) run(ctx context.Context, w *world.World, worlds Worlds, sink *Sink) (*world.World, error) {
	limit := cmp.Or(s.Limit, 5*time.Minute)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than its limit of %s", limit))
	defer cancel()
	if w == nil && !s.Bare {
		var err error
		if w, err = worlds(ctx, s); err != nil {
			return nil, err
		}
	}
	return w, s.Do(ctx, w, sink)
}
