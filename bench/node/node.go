// Package node plays the nodes of a cluster, and Spark on them: pods that the scheduler bound run at once, drivers create their executors as Spark does and
// end as the arguments of their application say (load.Program), and pods whose deletion is asked for go at once.
//
// It is a stage runner of its own: kwok's stages know one pod at a time, and what matters here is what a driver does to other pods. All that waits is in one
// heap, and a bounded number of workers carries it out.
package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/sparkoperator/spark-operator/bench/world"
)

// Agent is the user agent of the nodes and of what runs on them.
const Agent = "spark-bench-node"

// Nodes is how many nodes there are when nobody says otherwise.
const Nodes = 4

// Options say what nodes there are. The zero value of a field means its default.
type Options struct {
	Nodes   int // default Nodes, which have room for 80,000 pods
	Workers int // requests at a time; default 32
}

// Cluster are nodes that are played. Use Start.
type Cluster struct {
	core kubernetes.Interface
	dyn  dynamic.Interface

	known     known
	tasks     *timeline
	addresses atomic.Int64
	counts    counts

	first  sync.Once
	listed chan struct{} // closed once the pods that were there are known

	stop    context.CancelFunc
	running sync.WaitGroup
	failing sync.Mutex
	err     error
}

type counts struct{ running, asked, ended, removed, writes, reads, retried atomic.Int64 }

// Counts are what was played so far.
type Counts struct {
	Running int64 // pods that were started
	Asked   int64 // executors that drivers created
	Ended   int64 // pods whose program ended
	Removed int64 // pods that were taken away after their deletion was asked for
	Writes  int64 // requests of nodes and drivers that write, also those that were refused; not the nodes' leases
	Reads   int64
	Retried int64 // tasks that had to be tried again
}

// Counts returns what was played so far.
func (c *Cluster) Counts() Counts {
	return Counts{
		Running: c.counts.running.Load(), Asked: c.counts.asked.Load(), Ended: c.counts.ended.Load(), Removed: c.counts.removed.Load(),
		Writes: c.counts.writes.Load(), Reads: c.counts.reads.Load(), Retried: c.counts.retried.Load(),
	}
}

// Start makes the nodes and begins to play. The cluster ends with Stop or the context; it is for whoever waits for what it plays to look at Err.
func Start(ctx context.Context, w *world.World, o Options) (*Cluster, error) {
	if o.Nodes == 0 {
		o.Nodes = Nodes
	}
	if o.Workers == 0 {
		o.Workers = 32
	}
	core, dyn, err := w.Client(Agent)
	if err != nil {
		return nil, err
	}
	c := &Cluster{core: core, dyn: dyn, known: known{pods: map[types.UID]*pod{}}, tasks: newTimeline(), listed: make(chan struct{})}
	for i := range o.Nodes {
		if err := c.register(ctx, nodeName(i)); err != nil {
			return nil, fmt.Errorf("node %s: %w", nodeName(i), err)
		}
	}
	ctx, c.stop = context.WithCancel(ctx)
	due := make(chan task)
	c.running.Go(func() { c.dispatch(ctx, due) })
	for range o.Workers {
		c.running.Go(func() { c.work(ctx, due) })
	}
	c.running.Go(func() { c.beat(ctx, o.Nodes) })
	c.running.Go(func() { c.watch(ctx) })
	select {
	case <-c.listed: // many pods take a while, which is not to be in what is measured
		return c, nil
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), c.Stop())
	}
}

// Keep keeps nodes ready without playing anything on them: pods are bound to them and stay as they are. Nodes that Start made are taken as they are. It ends with
// stop.
func Keep(ctx context.Context, w *world.World, nodes int) (stop func(), err error) {
	core, _, err := w.Client(Agent)
	if err != nil {
		return nil, err
	}
	c := &Cluster{core: core}
	for i := range nodes {
		if err := c.register(ctx, nodeName(i)); err != nil {
			return nil, fmt.Errorf("node %s: %w", nodeName(i), err)
		}
	}
	ctx, c.stop = context.WithCancel(ctx)
	c.running.Go(func() { c.beat(ctx, nodes) })
	return func() { c.stop(); c.running.Wait() }, nil
}

// Stop ends the play, and returns what went wrong in it. The pods and nodes stay as they are; after some time without a beat the control plane calls the
// nodes lost.
func (c *Cluster) Stop() error {
	c.stop()
	c.running.Wait()
	return c.Err()
}

// Err is what went wrong first.
func (c *Cluster) Err() error {
	c.failing.Lock()
	defer c.failing.Unlock()
	return c.err
}

// fail notes what went wrong. The play goes on: other pods may be waited for.
func (c *Cluster) fail(err error) {
	c.failing.Lock()
	defer c.failing.Unlock()
	if c.err == nil && !errors.Is(err, context.Canceled) {
		c.err = err
	}
}
