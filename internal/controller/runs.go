package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

func (r *Reconciler) actOnRun(ctx context.Context, p *pass, action lifecycle.Action) (fact, error) {
	switch action.Verb {
	case lifecycle.Create:
		return r.createRun(ctx, p, action)
	case lifecycle.Confirm:
		return r.confirmRun(ctx, p, action)
	case lifecycle.Delete:
		return p.hinder(r.deleteRun(ctx, p, action))
	}
	return nil, errors.New("no such verb")
}

// createRun creates a run, and looks at what exists only when that is refused.
func (r *Reconciler) createRun(ctx context.Context, p *pass, action lifecycle.Action) (fact, error) {
	if slices.ContainsFunc(p.made, func(made client.Object) bool { return made.GetName() == action.Name }) {
		return nil, nil // by an earlier round of this pass
	}
	run, cause := r.renderRun(p, action)
	if cause != nil {
		return refused(*cause), nil
	}
	if err := oursToRun(run, p.stored, action); err != nil {
		return nil, err
	}
	made := run.DeepCopyObject().(client.Object)
	switch err := r.client.Create(ctx, made); {
	case err == nil:
		r.startedRun(p, made, time.Now())
		return nil, nil
	case apierrors.IsAlreadyExists(err):
		return r.adoptRun(ctx, p, run)
	default:
		cause, err := apianswer.OfCreation(run, err)
		if cause != nil {
			return refused(*cause), nil
		}
		return nil, err
	}
}

// renderRun makes a cause of an error, which is the user's.
func (r *Reconciler) renderRun(p *pass, action lifecycle.Action) (client.Object, *lifecycle.Cause) {
	run, err := r.kind.Runs.Render(p.object, action)
	if err != nil {
		return nil, &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: err.Error()}
	}
	return run, nil
}

// oursToRun refuses to create a run that a later pass could not find again. It guards against a fault in a dialect, not against users.
func oursToRun(run, owner client.Object, action lifecycle.Action) error {
	switch {
	case run.GetNamespace() != owner.GetNamespace() || run.GetName() != action.Name:
		return fmt.Errorf("%T %s/%s is rendered for run %s of %s", run, run.GetNamespace(), run.GetName(), action.Name, owner.GetNamespace())
	case !identity.OwnedBy(run, owner.GetUID()):
		return fmt.Errorf("%T %s is rendered without its owner", run, run.GetName())
	}
	return nil
}

// adoptRun deals with a run's name that is taken, by a live read of who has it:
//
//	nobody any more     wait a moment, then create again
//	the same owner      it was made by a pass that did not come to write it down; what has become of it since does not matter
//	one of this name    wait until it is gone: it belongs to a custom resource of the owner's name that was deleted
//	somebody else       refused, by name; theirs is never touched
func (r *Reconciler) adoptRun(ctx context.Context, p *pass, run client.Object) (fact, error) {
	existing, gvk, err := r.dependents().ReadLive(ctx, run)
	switch {
	case apierrors.IsNotFound(err):
		return nil, &apianswer.Wait{Message: fmt.Sprintf("%s %s was deleted just now", gvk.Kind, run.GetName())}
	case err != nil:
		return nil, err
	case identity.OwnedBy(existing, p.stored.GetUID()):
		r.startedRun(p, existing, existing.GetCreationTimestamp().Time)
		return nil, nil
	case identity.Orphan(existing, p.stored, r.dependents().GroupKind(p.stored)):
		return nil, &apianswer.Wait{Reason: dependents.ReasonNameTaken,
			Message: fmt.Sprintf("%s %q is left by one of the same name that was deleted; the run is started once it is gone", gvk.Kind, existing.GetName())}
	}
	return refused(lifecycle.Cause{Reason: dependents.ReasonNameTaken, Message: fmt.Sprintf("the run cannot be started: %s %q already exists and is another's (%s); delete or rename that one",
		gvk.Kind, existing.GetName(), identity.OwnerInWords(existing))}), nil
}

// startedRun notes that a run exists since a time, for what is told once that is stored.
func (r *Reconciler) startedRun(p *pass, run client.Object, at time.Time) {
	p.remember(run)
	p.started = append(p.started, runStart{name: run.GetName(), due: r.kind.Runs.Due(p.stored, run), at: at})
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

// runStart is a run that a pass started or found to be started by one before it.
type runStart struct {
	name    string
	due, at time.Time
}

// confirmRun reads live whether a run exists that was not seen: a cache that does not show one may only be late. Where it is, it may lack others too.
func (r *Reconciler) confirmRun(ctx context.Context, p *pass, action lifecycle.Action) (fact, error) {
	if action.Name == "" {
		return r.confirmRuns(ctx, p)
	}
	wanted := r.kind.Runs.New()
	wanted.SetNamespace(p.stored.GetNamespace())
	wanted.SetName(action.Name)
	run, _, err := r.dependents().ReadLive(ctx, wanted)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return nil, err
	}
	known := func(one client.Object) bool { return one.GetUID() == run.GetUID() }
	if missing || !identity.OwnedBy(run, p.stored.GetUID()) || slices.ContainsFunc(p.children.Runs, known) {
		return func(seen *lifecycle.Observed) { seen.Confirmed = true }, nil
	}
	return r.confirmRuns(ctx, p)
}

// confirmRuns reads live which runs there are that were not seen.
func (r *Reconciler) confirmRuns(ctx context.Context, p *pass) (fact, error) {
	known := map[types.UID]bool{}
	for _, run := range p.children.Runs {
		known[run.GetUID()] = true
	}
	var found []lifecycle.Run
	err := r.dependents().EachLive(ctx, r.kind.Runs.List, func(item runtime.Object) error {
		run := item.(client.Object)
		if !identity.OwnedBy(run, p.stored.GetUID()) || known[run.GetUID()] {
			return nil
		}
		known[run.GetUID()] = true
		found = append(found, r.kind.Runs.Facts(run))
		p.children.Runs = append(p.children.Runs, r.kind.Runs.Head(run))
		return nil
	}, client.InNamespace(p.stored.GetNamespace()), client.MatchingLabels(r.kind.Runs.Labels(p.stored)))
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return func(seen *lifecycle.Observed) { seen.Runs, seen.Confirmed = append(seen.Runs, found...), true }, nil
}

// deleteRun deletes a run with all that it made. One that has ended goes as kubectl does it: at once, and what it left follows. One that goes on is there
// until the pods are gone that the operator made of it; a driver that spark-submit made is waited for after that (runs.Observe).
func (r *Reconciler) deleteRun(ctx context.Context, p *pass, action lifecycle.Action) error {
	for _, run := range p.children.Runs {
		if run.GetName() != action.Name || run.GetDeletionTimestamp() != nil {
			continue
		}
		how := metav1.DeletePropagationBackground
		if r.kind.Runs.Facts(run).Outcome == lifecycle.Undecided {
			how = metav1.DeletePropagationForeground
		}
		return r.dependents().DeleteOne(ctx, run, client.PropagationPolicy(how))
	}
	return nil
}
