package controller

import (
	"context"
	"errors"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/internal/runs"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

func (r *Reconciler) actOnRun(ctx context.Context, p *pass, action lifecycle.Action) (fact, error) {
	acts := runs.Acts{Dependents: r.dependents, Of: r.kind.Runs, Owner: p.stored, Known: p.children.Runs}
	switch action.Verb {
	case lifecycle.Create:
		return r.createRun(ctx, p, acts, action)
	case lifecycle.Confirm:
		heads, facts, err := acts.Confirm(ctx, action.Name)
		if err != nil {
			return nil, err
		}
		p.children.Runs = append(p.children.Runs, heads...)
		return func(seen *lifecycle.Observed) { seen.Runs, seen.Confirmed = append(seen.Runs, facts...), true }, nil
	case lifecycle.Delete:
		return p.hinder(acts.Delete(ctx, action.Name))
	}
	return nil, errors.New("no such verb")
}

// createRun starts a run, unless an earlier round of this pass did.
func (r *Reconciler) createRun(ctx context.Context, p *pass, acts runs.Acts, action lifecycle.Action) (fact, error) {
	if slices.ContainsFunc(p.made, func(made client.Object) bool { return made.GetName() == action.Name }) {
		return nil, nil
	}
	run, cause := r.renderRun(p, action)
	if cause != nil {
		return refused(*cause), nil
	}
	came, err := acts.Create(ctx, run, action)
	switch {
	case err != nil:
		return nil, err
	case came.Refused != nil:
		return refused(*came.Refused), nil
	}
	p.remember(came.Run)
	p.started = append(p.started, runStart{name: action.Name, due: r.kind.Runs.Due(p.stored, came.Run), at: came.Since})
	return nil, nil
}

// renderRun makes a cause of an error, which is the user's.
func (r *Reconciler) renderRun(p *pass, action lifecycle.Action) (client.Object, *lifecycle.Cause) {
	run, err := r.kind.Runs.Render(p.object, action)
	if err != nil {
		return nil, &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: err.Error()}
	}
	return run, nil
}

// runStart is a run that a pass started or found to be started by one before it.
type runStart struct {
	name    string
	due, at time.Time
}

// tellRuns logs and counts what the stored status holds of runs.
func (r *Reconciler) tellRuns(ctx context.Context, p *pass) {
	if r.kind.Runs == nil {
		return
	}
	for _, run := range p.started {
		logger := log.FromContext(ctx).WithValues("run", run.name)
		if !run.due.IsZero() {
			logger = logger.WithValues("due", run.due)
		}
		logger.Info("run started")
		r.metrics.RunStarted(r.kind.Name, run.due, run.at)
	}
	for _, notice := range p.plan.Tell {
		if result := r.kind.Runs.Result(notice); result != "" {
			r.metrics.Run(r.kind.Name, result)
		}
	}
	for _, action := range p.plan.Do {
		if action.Part == lifecycle.ScheduledRun && action.Verb == lifecycle.Delete {
			log.FromContext(ctx).Info("run deleted", "run", action.Name)
		}
	}
}
