package configured

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// queueDisabled returns a warning if an object names a queue, but the operator puts nothing into queues.
func (b *base) queueDisabled(object client.Object) string {
	if b.settings().Kueue.Enabled {
		return ""
	}
	return dialect.QueueDisabled(object.GetLabels())
}

// withQueueEvent adds to the events of an object's first decision that the object's queue is ignored.
func (b *base) withQueueEvent(object client.Object, plan lifecycle.Plan, events []dialect.Event) []dialect.Event {
	warning := b.queueDisabled(object)
	if warning == "" || !slices.ContainsFunc(plan.Transitions, func(t lifecycle.Transition) bool { return t.From == lifecycle.New }) {
		return events
	}
	return append(events, dialect.Event{Type: corev1.EventTypeWarning, Reason: dialect.EventQueueDisabled, Message: warning})
}

// withQueueWarning adds to the review of a valid object that the object's queue is ignored.
func (b *base) withQueueWarning(object client.Object, review dialect.Review) dialect.Review {
	if warning := b.queueDisabled(object); warning != "" && len(review.Faults) == 0 {
		review.Warnings = append(slices.Clip(review.Warnings), warning)
	}
	return review
}
