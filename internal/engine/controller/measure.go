package controller

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/ground/telemetry"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// subject returns the facts that identify a custom resource in metrics: kind, key, time of creation and labels.
func (r *Reconciler) subject(object client.Object) telemetry.Subject {
	subject := telemetry.Subject{
		Kind: r.kind.Name, Key: client.ObjectKeyFromObject(object), Created: object.GetCreationTimestamp().Time, Labels: object.GetLabels(),
		NoApplication: r.kind.Progress.NoApplication,
	}
	if r.kind.Executors.Labels != nil {
		subject.ExecutorLabels = r.kind.Executors.Labels(object)
	}
	return subject
}

// standing returns the state of a custom resource for the metrics, as its status shows it. If the kind does not define
// the function Progress.Standing, the result is the zero Standing, which sets no gauges.
func (r *Reconciler) standing(object client.Object) lifecycle.Standing {
	if r.kind.Progress.Standing == nil {
		return lifecycle.Standing{}
	}
	return r.kind.Progress.Standing(object)
}

// measure updates the metrics with the transitions in the stored status. The argument began is the time at which the
// pass started.
func (r *Reconciler) measure(o outcome, began time.Time) {
	r.metrics.Stored(r.subject(o.Owner), r.standing(o.Owner), o.plan)
	spent := o.applied.Spent

	now := time.Now()
	for _, t := range o.plan.Transitions {
		driver := o.Seen.Driver(t.Attempt)
		switch {
		case t.To == lifecycle.Launched && t.From != lifecycle.Unknown && !spent.Submitted.IsZero():
			r.metrics.Submitted(r.kind.Name, spent.Submitted.Sub(began), spent.Acting-spent.Rendering)
		case t.To == lifecycle.Started && driver != nil && !driver.StartedAt.IsZero():
			r.metrics.Lag(r.kind.Name, t.To, driver.StartedAt, now)
		case t.To == lifecycle.Ended && driver != nil && !driver.EndedAt.IsZero():
			r.metrics.Lag(r.kind.Name, t.To, driver.EndedAt, now)
		}
	}
}
