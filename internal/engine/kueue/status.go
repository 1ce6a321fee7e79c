package kueue

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Kueue's own integrations write these messages (jobframework.generatePodsReadyCondition).
const (
	messageNotReady = "Not all pods are ready or succeeded"
	messageReady    = "All pods reached readiness and the workload is running"
)

// giveBack clears the reservation of an evicted Workload. Kueue itself has set everything else at the eviction: the
// admission checks to Pending, the requeue state, and the statistics.
//
// The condition Requeued is True if Kueue may queue the Workload at once. After any other eviction, Kueue sets it to
// True itself when the back-off is over, the queue is started again, or the Workload is active again.
func giveBack(w *Workload, now time.Time) {
	evicted := meta.FindStatusCondition(w.Status.Conditions, Evicted)
	if evicted == nil {
		return
	}

	reason := evicted.Reason
	if strings.HasPrefix(reason, deactivated) { // DeactivatedDueTo..., after which older releases of Kueue never requeue
		reason = deactivated
	}

	at := reason == EvictedByPreemption || reason == EvictedByNodeFailures
	w.set(Requeued, at, reason, evicted.Message, now)
	w.set(QuotaReserved, false, reasonPending, evicted.Message, now)

	w.Status.Admission = nil
	if w.is(Admitted) {
		w.set(Admitted, false, "NoReservation", "The workload has no reservation", now)
	}

	if w.is(PodsReady) {
		w.set(PodsReady, false, reasonWaitForStart, messageNotReady, now)
	}
}

func (w *Workload) set(condition string, status bool, reason, message string, now time.Time) {
	value := metav1.ConditionFalse
	if status {
		value = metav1.ConditionTrue
	}

	meta.SetStatusCondition(&w.Status.Conditions, metav1.Condition{
		Type: condition, Status: value, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now), ObservedGeneration: w.Generation,
	})
}

// Ready reports to Kueue that all pods are ready. The operator of spark.apache.org may have reported before that pods
// are missing again.
func (q *Queue) Ready(ctx context.Context, owner client.Object, now time.Time) error {
	return q.report(ctx, owner, func(w *Workload) {
		reason := reasonStarted
		if before := meta.FindStatusCondition(w.Status.Conditions, PodsReady); before != nil && (before.Reason == reasonWaitForRecovery || before.Reason == reasonRecovered) {
			reason = reasonRecovered
		}

		w.set(PodsReady, true, reason, messageReady, now)
	})
}

// Finish reports to Kueue that an attempt has ended, so that its quota is free although its Workload stays.
func (q *Queue) Finish(ctx context.Context, owner client.Object, outcome lifecycle.Outcome, now time.Time) error {
	reason := reasonFinishedWithFail
	if outcome == lifecycle.Succeeded {
		reason = reasonFinishedWell
	}
	return q.report(ctx, owner, func(w *Workload) {
		w.set(Finished, true, reason, "The Spark application has ended: "+string(outcome), now)
	})
}

func (q *Queue) report(ctx context.Context, owner client.Object, change func(*Workload)) error {
	w, err := q.own(ctx, owner)
	if err != nil || w == nil {
		return err
	}
	return client.IgnoreNotFound(q.patchStatus(ctx, w, func() { change(w) }))
}
