package controller

import (
	"context"
	"time"

	"github.com/sparkoperator/spark-operator/internal/auxiliary"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// keeper brings what stands beside drivers to what is wanted.
func (r *Reconciler) keeper() auxiliary.Keeper {
	return auxiliary.Keeper{Client: r.dependents, Beside: r.kind.Beside, Memory: &r.around}
}

// beside is what the pass knows when it comes to what stands beside the driver.
func (p *pass) beside() auxiliary.Look {
	return auxiliary.Look{Owner: p.stored, Set: &p.children, Seen: p.seen, Now: p.now}
}

// surround brings what stands beside the driver to what the kind wants.
func (r *Reconciler) surround(ctx context.Context, p *pass) {
	if r.kind.Beside.Wanted == nil {
		return
	}
	p.take(r.keeper().Surround(ctx, p.beside(), r.kind.Beside.Wanted(p.object, p.seen), p.besideFor(ctx)))
}

// take keeps what came of what stands beside the driver.
func (p *pass) take(came auxiliary.Outcome) {
	p.told, p.remove, p.check = came.Told, came.Remove, lifecycle.Soonest(p.check, came.Check)
	if came.Plan != nil {
		p.plan.Trail, p.plan.Tell = append(p.plan.Trail, came.Plan.Trail...), append(p.plan.Tell, came.Plan.Tell...)
		p.plan.Next = came.Plan.Next
	}
}

// besideFor is how long what stands beside the driver may take in this pass.
func (p *pass) besideFor(ctx context.Context) time.Duration {
	var spent time.Duration
	if !p.spent.began.IsZero() {
		spent = time.Since(p.spent.began)
	}
	left := passTimeout
	if end, bounded := ctx.Deadline(); bounded {
		left = time.Until(end)
	}
	return besideFor(spent, left)
}

// besideFor is as long as the rest of the pass took, so that a Service whose creation is as slow as that of all else is in the same status; within bounds, and no
// longer than half of the time that is left, as the status is yet to be written.
func besideFor(spent, left time.Duration) time.Duration {
	return min(max(auxiliary.Timeout, spent), auxiliary.MaxTimeout, left/2)
}
