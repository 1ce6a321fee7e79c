package controller

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/ground/fence"
)

// whileLeading returns the context of a pass. If this replica may have lost the lease, the result leading is false, and
// the caller must not make a pass. This can happen when a suspended process resumes: its queue still contains keys, but
// its leader election gives up the lease only after another renewDeadline.
//
// The context has a time limit. It does not end when a shutdown is requested, because the operator renews the lease
// until the passes in flight have ended.
//
// The context ends when the lease ends, also during a shutdown. Another replica may become the leader
// leaderElection.leaseDuration - renewDeadline after that, end the attempt and clean up. If this replica created an
// object after that cleanup, the object would be an orphan.
func (r *Reconciler) whileLeading(reconciling context.Context) (_ context.Context, done func(), leading bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(reconciling), r.limit)
	ctx, end := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(reconciling, func() {
		if r.asked != nil && !r.asked() {
			end(fence.ErrOver)
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

// ended returns the result of a pass. If this replica's term ended during the pass, ended returns a requeue and no
// error, because this replica may get the lease back by a late renewal.
func ended(ctx context.Context, result reconcile.Result, err error) (reconcile.Result, error) {
	// A request may be rejected because the term is over (ErrOver) before the context ends.
	if errors.Is(context.Cause(ctx), fence.ErrOver) || errors.Is(err, fence.ErrOver) {
		return reconcile.Result{RequeueAfter: requeueSoon}, nil
	}

	if err != nil {
		return reconcile.Result{}, err // the backoff determines the next pass; with a time, controller-runtime warns
	}
	return result, nil
}
