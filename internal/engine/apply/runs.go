package apply

import (
	"context"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/runs"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// deletionInterval is the time after which the rejected deletion of a run is repeated.
const deletionInterval = 15 * time.Second

func (a Applier) actOnRun(ctx context.Context, view dependents.View, d Decision, action lifecycle.Action) (Outcome, error) {
	acts := runs.Client{Dependents: a.Dependents, Kind: a.Kind.(runs.Kind), Owner: view.Owner, Known: view.Set.Runs}
	switch action.Verb {
	case lifecycle.Create:
		return a.createRun(ctx, view, acts, d, action)
	case lifecycle.Confirm:
		heads, facts, err := acts.Confirm(ctx, action.Name)
		if err != nil {
			return Outcome{}, err
		}
		return Outcome{Found: dependents.Set{Runs: heads}, Fact: func(seen *lifecycle.Observed) {
			seen.Runs, seen.Confirmed = slices.Concat(seen.Runs, facts), true
		}}, nil
	case lifecycle.Delete:
		after, err := acts.HoldFor(ctx, action.Name)
		if after > 0 || err != nil {
			return Outcome{RequeueAfter: after}, err
		}
		return refusedDeletion(acts.Delete(ctx, action.Name))
	}
	return Outcome{}, lifecycle.Bugf("the decision contains an action that the operator cannot carry out")
}

// refusedDeletion returns the outcome of a run's deletion. A rejected deletion is reported and repeated, but is no
// fact: in a decision about runs, a rejection is that of the run that is due. The schedule waits for an active run in
// any case, and an ended run beyond the history limits delays nothing.
func refusedDeletion(err error) (Outcome, error) {
	cause, _ := apianswer.Rejection(err)
	if cause.Reason == "" {
		return Outcome{}, err
	}
	return Outcome{Rejected: &apianswer.Wait{Reason: cause.Reason, Message: err.Error()}, RequeueAfter: deletionInterval}, nil
}

// createRun creates a run, unless an earlier action of the same pass has created it.
func (a Applier) createRun(ctx context.Context, view dependents.View, acts runs.Client, d Decision, action lifecycle.Action) (Outcome, error) {
	if slices.ContainsFunc(view.Created, func(made client.Object) bool { return made.GetName() == action.Name }) {
		return Outcome{}, nil
	}

	run, cause := renderRun(acts.Kind, d, action)
	if cause != nil {
		return Outcome{Fact: RejectionFact(*cause)}, nil
	}

	created, err := acts.Create(ctx, run, action)
	switch {
	case err != nil:
		return Outcome{}, err
	case created.Refused != nil:
		return Outcome{Fact: RejectionFact(*created.Refused)}, nil
	}
	return Outcome{
		Created: []client.Object{asTypedPod(created.Run)},
		Started: []runs.StartedRun{{Name: action.Name, Due: acts.Kind.RunDue(view.Owner, created.Run), At: created.Since}},
	}, nil
}

// renderRun returns the run to create. It returns a cause if the run cannot be rendered, which is always an error in
// the spec.
func renderRun(kind runs.Kind, d Decision, action lifecycle.Action) (client.Object, *lifecycle.Cause) {
	run, err := kind.RenderRun(d.Object, action)
	if err != nil {
		return nil, &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: err.Error()}
	}
	return run, nil
}
