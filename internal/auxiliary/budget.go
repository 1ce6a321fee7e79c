package auxiliary

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// budgetInterval is the time after which the operator repeats a rejected request for a budget.
const budgetInterval = 15 * time.Second

// Budgets creates the PodDisruptionBudgets of drivers.
type Budgets struct {
	dependents.Client
	Replies *apianswer.Replies // caches rejections
}

// Create creates the budget of an attempt's driver, and returns the created objects. If the budget cannot be rendered
// or is rejected by the API server, Create also returns the cause. It then returns the same cause without a request
// until budgetInterval is over. Create calls the function render only if it sends a request. A returned error is
// transient.
func (b Budgets) Create(ctx context.Context, view dependents.View, attempt int32, render func() (submit.Objects, *lifecycle.Cause)) ([]client.Object, lifecycle.Cause, error) {
	asked := apianswer.Question{Key: identity.Key(view.Owner), Part: lifecycle.DriverBudget}
	cause, known := b.Replies.Last(asked, view.Owner.GetUID(), attempt, view.Now)
	var made []client.Object
	if !known {
		var err error
		if made, cause, err = b.make(ctx, view.Owner, attempt, render); err != nil {
			return made, lifecycle.Cause{}, err
		}
	}
	switch {
	case cause.Reason == "":
		b.Replies.Forget(asked)
	case !known:
		b.Replies.Set(asked, apianswer.Reply{UID: view.Owner.GetUID(), Attempt: attempt, Until: view.Now.Add(budgetInterval), Cause: cause})
	}
	return made, cause, nil
}

// make sends the request that creates the budget. It returns the created objects, and the cause if the budget cannot be
// rendered or created. If the application already has this budget, make leaves it unchanged.
func (b Budgets) make(ctx context.Context, owner client.Object, attempt int32, render func() (submit.Objects, *lifecycle.Cause)) (all []client.Object, _ lifecycle.Cause, _ error) {
	objects, cause := render()
	if cause != nil {
		return nil, *cause, nil
	}
	for _, object := range objects.Before {
		if err := identity.Verify(object, owner, attempt); err != nil {
			return all, lifecycle.Cause{}, err
		}
		made := object.DeepCopyObject().(client.Object)
		err := b.Client.Create(ctx, made)
		switch cause, _ := apianswer.Rejection(err); {
		case err == nil:
			all = append(all, made)
		case apierrors.IsAlreadyExists(err):
			replaced, cause, err := b.ownedByOthers(ctx, owner, object)
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

// ownedByOthers reads the existing object that has the budget's name. If it is a budget that another operator created
// for the application, ownedByOthers replaces it. If the object belongs to somebody else, ownedByOthers returns a
// cause. If the object belongs to the application, or will soon be deleted, ownedByOthers does nothing.
func (b Budgets) ownedByOthers(ctx context.Context, owner, object client.Object) ([]client.Object, lifecycle.Cause, error) {
	existing, gvk, err := b.ReadLive(ctx, object)
	if err == nil && identity.Inherited(existing, owner) {
		made, err := b.replace(ctx, existing, object)
		return made, lifecycle.Cause{}, err
	}
	if err != nil || identity.BelongsTo(existing, owner) || b.WhyNameFrees(existing, gvk.Kind, owner) != "" {
		return nil, lifecycle.Cause{}, client.IgnoreNotFound(err)
	}
	return nil, dependents.NameTaken(existing, gvk.Kind), nil
}

// replace replaces a budget that another operator created for the application.
func (b Budgets) replace(ctx context.Context, existing, object client.Object) ([]client.Object, error) {
	if err := b.DeleteOne(ctx, existing); err != nil {
		return nil, err
	}
	made := object.DeepCopyObject().(client.Object)
	if err := b.Client.Create(ctx, made); err != nil {
		return nil, client.IgnoreAlreadyExists(err)
	}
	return []client.Object{made}, nil
}
