package controller

import (
	"context"
	"slices"
	"time"

	"github.com/sparkoperator/spark-operator/internal/auxiliary"
	"github.com/sparkoperator/spark-operator/internal/observe"
)

// keeper brings what stands beside drivers to what is wanted.
func (r *Reconciler) keeper() auxiliary.Keeper {
	return auxiliary.Keeper{Client: r.dependents, Beside: r.kind.Beside, Memory: &r.around}
}

// observer finds the dependents of the kind's custom resources.
func (r *Reconciler) observer() observe.Observer {
	return observe.Observer{Kind: r.kind, Dependents: r.dependents, Explains: r.explains, Ended: &r.ends}
}

// surround brings what stands beside the driver to what the kind wants, and returns with it when to look again.
func (r *Reconciler) surround(ctx context.Context, o outcome, began time.Time) (outcome, time.Duration) {
	if r.kind.Beside.Wanted == nil {
		return o, 0
	}
	left := passTimeout
	if end, bounded := ctx.Deadline(); bounded {
		left = time.Until(end)
	}
	came := r.keeper().Surround(ctx, o.View, r.kind.Beside.Wanted(o.object, o.Seen), besideFor(time.Since(began), left))
	return o.with(came), came.Check
}

// with returns the outcome with what came of what stands beside the driver.
func (o outcome) with(came auxiliary.Outcome) outcome {
	o.told, o.remove = came.Told, came.Remove
	if came.Plan != nil {
		o.plan.Trail, o.plan.Tell = slices.Concat(o.plan.Trail, came.Plan.Trail), slices.Concat(o.plan.Tell, came.Plan.Tell)
		o.plan.Next = came.Plan.Next
	}
	return o
}

// besideFor is as long as the rest of the pass took, so that a Service whose creation is as slow as that of all else is in the same status; within bounds, and no
// longer than half of the time that is left, as the status is yet to be written.
func besideFor(spent, left time.Duration) time.Duration {
	return min(max(auxiliary.Timeout, spent), auxiliary.MaxTimeout, left/2)
}
