package controller

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/lease"
)

// whileLeading returns the context of a pass, and given = false if the lease is not certainly this replica's. In that
// case no pass may be made: a process that was stopped wakes up with events and timers in its queue, and its elector
// retries for another renewDeadline before it gives up.
//
// The context has a time limit. It outlives a requested shutdown, since the lease is renewed until the passes in flight
// have ended. It ends with the lease, also during a shutdown: another replica may act leaderElection.leaseDuration -
// renewDeadline later. That replica could end the attempt and clean up before a late creation of this one arrives,
// which would then succeed.
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

// ended returns the result of a pass. If the pass ended because its term did, it returns no error but requeues: if the
// lease is renewed late, it is this replica's again.
func ended(ctx context.Context, result reconcile.Result, err error) (reconcile.Result, error) {
	// The gate may reject a request before the context ends.
	if errors.Is(context.Cause(ctx), lease.ErrOver) || errors.Is(err, lease.ErrOver) {
		return reconcile.Result{RequeueAfter: requeueSoon}, nil
	}
	return result, err
}
