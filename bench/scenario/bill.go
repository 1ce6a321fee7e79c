package scenario

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// Names of who takes CPU, beside the components of the control plane.
const (
	theOperator = "operator"
	theHarness  = "the bench itself"
)

// user is whose cost is measured: an operator, or several that share the work.
type user interface{ Usage() (world.Usage, error) }

// meter reads what everybody took so far.
func meter(w *world.World, op user) (map[string]world.Usage, error) {
	all, err := w.Components()
	if err != nil {
		return nil, err
	}
	if all[theHarness], err = world.UsageOf(os.Getpid()); err != nil {
		return nil, err
	}
	all[theOperator], err = op.Usage()
	return all, err
}

// bill is what a piece of work took.
type bill struct {
	began, ended  time.Time                // of the work
	quiet         time.Time                // from then on the operator did nothing any more
	cpu           map[string]time.Duration // until it was quiet, by who took it
	before, after world.Usage              // of the operator
}

func (b bill) took() time.Duration { return b.ended.Sub(b.began) }

// charge does a piece of work and says what it took, with what the operator does after its end: its last events are part of the price.
func charge(ctx context.Context, w *world.World, op user, work func() (ended time.Time, err error)) (b bill, err error) {
	before, err := meter(w, op)
	if err != nil {
		return b, err
	}
	b.began = time.Now()
	if b.ended, err = work(); err != nil {
		return b, err
	}
	if b.took() < 0 {
		return b, fmt.Errorf("the work ended %s before it began: what ended is not what was begun", -b.took())
	}
	if b.quiet, err = settle(ctx, op.Usage); err != nil {
		return b, err
	}
	after, err := meter(w, op)
	if err != nil {
		return b, err
	}
	b.before, b.after = before[theOperator], after[theOperator]
	b.cpu = map[string]time.Duration{}
	for who, u := range after {
		b.cpu[who] = u.CPU - before[who].CPU
	}
	return b, nil
}

// rest is the CPU that an operator may take within a calm second and still be called quiet: its leases and timers.
const (
	rest = 20 * time.Millisecond
	calm = time.Second
)

// settle waits until a process does nothing worth naming for a second, and returns since when. Its CPU says so without asking it.
func settle(ctx context.Context, usage func() (world.Usage, error)) (since time.Time, err error) {
	last, err := usage()
	if err != nil {
		return since, err
	}
	since = time.Now()
	return since, world.Until(ctx, "the operator to be quiet", func() (bool, error) {
		now, err := usage()
		if err != nil {
			return false, err
		}
		if now.CPU-last.CPU > rest {
			last, since = now, time.Now()
		}
		return time.Since(since) > calm, nil
	})
}

// figures are a bill for so many applications, in a case of a scenario.
func (b bill) figures(scenario, in string, apps int) []figure.Figure {
	out := []figure.Figure{
		{Scenario: scenario, Case: in, Name: figure.CPU, Value: b.cpu[theOperator].Seconds() * 1000 / float64(apps), Unit: "ms"},
		{Scenario: scenario, Case: in, Name: figure.Peak, Value: float64(b.after.Peak) / 1e6, Unit: "MB"},
		{Scenario: scenario, Case: in, Name: figure.Resident, Value: float64(b.after.Resident) / 1e6, Unit: "MB"},
	}
	return append(out, parts(scenario, in, b.cpu, b.quiet.Sub(b.began))...)
}

// parts says who took the CPU, and how much of the machine was taken in all: what binds.
func parts(scenario, in string, cpu map[string]time.Duration, span time.Duration) (out []figure.Figure) {
	var sum time.Duration
	for _, who := range slices.Sorted(maps.Keys(cpu)) {
		sum += cpu[who]
		out = append(out, figure.Figure{Scenario: scenario, Case: in, Name: "CPU of " + who, Value: cpu[who].Seconds(), Unit: "s"})
	}
	return append(out, figure.Figure{
		Scenario: scenario, Case: in, Name: figure.Taken, Value: sum.Seconds() / span.Seconds() / float64(runtime.NumCPU()),
	})
}

// rate is how many applications ended a second, and a minute, from the first creation to the last end.
func (b bill) rate(scenario, in string, apps int) []figure.Figure {
	rate := float64(apps) / b.took().Seconds()
	return []figure.Figure{
		{Scenario: scenario, Case: in, Name: figure.Rate, Value: rate, Unit: "1/s"},
		{Scenario: scenario, Case: in, Name: "applications a minute", Value: rate * 60, Unit: "1/min"},
	}
}

// binds says in a sentence who took the most of the machine.
func binds(cpu map[string]time.Duration, span time.Duration, cores int) string {
	var sum time.Duration
	for _, took := range cpu {
		sum += took
	}
	who := slices.SortedFunc(maps.Keys(cpu), func(a, b string) int { return cmp.Or(cmp.Compare(cpu[b], cpu[a]), cmp.Compare(a, b)) })
	var shares []string
	for _, w := range who {
		shares = append(shares, fmt.Sprintf("%s %.0f %%", w, 100*cpu[w].Seconds()/sum.Seconds()))
	}
	return fmt.Sprintf("%.0f %% of the cores were taken; of that %s.", 100*sum.Seconds()/span.Seconds()/float64(cores), strings.Join(shares, ", "))
}
