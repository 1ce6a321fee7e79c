package controller

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/telemetry"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// spent is where the time of a pass went until everything of a submission was created. It is measured by the machine's clock, which decides nothing.
type spent struct {
	began     time.Time
	submitted time.Time // when a submission's last object was created; zero where none was
	acting    time.Duration
	rendering time.Duration // within acting
}

// act carries out an action and notes how long it took.
func (r *Reconciler) act(ctx context.Context, p *pass, action lifecycle.Action) (fact, error) {
	begin := time.Now()
	found, err := r.actOn(ctx, p, action)
	end := time.Now()
	p.spent.acting += end.Sub(begin)
	if found == nil && err == nil && action.Verb == lifecycle.Create && action.Part == lifecycle.Submission {
		p.spent.submitted = end
	}
	return found, err
}

// subject is the custom resource as metrics know it.
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

// standing is where an object stands by its status. A kind that does not tell has no gauges.
func (r *Reconciler) standing(object client.Object) telemetry.Standing {
	if r.kind.Progress.Standing == nil {
		return telemetry.Standing{}
	}
	return r.kind.Progress.Standing(object)
}

// measure counts what the stored status holds.
func (r *Reconciler) measure(p *pass) {
	r.metrics.Stored(r.subject(p.stored), r.standing(p.stored), p.plan)
	now := time.Now()
	for _, t := range p.plan.Trail {
		driver := p.seen.Driver(t.Attempt)
		switch {
		case t.To == lifecycle.Launched && t.From != lifecycle.Unknown && !p.spent.submitted.IsZero():
			r.metrics.Submitted(r.kind.Name, p.spent.submitted.Sub(p.spent.began), p.spent.acting-p.spent.rendering)
		case t.To == lifecycle.Started && driver != nil && !driver.StartedAt.IsZero():
			r.metrics.Lag(r.kind.Name, t.To, driver.StartedAt, now)
		case t.To == lifecycle.Ended && driver != nil && !driver.EndedAt.IsZero():
			r.metrics.Lag(r.kind.Name, t.To, driver.EndedAt, now)
		}
	}
}
