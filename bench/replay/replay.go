package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/sparkoperator/spark-operator/bench/audit"
	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// Result is what one replay did.
type Result struct {
	Workers      int // applications at a time
	Applications int
	Took         time.Duration
	// Answered are when each write was.
	Answered []time.Time
	// Writes were carried out. Gone are deletions that found nothing, as the pod was not bound yet when its deletion was asked for the first time. Failed writes are
	// no part of a limit: with more than a few of them it is none (Err). First is the first of them.
	Writes, Gone, Failed int
	First                error
	// Bound is the share of the pods that the scheduler bound while this went on.
	Bound float64
	// Client is the CPU time of the process that sent them, which the API server did not have; CPU is that of the control plane's parts meanwhile.
	Client time.Duration
	CPU    map[string]time.Duration
	// Work is what a fixed piece of work took meanwhile (world.Yardstick).
	Work time.Duration
}

// Rate is how many applications were written a second: that of the writes (figure.Sustained), divided by how many an application has.
func (r Result) Rate() float64 {
	return figure.Sustained(r.Answered) * float64(r.Applications) / float64(len(r.Answered))
}

// fewFail is the share of writes that may fail: what is not written is not waited for, so that a replay of which more fails is faster than the limit.
const fewFail = 0.001

// Err says whether so much failed that the result is no limit.
func (r Result) Err() error {
	if float64(r.Failed) > fewFail*float64(r.Failed+r.Writes) {
		return fmt.Errorf("%d of %d writes failed, which is no limit; the first with: %w", r.Failed, r.Failed+r.Writes, r.First)
	}
	return nil
}

// Stage is where a plan is replayed once: namespaces of its own, with the watches open.
type Stage struct {
	w          *world.World
	scripts    []*script
	namespaces []string
	watches    *watches
	bound      bool
}

// Stage makes namespaces with a prefix before their names, and opens the watches there. Nobody may play nodes in them; nodes have to be ready for the scheduler.
func (p *Plan) Stage(ctx context.Context, w *world.World, prefix string) (*Stage, error) {
	into := func(namespace string) string {
		if namespace == "" {
			return ""
		}
		return prefix + namespace
	}
	s := &Stage{w: w, bound: p.Bound}
	var err error
	if s.scripts, s.namespaces, err = p.scripts(into); err != nil {
		return nil, err
	}
	for _, namespace := range s.namespaces {
		if err := w.Namespace(ctx, namespace); err != nil {
			return nil, err
		}
	}
	if s.watches, err = open(ctx, w.Config, p.Watches, into); err != nil {
		return nil, err
	}
	return s, nil
}

// Close closes the watches, removes what the replay made, and returns when it is gone. It tells of watches that had ended before.
func (s *Stage) Close(ctx context.Context) error {
	return errors.Join(s.watches.close(), remove(ctx, s.w, s.namespaces))
}

// Run sends the scripts from a number of workers, and sees how the scheduler kept up.
func (s *Stage) Run(ctx context.Context, workers int) (Result, error) {
	var b *bindings
	if s.bound {
		made, stop, err := watchBindings(ctx, s.w)
		if err != nil {
			return Result{}, err
		}
		defer stop()
		b = made
	}
	from, err := audit.End(s.w.AuditLog())
	if err != nil {
		return Result{}, err
	}
	before, err := s.w.Components()
	if err != nil {
		return Result{}, err
	}
	began := time.Now()
	r, err := run(ctx, s.w.Config, s.scripts, b, workers)
	if err != nil {
		return r, err
	}
	after, err := s.w.Components()
	if err != nil {
		return r, err
	}
	r.Work = s.w.Work(began, time.Now())
	r.CPU = map[string]time.Duration{}
	for who, u := range after {
		r.CPU[who] = u.CPU - before[who].CPU
	}
	of := audit.Scope{Namespace: func(name string) bool { return slices.Contains(s.namespaces, name) }}
	bound, err := audit.ReadFileFrom(s.w.AuditLog(), from, of, countBound)
	r.Bound = bound.share()
	return r, err
}

// scripts prepares all applications, and tells which namespaces they need.
func (p *Plan) scripts(into func(string) string) (all []*script, namespaces []string, err error) {
	known := map[string]bool{}
	for _, a := range p.Applications {
		namespace := into(a.Namespace)
		s, err := a.script(namespace)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, s)
		if !known[namespace] {
			known[namespace], namespaces = true, append(namespaces, namespace)
		}
	}
	return all, namespaces, nil
}

// run sends the scripts from a number of workers, each of which has one application at a time. Load, operator and nodes have a connection each, as they had.
func run(ctx context.Context, config *rest.Config, scripts []*script, b *bindings, workers int) (Result, error) {
	clients := map[audit.Actor]*rest.RESTClient{}
	for _, actor := range []audit.Actor{audit.Load, audit.Operator, audit.Node} {
		c, err := client(config)
		if err != nil {
			return Result{}, err
		}
		clients[actor] = c
	}
	before, err := world.UsageOf(os.Getpid())
	if err != nil {
		return Result{}, err
	}
	var o outcome
	due := make(chan *script)
	var running sync.WaitGroup
	start := time.Now()
	for range workers {
		running.Go(func() {
			for s := range due {
				s.send(ctx, clients, b, &o)
			}
		})
	}
	for _, s := range scripts {
		due <- s
	}
	close(due)
	running.Wait()
	took := time.Since(start)
	after, err := world.UsageOf(os.Getpid())
	return Result{
		Workers: workers, Applications: len(scripts), Answered: o.answered, Took: took, Writes: int(o.writes.Load()), Gone: int(o.gone.Load()), Failed: int(o.failed.Load()), First: o.first,
		Client: after.CPU - before.CPU,
	}, errors.Join(err, context.Cause(ctx))
}

// Figures are a result as figures of a scenario, beside an operator's.
func (r Result) Figures(scenario string) []figure.Figure {
	of := func(name string, value float64, unit string) figure.Figure {
		return figure.Figure{Scenario: scenario, Case: figure.Raw, Name: name, Value: value, Unit: unit}
	}
	return []figure.Figure{
		of(figure.Rate, r.Rate(), "1/s"),
		of("writes a second", float64(r.Writes)/r.Took.Seconds(), "1/s"),
		of(figure.ReplayFailed, float64(r.Failed), ""),
		of("deletions that found nothing", float64(r.Gone), ""),
		of("applications at a time", float64(r.Workers), ""),
		of(figure.ReplayBound, r.Bound, ""),
		of("clients' CPU an application", r.Client.Seconds()*1000/float64(r.Applications), "ms"),
	}
}
