package scenario

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/bench/audit"
	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/bench/node"
	"github.com/sparkoperator/spark-operator/bench/replay"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// offer is the share of the offered rate that has to be left over for what was carried to be called all that can be.
const offer = 0.9

// leastWorkers is how many the search for the raw limit does not end before.
const leastWorkers = 64

// mostWorkers is how many applications are replayed at a time at most.
const mostWorkers = 256

// Lives has the operator carry whole lives that are offered faster than they can be carried, and then, on the same API server, plain clients make the same writes
// without it. How many applications these have at a time is sought with the first of the writes, of so many applications at most, from a number of workers on; what
// was the fastest is the limit.
func Lives(spec load.Spec, workers, part int) Func {
	return func(ctx context.Context, w *world.World, s *Sink) error {
		b, err := operatorLives(ctx, w, s, spec)
		if err != nil {
			return err
		}
		return rawLives(ctx, w, s, scope(b, spec), b.work, workers, part)
	}
}

// operatorLives is the operator's part. The operator and the nodes are gone when it returns.
func operatorLives(ctx context.Context, w *world.World, s *Sink, spec load.Spec) (b bill, err error) {
	r, err := raise(ctx, w, "")
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if b, err = r.measure(ctx, spec, s, figure.Lives, figure.Operator); err != nil {
		return b, err
	}
	s.Say(figure.Lives, "%s applications of a driver and five executors are created at %.0f a second, over %d namespaces; %d of the drivers fail.",
		figure.Count(spec.Count()), spec.Rate(), len(spec.Namespaces()), failing(spec))
	for _, c := range spec.Classes {
		s.Say(figure.Lives, "%d drivers run %s.", c.Count, c.Run)
	}
	s.Say(figure.Lives, "Rates are those of the writes between the tenth and the ninetieth in a hundred, divided by how many an application has.")
	s.Say(figure.Lives, "%s", binds(b.cpu, b.took(), runtime.NumCPU()))
	return b, sated(b.sustained, spec.Rate())
}

// sated says whether more was offered than was carried: otherwise the rate is that of the load, and not what the operator can do.
func sated(carried, offered float64) error {
	if offered > 0 && carried > offer*offered {
		return fmt.Errorf("%.1f applications a second were carried of %.1f that were offered: more have to be for a limit to be seen", carried, offered)
	}
	return nil
}

// rawLives makes the writes of what was done again, and notes how fast that goes. A fixed piece of work took as long as is given while the operator did it.
func rawLives(ctx context.Context, w *world.World, s *Sink, of audit.Scope, operator time.Duration, workers, part int) error {
	plan, err := audit.ReadFile(w.AuditLog(), of, replay.Read)
	if err != nil {
		return err
	}
	plan.Bound = true // so that the scheduler writes as much as it did
	if n := len(plan.Left); n > 0 {
		s.Say(figure.Lives, "Of the writes of the load, the operator and the nodes these belong to no application and are not made again: %s.", counts(plan.Left))
	}
	if plan.Stale > 0 {
		return fmt.Errorf("the log has %d references to owners that nobody made: what is owned like that is garbage when it is made again", plan.Stale)
	}
	stop, err := node.Keep(ctx, w, node.Nodes)
	if err != nil {
		return err
	}
	defer stop()
	best, err := rawLimit(ctx, w, s, plan, workers, part)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	s.Add(best.Figures(figure.Lives)...)
	s.Add(parts(figure.Lives, figure.Raw, besides(best.CPU, theHarness, best.Client), best.Took, best.Work)...)
	s.Add(figure.Figure{Scenario: figure.Lives, Case: figure.Raw, Name: untilLast, Value: float64(best.Applications) / best.Took.Seconds(), Unit: "1/s"})
	if best.Failed > 0 {
		s.Say(figure.Lives, "%d of %d writes of the raw limit failed, the first with: %v", best.Failed, best.Failed+best.Writes, best.First)
	}
	done, ok := s.Value(figure.Figure{Scenario: figure.Lives, Case: figure.Operator, Name: figure.Rate}.ID())
	if !ok {
		return errors.New("the operator's rate was not measured")
	}
	s.Add(figure.Figure{Scenario: figure.Lives, Case: figure.Operator, Name: figure.Share, Value: done.Value / best.Rate()})
	if words := unlike(operator, best.Work); words != "" {
		s.Say(figure.Lives, "%s", words)
	}
	return best.Err()
}

// alike is by how much a fixed piece of work may differ between two measurements that are compared.
const alike = 1.1

// unlike says that the machine was worth something else during the raw limit than while the operator was at work; empty where it was not, or where nobody knows.
func unlike(operator, raw time.Duration) string {
	if operator <= 0 || raw <= 0 || max(operator, raw).Seconds() <= alike*min(operator, raw).Seconds() {
		return ""
	}
	return fmt.Sprintf("A fixed piece of work took %.2f ms of CPU while the operator was at work and %.2f ms during the raw limit: the machine was not the same for both, and the share of "+
		"the raw limit says as much about that as about the operator.", operator.Seconds()*1000, raw.Seconds()*1000)
}

const (
	// rounds is how many applications each worker of a try has at least, where there are as many: with fewer the first and the last of them are most of it.
	rounds = 3
	// fewest is how many applications a try has at least: some 15 s.
	fewest = 80
)

// ofTry is how many applications are replayed by so many workers.
func ofTry(workers, part int) int { return min(part, max(fewest, rounds*workers)) }

// rawLimit seeks how many workers are the fastest with a part of a plan.
func rawLimit(ctx context.Context, w *world.World, s *Sink, plan *replay.Plan, workers, part int) (replay.Result, error) {
	var tries int
	try := func(workers int) (replay.Result, error) {
		tries++
		r, err := replayOnce(ctx, w, plan.First(ofTry(workers, part)), fmt.Sprintf("replay-%d-", tries), workers)
		if err == nil {
			s.Say(figure.Lives, "The raw limit of %s applications, %d at a time: %.1f a second.", figure.Count(r.Applications), r.Workers, r.Rate())
		}
		return r, err
	}
	// More workers than there are applications have nothing to do, so that as many are the end of a search, and its limit is one of so few.
	results, found, err := replay.Search(workers, min(leastWorkers, part), min(mostWorkers, part), try)
	if err != nil {
		return replay.Result{}, err
	}
	best := replay.Fastest(results)
	if !found && part > mostWorkers {
		return best, fmt.Errorf("%d applications at a time are still faster than fewer: no limit was found", best.Workers)
	}
	return best, nil
}

// replayOnce replays a plan once the control plane has done what came before.
func replayOnce(ctx context.Context, w *world.World, plan *replay.Plan, prefix string, workers int) (r replay.Result, err error) {
	stage, err := plan.Stage(ctx, w, prefix)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, stage.Close(ctx)) }()
	if err := calmWorld(ctx, w); err != nil {
		return r, err
	}
	return stage.Run(ctx, workers)
}

// besides are CPU times with one more.
func besides(cpu map[string]time.Duration, who string, took time.Duration) map[string]time.Duration {
	all := maps.Clone(cpu)
	all[who] = took
	return all
}

// counts are how often there was what, in words.
func counts(of map[string]int) string {
	var words []string
	for _, what := range slices.Sorted(maps.Keys(of)) {
		words = append(words, fmt.Sprintf("%s %d times", what, of[what]))
	}
	return strings.Join(words, ", ")
}
