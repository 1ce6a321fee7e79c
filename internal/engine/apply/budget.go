package apply

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// budgetInterval is the time after which the operator repeats a rejected request for a budget.
const budgetInterval = 15 * time.Second

// createBudget creates the PodDisruptionBudget of a driver. If the API server rejects the budget, the rejection is
// reported, but the other actions continue, because the driver can run without a budget. createBudget reports the same
// rejection without another request until budgetInterval is over.
func (a Applier) createBudget(ctx context.Context, view dependents.View, d Decision, action lifecycle.Action) (Outcome, error) {
	asked := apianswer.Question{Key: identity.Key(view.Owner), Part: lifecycle.DriverBudget}
	cause, known := a.Replies.Last(asked, view.Owner.GetUID(), action.Attempt, view.Now)

	var outcome Outcome
	if !known {
		var err error
		if outcome.Created, cause, err = a.makeBudget(ctx, view.Owner, d, action); err != nil {
			return outcome, err
		}
	}

	if cause.Reason == "" {
		a.Replies.Forget(asked)
		return outcome, nil
	}

	if !known {
		a.Replies.Set(asked, apianswer.Reply{UID: view.Owner.GetUID(), Attempt: action.Attempt, Until: view.Now.Add(budgetInterval), Cause: cause})
	}
	return outcome.Add(rejectedAction(view, cause, "the driver is not protected from evictions, because its PodDisruptionBudget was not created: "+cause.Message)), nil
}

// makeBudget sends the request that creates the budget. It returns the created objects, and the cause if the budget
// cannot be rendered or created. If the application already has this budget, makeBudget leaves it unchanged.
func (a Applier) makeBudget(ctx context.Context, owner client.Object, d Decision, action lifecycle.Action) (all []client.Object, _ lifecycle.Cause, _ error) {
	objects, cause := a.render(d, action)
	if cause != nil {
		return nil, *cause, nil
	}

	for _, object := range objects.Before {
		if err := identity.Verify(object, owner, action.Attempt); err != nil {
			return all, lifecycle.Cause{}, err
		}

		made := object.DeepCopyObject().(client.Object)

		err := a.Dependents.Client.Create(ctx, made)
		switch cause, _ := apianswer.Rejection(err); {
		case err == nil:
			all = append(all, made)
		case apierrors.IsAlreadyExists(err):
			replaced, cause, err := a.takeBudgetOver(ctx, owner, object)
			return append(all, replaced...), cause, err
		case apianswer.NamespaceTerminating(err):
		case cause.Reason != "":
			return all, cause, nil
		default:
			return all, lifecycle.Cause{}, fmt.Errorf("create %s %s: %w", dependents.KindBudget, object.GetName(), err)
		}
	}
	return all, lifecycle.Cause{}, nil
}

// takeBudgetOver reads the existing object that has the budget's name. If it is a budget that another operator created
// for the application, takeBudgetOver replaces it. If the object belongs to somebody else, takeBudgetOver returns a
// cause. If the object belongs to the application, or will soon be deleted, takeBudgetOver does nothing.
func (a Applier) takeBudgetOver(ctx context.Context, owner, object client.Object) ([]client.Object, lifecycle.Cause, error) {
	existing, gvk, err := a.Dependents.ReadLive(ctx, object)
	if err == nil && identity.Inherited(existing, owner) {
		made, err := a.replaceBudget(ctx, existing, object)
		return made, lifecycle.Cause{}, err
	}

	if err != nil || identity.BelongsTo(existing, owner) || a.Dependents.WhyNameFrees(existing, gvk.Kind, owner) != "" {
		return nil, lifecycle.Cause{}, client.IgnoreNotFound(err)
	}
	return nil, dependents.NameTaken(existing, gvk.Kind), nil
}

// replaceBudget replaces a budget that another operator created for the application.
func (a Applier) replaceBudget(ctx context.Context, existing, object client.Object) ([]client.Object, error) {
	if err := a.Dependents.DeleteOne(ctx, existing); err != nil {
		return nil, err
	}

	made := object.DeepCopyObject().(client.Object)
	if err := a.Dependents.Client.Create(ctx, made); err != nil {
		return nil, client.IgnoreAlreadyExists(err)
	}
	return []client.Object{made}, nil
}
