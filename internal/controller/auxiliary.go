package controller

import (
	"context"
	"slices"
	"time"

	"github.com/sparkoperator/spark-operator/internal/auxiliary"
	"github.com/sparkoperator/spark-operator/internal/observe"
)

// keeper returns the Keeper that creates, updates and deletes the auxiliary objects of drivers.
func (r *Reconciler) keeper() auxiliary.Keeper {
	return auxiliary.Keeper{Client: r.dependents, Auxiliary: r.kind.Auxiliary, Memory: &r.auxiliary}
}

// observer returns the Observer that finds the dependents of the kind's custom resources.
func (r *Reconciler) observer() observe.Observer {
	return observe.Observer{Kind: r.kind, Dependents: r.dependents, Explainer: r.explains, Ended: &r.ends, NamespaceLabels: r.labels}
}

// ensureAuxiliary creates, updates and deletes auxiliary objects of the driver until they equal those that the kind
// wants. It returns the outcome with the results, and the time until the next pass.
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

// withAuxiliary returns the outcome with the events, the deletions and the decision that resulted from the work on
// auxiliary objects.
func (o outcome) withAuxiliary(result auxiliary.Outcome) outcome {
	o.events, o.remove = result.Events, result.Remove
	if result.Plan != nil {
		o.plan.Transitions, o.plan.Notices = slices.Concat(o.plan.Transitions, result.Plan.Transitions), slices.Concat(o.plan.Notices, result.Plan.Notices)
		o.plan.Next = result.Plan.Next
	}
	return o
}

// auxiliaryTimeout returns the time limit for the work on auxiliary objects: as long as the rest of the pass took
// (spent), but at least auxiliary.Timeout and at most auxiliary.MaxTimeout. If the API server is slow, the rest of the
// pass takes longer and the limit is higher, so that the status write at the end of the pass can still report the
// Service. The limit is at most half of the remaining time (remaining), since the status has yet to be written.
func auxiliaryTimeout(spent, remaining time.Duration) time.Duration {
	return min(max(auxiliary.Timeout, spent), auxiliary.MaxTimeout, remaining/2)
}
