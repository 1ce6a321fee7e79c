package controller

import (
	"context"

	"github.com/sparkoperator/spark-operator/internal/shard"
)

// stopAsked reports whether somebody asked the operator to end. Where it ends and nobody did, it has lost its lease.
func (op *Operator) stopAsked() bool {
	until := op.until.Load()
	return until != nil && (*until).Err() != nil
}

// whileLeading is the context of a pass. It is bounded in time, and it outlives a shutdown that was asked for: the lease is renewed until the passes in
// flight are over. Where the lease is lost it ends at once: leaderElection.leaseDuration - renewDeadline later another replica may act, which may lead an
// attempt to its end and clean up before a creation that is late finds nothing in its way.
func (r *Reconciler[T]) whileLeading(reconciling context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(reconciling), r.limit)
	ctx, end := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(reconciling, func() {
		if r.asked != nil && !r.asked() {
			end(shard.ErrOver)
		}
	})
	return ctx, func() {
		unhook()
		end(nil)
		cancel()
	}
}
