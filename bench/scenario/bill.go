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

// user is whose cost is measured: an operator.
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
	began, ended time.Time                // of the work
	quiet        time.Time                // from then on the operator did nothing any more
	cpu          map[string]time.Duration // until the work ended, but the operator's until it was quiet; by who took it
	after        world.Usage              // of the operator
	work         time.Duration            // what a fixed piece of work took until it ended; 0 where that is not known
	sustained    float64                  // applications a second (perApplication), where a load was measured
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
	after, err := meter(w, op)
	if err != nil {
		return b, err
	}
	since, quiet, err := settleIfEver(ctx, calm, op)
	if err != nil {
		return b, err
	}
	if b.quiet = since; !quiet { // then all that it took so long counts
		b.quiet = time.Now()
	}
	if after[theOperator], err = op.Usage(); err != nil {
		return b, err
	}
	b.work = w.Work(b.began, b.ended)
	b.after, b.cpu = after[theOperator], took(before, after)
	return b, nil
}

// took is the CPU that everybody took between two readings.
func took(before, after map[string]world.Usage) map[string]time.Duration {
	cpu := map[string]time.Duration{}
	for who, u := range after {
		cpu[who] = u.CPU - before[who].CPU
	}
	return cpu
}

const (
	// idle is the CPU that an operator may take within a second and still be called quiet: its leases and timers.
	idle = 20 * time.Millisecond
	// calm is how long it has to be idle: longer than it puts anything off (patience, internal/controller/pace.go), so that what it had put off when the work ended
	// is paid for, and found among its writes.
	calm = 11 * time.Second
)

// stillness is since when a process does nothing worth naming, as readings of its CPU tell.
type stillness struct {
	since time.Time
	from  time.Time     // of the second that is looked at
	cpu   time.Duration // when it began
}

func (s *stillness) see(at time.Time, cpu time.Duration) {
	switch {
	case cpu-s.cpu > idle:
		s.since, s.from, s.cpu = at, at, cpu
	case at.Sub(s.from) >= time.Second:
		s.from, s.cpu = at, cpu
	}
}

// settleFor waits until a process does nothing worth naming for so long, and returns since when. Its CPU says so without asking it.
func settleFor(ctx context.Context, long time.Duration, usage func() (world.Usage, error)) (since time.Time, err error) {
	first, err := usage()
	if err != nil {
		return since, err
	}
	now := time.Now()
	s := stillness{since: now, from: now, cpu: first.CPU}
	err = world.Until(ctx, "the operator to be quiet", func() (bool, error) {
		u, err := usage()
		if err != nil {
			return false, err
		}
		now := time.Now()
		s.see(now, u.CPU)
		return now.Sub(s.since) > long, nil
	})
	return s.since, err
}

// figures are a bill for so many applications, in a case of a scenario.
func (b bill) figures(scenario, in string, apps int) []figure.Figure {
	out := []figure.Figure{
		{Scenario: scenario, Case: in, Name: figure.CPU, Value: b.cpu[theOperator].Seconds() * 1000 / float64(apps), Unit: "ms"},
		megabytes(scenario, in, figure.Peak, b.after.Peak), megabytes(scenario, in, figure.Resident, b.after.Resident),
	}
	return append(out, b.parts(scenario, in)...)
}

// parts says who took the CPU.
func (b bill) parts(scenario, in string) []figure.Figure {
	return parts(scenario, in, b.cpu, b.took(), b.work)
}

// parts says who took the CPU, how much of the machine was taken in all, which is what binds, and what the machine was worth meanwhile.
func parts(scenario, in string, cpu map[string]time.Duration, span, work time.Duration) (out []figure.Figure) {
	var sum time.Duration
	for _, who := range slices.Sorted(maps.Keys(cpu)) {
		sum += cpu[who]
		out = append(out, seconds(scenario, in, "CPU of "+who, cpu[who]))
	}
	if work > 0 {
		out = append(out, figure.Figure{Scenario: scenario, Case: in, Name: figure.Work, Value: work.Seconds() * 1000, Unit: "ms"})
	}
	return append(out, figure.Figure{Scenario: scenario, Case: in, Name: figure.Taken, Value: sum.Seconds() / span.Seconds() / float64(runtime.NumCPU())})
}

// rate is how many applications ended a second, and a minute, from the first creation to the last end.
func (b bill) rate(scenario, in string, apps int) []figure.Figure {
	return perSecond(scenario, in, float64(apps)/b.took().Seconds())
}

// perSecond is a rate a second, and a minute.
func perSecond(scenario, in string, rate float64) []figure.Figure {
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
