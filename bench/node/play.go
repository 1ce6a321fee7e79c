package node

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// tries is how often a task is tried before the nodes give up, with pause between: some minutes, in which an overloaded API server comes to itself.
const (
	tries = 60
	pause = 2 * time.Second
)

// dispatch hands tasks to workers when they are due, until the context ends. It waits for a free worker: what cannot be kept up with is late.
func (c *Cluster) dispatch(ctx context.Context, due chan<- task) {
	defer close(due)
	for {
		next, wait, ok := c.tasks.next(time.Now())
		if !ok {
			select {
			case <-ctx.Done():
				return
			case <-c.tasks.wake:
			case <-time.After(wait):
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case due <- next:
		}
	}
}

// work carries out tasks.
func (c *Cluster) work(ctx context.Context, due <-chan task) {
	for t := range due {
		p, ok := c.known.get(t.pod)
		if !ok || p.leaving && t.act != remove {
			continue // nothing is left to play
		}
		err := c.play(ctx, t, p)
		switch {
		case err == nil, gone(err), ctx.Err() != nil:
		case t.tries == tries:
			c.fail(fmt.Errorf("pod %s/%s: %w", p.namespace, p.name, err))
		default:
			c.counts.retried.Add(1)
			t.tries, t.due = t.tries+1, time.Now().Add(pause)
			c.tasks.add(t)
		}
	}
}

// gone reports whether what a task was about is not there any more, or is on its way out with its namespace.
func gone(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// play carries out a task, and adds what follows from it.
func (c *Cluster) play(ctx context.Context, t task, p pod) error {
	now := time.Now()
	switch t.act {
	case start:
		return c.start(ctx, p, now)
	case ask:
		if err := c.ask(ctx, p); err != nil {
			return err
		}
		c.tasks.add(task{due: time.Now().Add(p.driver.program.Run), pod: p.uid, act: end})
		return nil
	case end:
		return c.end(ctx, p, now)
	default:
		return c.leave(ctx, p, now)
	}
}

func (c *Cluster) start(ctx context.Context, p pod, now time.Time) error {
	// One that the scheduler has no part in is of the many that stand and are not what is measured, and so is its driver: a write less for each of them is minutes.
	if !p.placed && (p.driver == nil || !p.driver.program.Placed) {
		if err := c.patch(ctx, p, creating(p.containers, now)); err != nil {
			return err
		}
	}
	if err := c.patch(ctx, p, running(p.containers, address(c.addresses.Add(1)), now)); err != nil {
		return err
	}
	c.known.begun(p.uid, now)
	c.counts.running.Add(1)
	if p.driver != nil {
		c.tasks.add(task{due: now, pod: p.uid, act: ask})
	} else if run := c.known.lifetime(p); run > 0 {
		c.tasks.add(task{due: now.Add(run), pod: p.uid, act: end})
	}
	return nil
}

// end ends a pod's program. A driver cleans up before; an executor's pod is deleted by its driver once it has ended.
func (c *Cluster) end(ctx context.Context, p pod, now time.Time) error {
	var code int32
	if p.driver != nil {
		code = p.driver.program.Exit
		c.known.stops(p.uid)
		if err := c.clean(ctx, p); err != nil {
			return err
		}
	}
	if err := c.patch(ctx, p, ended(p.containers, code, p.started, now)); err != nil {
		return err
	}
	c.known.over(p.uid)
	c.counts.ended.Add(1)
	if p.driver == nil {
		c.tasks.add(task{due: now, pod: p.uid, act: remove})
	}
	return nil
}

// leave takes a pod away. A kubelet says before how one ended that ran.
func (c *Cluster) leave(ctx context.Context, p pod, now time.Time) error {
	if !p.started.IsZero() && !p.over {
		if err := c.patch(ctx, p, ended(p.containers, c.known.leaves(p), p.started, now)); err != nil {
			return err
		}
		c.known.over(p.uid)
	}
	if err := c.remove(ctx, p); err != nil {
		return err
	}
	c.counts.removed.Add(1)
	return nil
}
