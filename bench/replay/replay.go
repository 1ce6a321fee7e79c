package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	// Writes were carried out. Gone are deletions that found nothing, as the pod was not bound yet when its deletion was asked for the first time. Failed writes are
	// no part of a limit: with more than a few of them it is none. First is the first of them.
	Writes, Gone, Failed int
	First                error
	// Bound is the share of the pods that the scheduler bound while this went on.
	Bound float64
	// Client is the CPU time of the process that sent them, which the API server did not have.
	Client time.Duration
}

// Rate is how many applications were written a second.
func (r Result) Rate() float64 { return float64(r.Applications) / r.Took.Seconds() }

// Best replays a plan with each number of workers and returns all results, the fastest first. Every replay has namespaces of its own, and what it made is removed
// before the next begins. Nobody may play nodes in them; nodes have to be ready for the scheduler.
func Best(ctx context.Context, w *world.World, p *Plan, workers ...int) ([]Result, error) {
	var results []Result
	for i, n := range workers {
		r, err := Once(ctx, w, p, fmt.Sprintf("replay-%d-", i), n)
		if err != nil {
			return results, err
		}
		results = append(results, r)
		if last := len(results) - 1; results[last].Rate() > results[0].Rate() {
			results[0], results[last] = results[last], results[0]
		}
	}
	return results, nil
}

// Once replays a plan once, in namespaces with a prefix before their names, and removes what it made.
func Once(ctx context.Context, w *world.World, p *Plan, prefix string, workers int) (r Result, err error) {
	into := func(namespace string) string {
		if namespace == "" {
			return ""
		}
		return prefix + namespace
	}
	scripts, namespaces, err := p.scripts(into)
	if err != nil {
		return r, err
	}
	for _, namespace := range namespaces {
		if err := w.Namespace(ctx, namespace); err != nil {
			return r, err
		}
	}
	open, err := open(ctx, w.Config, p.Watches, into)
	if err != nil {
		return r, err
	}
	r, err = p.run(ctx, w, scripts, namespaces, workers)
	return r, errors.Join(err, open.close(), remove(ctx, w, namespaces))
}

// run sends the scripts, and sees how the scheduler kept up.
func (p *Plan) run(ctx context.Context, w *world.World, scripts []*script, namespaces []string, workers int) (Result, error) {
	var b *bindings
	if p.Bound {
		made, stop, err := watchBindings(ctx, w)
		if err != nil {
			return Result{}, err
		}
		defer stop()
		b = made
	}
	from, err := end(w.AuditLog())
	if err != nil {
		return Result{}, err
	}
	r, err := run(ctx, w.Config, scripts, b, workers)
	if err != nil {
		return r, err
	}
	in := map[string]bool{}
	for _, namespace := range namespaces {
		in[namespace] = true
	}
	created, bound, err := countBound(w.AuditLog(), from, in)
	r.Bound = float64(bound) / float64(max(1, created))
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
		Workers: workers, Applications: len(scripts), Took: took, Writes: int(o.writes.Load()), Gone: int(o.gone.Load()), Failed: int(o.failed.Load()), First: o.first,
		Client: after.CPU - before.CPU,
	}, errors.Join(err, context.Cause(ctx))
}

// remove deletes what replays leave: pods first and at once, as no kubelet ends them.
func remove(ctx context.Context, w *world.World, namespaces []string) error {
	now, background := int64(0), metav1.DeletePropagationBackground
	resources := []schema.GroupVersionResource{
		{Version: "v1", Resource: "pods"}, world.Applications, {Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "services"}, {Version: "v1", Resource: "events"},
	}
	for _, namespace := range namespaces {
		if !strings.Contains(namespace, "replay") { // never what was measured
			return fmt.Errorf("namespace %s is none of a replay", namespace)
		}
		for _, resource := range resources {
			options := metav1.DeleteOptions{PropagationPolicy: &background}
			if resource.Resource == "pods" {
				options.GracePeriodSeconds = &now
			}
			if err := w.Metadata.Resource(resource).Namespace(namespace).DeleteCollection(ctx, options, metav1.ListOptions{}); err != nil {
				return fmt.Errorf("remove %s of namespace %s: %w", resource.Resource, namespace, err)
			}
		}
	}
	return nil
}

// Figures are the best result as figures of a scenario, beside an operator's.
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
