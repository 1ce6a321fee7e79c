package controller

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/lease"
)

// whileLeading is the context of a pass. It is bounded in time, and it outlives a shutdown that was asked for: the lease is renewed until the passes in
// flight are over. It ends with the lease, also while the operator ends: leaderElection.leaseDuration - renewDeadline later another replica may act, which may
// lead an attempt to its end and clean up before a creation that is late finds nothing in its way. Nothing is given where the lease is not this replica's for
// sure: one that was stopped wakes with events and timers that ask for passes, and its elector tries for another renewDeadline before it gives up.
func (r *Reconciler) whileLeading(reconciling context.Context) (_ context.Context, done func(), given bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(reconciling), r.limit)
	ctx, end := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(reconciling, func() {
		if r.asked != nil && !r.asked() {
			end(lease.ErrOver)
		}
	})
	over, given := func() {}, true
	if r.lead != nil {
		ctx, over, given = r.lead.Begin(ctx)
	}
	return ctx, func() {
		over()
		unhook()
		end(nil)
		cancel()
	}, given
}

// ended is what a pass reports. A pass that was ended with its term reports no error: it is made again, since a lease
// that is renewed late is this replica's again.
func ended(ctx context.Context, result reconcile.Result, err error) (reconcile.Result, error) {
	// The gate may reject a request before the context ends.
	if errors.Is(context.Cause(ctx), lease.ErrOver) || errors.Is(err, lease.ErrOver) {
		return reconcile.Result{RequeueAfter: lookAgain}, nil
	}
	return result, err
}
