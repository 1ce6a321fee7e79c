package controller

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
)

// budgetInterval lies between two requests for a budget that was refused.
const budgetInterval = 15 * time.Second

// createBudget makes what keeps a driver from evictions. Whatever is said against it is told, and holds nothing up: the driver runs as well without.
func (r *Reconciler) createBudget(ctx context.Context, p *pass, action lifecycle.Action) (fact, error) {
	asked := apianswer.Question{Key: identity.Key(p.stored), Part: lifecycle.DriverBudget}
	cause, known := r.budgets.Last(asked, p.stored.GetUID(), action.Attempt, p.now)
	if !known {
		var err error
		if cause, err = r.makeBudget(ctx, p, action); err != nil {
			return nil, err
		}
	}
	if cause.Reason == "" {
		r.budgets.Forget(asked)
		return nil, nil
	}
	if !known {
		r.budgets.Set(asked, apianswer.Reply{UID: p.stored.GetUID(), Attempt: action.Attempt, Until: p.now.Add(budgetInterval), Cause: cause})
	}
	return p.hindrance(cause, "the driver is not kept from evictions: "+cause.Message), nil
}

// makeBudget returns why there is none. One that is there already, and is the application's, is as good as new.
func (r *Reconciler) makeBudget(ctx context.Context, p *pass, action lifecycle.Action) (lifecycle.Cause, error) {
	objects, cause := r.render(p, action)
	if cause != nil {
		return *cause, nil
	}
	for _, object := range objects.Before {
		if err := identity.Verify(object, p.stored, action.Attempt); err != nil {
			return lifecycle.Cause{}, err
		}
		made := object.DeepCopyObject().(client.Object)
		err := r.dependents.Client.Create(ctx, made)
		switch cause, _ := apianswer.Rejection(err); {
		case err == nil:
			p.remember(made)
		case apierrors.IsAlreadyExists(err):
			return r.whoseBudget(ctx, p, object)
		case apianswer.NamespaceTerminating(err):
		case cause.Reason != "":
			return cause, nil
		default:
			return lifecycle.Cause{}, fmt.Errorf("create %s %s: %w", dependents.KindBudget, object.GetName(), err)
		}
	}
	return lifecycle.Cause{}, nil
}

// whoseBudget looks live at who has the name. What is the application's own and going, or of another attempt, is waited
// for, as is what an application of the same name left.
func (r *Reconciler) whoseBudget(ctx context.Context, p *pass, object client.Object) (lifecycle.Cause, error) {
	existing, gvk, err := r.dependents.ReadLive(ctx, object)
	if err == nil && identity.Inherited(existing, p.stored) {
		return lifecycle.Cause{}, r.replaceBudget(ctx, p, existing, object)
	}
	if err != nil || identity.BelongsTo(existing, p.stored) || r.dependents.WhyFreed(existing, gvk.Kind, p.stored) != "" {
		return lifecycle.Cause{}, client.IgnoreNotFound(err)
	}
	return dependents.NameTaken(existing, gvk.Kind), nil
}

// replaceBudget puts ours in the place of one that another operator made for the application.
func (r *Reconciler) replaceBudget(ctx context.Context, p *pass, existing, object client.Object) error {
	if err := r.dependents.DeleteOne(ctx, existing); err != nil {
		return err
	}
	made := object.DeepCopyObject().(client.Object)
	if err := r.dependents.Client.Create(ctx, made); err != nil {
		return client.IgnoreAlreadyExists(err)
	}
	p.remember(made)
	return nil
}
