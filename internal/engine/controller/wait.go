package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/eventlimit"
	"github.com/sparkoperator/spark-operator/internal/engine/hold"
)

// waitForCatchUp reports in an Event that the caches of a new leader cannot catch up because the operator lacks a
// right. Only the right to list custom resources ends this wait, and no status can be written before. Any other error
// is returned, because it ends by itself.
func (r *Reconciler) waitForCatchUp(ctx context.Context, key types.NamespacedName, err error) (reconcile.Result, error) {
	stored := r.kind.New()
	if apianswer.WaitOf(err) == nil || r.read(ctx, key, stored) != nil || !r.selects(stored) {
		return reconcile.Result{}, err
	}

	now := r.clock().UTC()
	after, err := r.wait(ctx, key, dependents.View{Owner: stored, Now: now}, &r.waits, r.waits.Note(key, now, now, err))
	return reconcile.Result{RequeueAfter: after}, err
}

// wait logs and reports why a pass has to wait, and returns the time until the next try. If the wait began less than a
// second ago because of a transient error, wait returns this error instead. Most transient errors are over after a
// second, and need no report. The argument `memory` holds the wait h.
func (r *Reconciler) wait(ctx context.Context, key types.NamespacedName, view dependents.View, memory *hold.Memory, h *hold.Hold) (time.Duration, error) {
	r.metrics.RecordWait(r.kind.Traits().Name, key, h.Reason)

	if err := h.RecentError(); err != nil {
		return 0, err
	}

	tell := memory.ShouldReport(key, r.clock())

	logger := log.FromContext(ctx)
	if !h.First && (!tell || h.Err == nil) {
		logger = logger.V(1)
	}

	logger.Info("waiting", "cause", h.Message)

	if tell {
		reason, message := r.failure(view.Owner, h)
		r.event(view.Owner, view.Now, dialect.Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message})
	}
	return h.RequeueAfter(), nil
}

// failure returns the reason and the message of an Event about a wait. A kind may have its own reasons for requests
// that fail.
func (r *Reconciler) failure(owner client.Object, h *hold.Hold) (reason, message string) {
	failed := h.Err != nil || h.Reason == apianswer.ReasonOperatorForbidden
	if kind, named := r.kind.(eventlimit.Kind); named && failed {
		return kind.FailureReason(owner, h.Status), h.Reason + ": " + h.Message
	}
	return h.Reason, "waiting: " + h.Message
}
