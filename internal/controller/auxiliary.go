package controller

import (
	"context"
	"slices"
	"time"

	"github.com/sparkoperator/spark-operator/internal/auxiliary"
)

// keeper returns the Keeper that creates, updates and deletes the auxiliary objects of drivers.
func (r *Reconciler) keeper() auxiliary.Keeper {
	return auxiliary.Keeper{Client: r.dependents, Auxiliary: r.kind.Auxiliary, Memory: &r.auxiliary}
}

// ensureAuxiliary ensures the auxiliary objects that the custom resource needs for its driver (Auxiliary.Wanted of the
// kind). It returns the given outcome with the results of this work added, and the time until the next pass.
func (r *Reconciler) ensureAuxiliary(ctx context.Context, o outcome, began time.Time) (outcome, time.Duration) {
	if r.kind.Auxiliary.Wanted == nil {
		return o, 0
	}
	left := passTimeout
	if end, bounded := ctx.Deadline(); bounded {
		left = time.Until(end)
	}
	result := r.keeper().Ensure(ctx, o.View, r.kind.Auxiliary.Wanted(o.object, o.Seen), auxiliaryTimeout(time.Since(began), left))
	return o.withAuxiliary(result), result.RequeueAfter
}

// withAuxiliary adds the result of the work on auxiliary objects to the outcome: the events, the objects to delete, and
// the changed plan, if the work changed it.
func (o outcome) withAuxiliary(result auxiliary.Outcome) outcome {
	o.events, o.remove = result.Events, result.Remove
	if result.Plan != nil {
		o.plan.Transitions, o.plan.Notices = slices.Concat(o.plan.Transitions, result.Plan.Transitions), slices.Concat(o.plan.Notices, result.Plan.Notices)
		o.plan.Next = result.Plan.Next
	}
	return o
}

// auxiliaryTimeout returns the time limit for the work on auxiliary objects. The argument `spent` is the time that the
// pass has taken before this work, and `remaining` is the time that the pass has left.
//
// The limit equals `spent`, but is at least auxiliary.Timeout and at most auxiliary.MaxTimeout. It grows with `spent`
// because all requests take longer if the API server is slow. The limit is also at most half of `remaining`, because
// the pass still has to write the status.
func auxiliaryTimeout(spent, remaining time.Duration) time.Duration {
	return min(max(auxiliary.Timeout, spent), auxiliary.MaxTimeout, remaining/2)
}
