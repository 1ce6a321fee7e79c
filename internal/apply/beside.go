package apply

import (
	"context"
	"errors"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/explain"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/runs"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// createBudget creates the PodDisruptionBudget of a driver. A rejection is reported and stops nothing: the driver runs
// without a budget, too.
func (a Applier) createBudget(ctx context.Context, view dependents.View, d Decision, action lifecycle.Action) (Outcome, error) {
	made, cause, err := a.Budgets.Create(ctx, view, action.Attempt, func() (submit.Objects, *lifecycle.Cause) { return a.render(d, action) })
	came := Outcome{Created: made}
	if err != nil || cause.Reason == "" {
		return came, err
	}
	return came.Add(rejectedAction(view, cause, "the driver is not kept from evictions: "+cause.Message)), nil
}

// probe finds out why requested executors are missing.
func (a Applier) probe(ctx context.Context, view dependents.View, d Decision, action lifecycle.Action) Outcome {
	short := explain.Shortage{Of: identity.Key(view.Owner), UID: view.Owner.GetUID(), Attempt: action.Attempt, Since: d.Plan.Next.ShortSince}
	if driver := view.Seen.Driver(action.Attempt); driver != nil {
		short.Driver, short.Account = types.UID(driver.UID), view.Set.AccountOf(driver.UID)
	}
	if a.Kind.Executors.Render != nil {
		short.Executor = func() (*corev1.Pod, error) {
			return a.Kind.Executors.Render(d.Object, action.Attempt, nextExecutor(view.Seen.Executors, action.Attempt), short.Driver, view.Now)
		}
	}
	answer := a.Explainer.Executors(ctx, short, view.Now)
	return Outcome{RequeueAfter: answer.QueryAfter, Fact: func(seen *lifecycle.Observed) {
		seen.ProbeResult, seen.QuerySkipped = &answer.Cause, seen.QuerySkipped || answer.Skipped
	}}
}

// nextExecutor returns an executor id that is not in use in an attempt.
func nextExecutor(executors []lifecycle.Executor, attempt int32) int {
	last := 0
	for i := range executors {
		if id, err := strconv.Atoi(executors[i].ID); err == nil && executors[i].Attempt == attempt {
			last = max(last, id)
		}
	}
	return last + 1
}

func (a Applier) actOnRun(ctx context.Context, view dependents.View, d Decision, action lifecycle.Action) (Outcome, error) {
	acts := runs.Client{Dependents: a.Dependents, Kind: a.Kind.Runs, Owner: view.Owner, Known: view.Set.Runs}
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
		return reportRejection(view, acts.Delete(ctx, action.Name))
	}
	return Outcome{}, errors.New("no such verb")
}

// createRun creates a run, unless an earlier round of this pass did.
func (a Applier) createRun(ctx context.Context, view dependents.View, acts runs.Client, d Decision, action lifecycle.Action) (Outcome, error) {
	if slices.ContainsFunc(view.Created, func(made client.Object) bool { return made.GetName() == action.Name }) {
		return Outcome{}, nil
	}
	run, cause := a.renderRun(d, action)
	if cause != nil {
		return Outcome{Fact: RejectionFact(*cause)}, nil
	}
	came, err := acts.Create(ctx, run, action)
	switch {
	case err != nil:
		return Outcome{}, err
	case came.Refused != nil:
		return Outcome{Fact: RejectionFact(*came.Refused)}, nil
	}
	return Outcome{
		Created: []client.Object{identityOf(came.Run)},
		Started: []runs.StartedRun{{Name: action.Name, Due: a.Kind.Runs.Due(view.Owner, came.Run), At: came.Since}},
	}, nil
}

// renderRun returns a cause if the run cannot be rendered, which is an error of the user.
func (a Applier) renderRun(d Decision, action lifecycle.Action) (client.Object, *lifecycle.Cause) {
	run, err := a.Kind.Runs.Render(d.Object, action)
	if err != nil {
		return nil, &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: err.Error()}
	}
	return run, nil
}
