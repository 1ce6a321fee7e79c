package controller

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// ExecutorLabeler is a kind whose objects give labels to their executors in addition to their own labels.
type ExecutorLabeler interface {
	ExecutorLabels(object client.Object) map[string]string
}

// subject returns the facts that identify a custom resource in metrics: kind, key, time of creation and labels.
func (r *Reconciler) subject(object client.Object) lifecycle.Subject {
	subject := lifecycle.Subject{
		Kind: r.kind.Traits().Name, Namespace: object.GetNamespace(), Name: object.GetName(), Created: object.GetCreationTimestamp().Time, Labels: object.GetLabels(),
		NoApplication: r.kind.Traits().NoApplication,
	}
	if labeler, labels := r.kind.(ExecutorLabeler); labels {
		subject.ExecutorLabels = labeler.ExecutorLabels(object)
	}
	return subject
}

// measure updates the metrics with the transitions in the stored status. The argument began is the time at which the
// pass started.
func (r *Reconciler) measure(o outcome, began time.Time) {
	r.metrics.Stored(r.subject(o.Owner), r.kind.Standing(o.Owner), o.plan)
	spent := o.applied.Spent

	now := time.Now()
	for _, t := range o.plan.Transitions {
		driver := o.Seen.Driver(t.Attempt)
		switch {
		case t.To == lifecycle.Launched && t.From != lifecycle.Unknown && !spent.Submitted.IsZero():
			r.metrics.Submitted(r.kind.Traits().Name, spent.Submitted.Sub(began), spent.Acting-spent.Rendering)
		case t.To == lifecycle.Started && driver != nil && !driver.StartedAt.IsZero():
			r.metrics.Lag(r.kind.Traits().Name, t.To, driver.StartedAt, now)
		case t.To == lifecycle.Ended && driver != nil && !driver.EndedAt.IsZero():
			r.metrics.Lag(r.kind.Traits().Name, t.To, driver.EndedAt, now)
		}
	}
}
