package controller

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/lease"
)

// whileLeading returns the context of a pass. It returns leading = false if this replica may no longer have the lease.
// In that case no pass may be made. For example, a process that was suspended resumes with events and timers in its
// queue, while its elector still retries for another renewDeadline before it gives up.
//
// The context has a time limit. It does not end with a requested shutdown, since the lease is renewed until the passes
// in flight have ended. It ends when the lease ends, also during a shutdown, because another replica may act
// leaderElection.leaseDuration - renewDeadline later. That replica could end the attempt and clean up. A creation by
// this replica that arrives after that cleanup would succeed and leave an orphan.
func (r *Reconciler) whileLeading(reconciling context.Context) (_ context.Context, done func(), leading bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(reconciling), r.limit)
	ctx, end := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(reconciling, func() {
		if r.asked != nil && !r.asked() {
			end(lease.ErrOver)
		}
	})
	over, leading := func() {}, true
	if r.lead != nil {
		ctx, over, leading = r.lead.Begin(ctx)
	}
	return ctx, func() {
		over()
		unhook()
		end(nil)
		cancel()
	}, leading
}

// ended returns the result of a pass. If the pass was cut off because this replica's term had ended, the result is a
// requeue and no error: this replica may get the lease back by a late renewal.
func ended(ctx context.Context, result reconcile.Result, err error) (reconcile.Result, error) {
	// A request may be rejected because the term is over (ErrOver) before the context ends.
	if errors.Is(context.Cause(ctx), lease.ErrOver) || errors.Is(err, lease.ErrOver) {
		return reconcile.Result{RequeueAfter: requeueSoon}, nil
	}
	return result, err
}
