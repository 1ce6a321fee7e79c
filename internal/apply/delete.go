package apply

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// delete removes a part of an attempt, or the custom resource. What is already going is left alone; what is gone is no error.
func (a Applier) delete(ctx context.Context, view dependents.View, action lifecycle.Action) (Outcome, error) {
	if action.Part == lifecycle.Application {
		if err := a.expire(ctx, view.Owner); err != nil {
			return hinder(view, err)
		}
		return Outcome{Expired: true}, nil
	}
	having := view.Deletable()
	var how []client.DeleteOption
	if action.Force {
		how = append(how, client.GracePeriodSeconds(0))
	}
	errs := dependents.OnEach(dependents.Targets(having, action), func(target client.Object) error { return a.Dependents.DeleteOne(ctx, target, how...) })
	// A Secret goes with the pod that read it when it began: once that is gone nobody sees any more that there is one.
	if (action.Part == lifecycle.Attempt || action.Part == lifecycle.DriverPod) && dependents.MayHaveSecrets(a.Kind.Secrets, having, action.Attempt) {
		errs = append(errs, a.Dependents.DeleteSecrets(ctx, view.Owner, action.Attempt))
	}
	var all Outcome
	for i, err := range errs { // in the targets' order, so that one world gives one account
		var came Outcome
		came, errs[i] = hinder(view, err)
		all = all.Then(came)
	}
	err := errors.Join(errs...)
	if err != nil {
		all.Fact = nil
	}
	return all, err
}

// hinder makes a fact of a deletion that was refused for good, or for want of a right: the same request would be refused the same way,
// and an application is not held up by what it cannot get rid of. What was refused before it in the pass stays the account of it.
func hinder(view dependents.View, err error) (Outcome, error) {
	cause, _ := apianswer.Rejection(err)
	if cause.Reason == "" {
		return Outcome{}, err
	}
	return hindrance(view, cause, err.Error()), nil
}

// hindrance is what the rest of the pass goes on without, and a fact where nothing was refused before.
func hindrance(view dependents.View, cause lifecycle.Cause, why string) Outcome {
	came := Outcome{Hindered: &apianswer.Wait{Reason: cause.Reason, Message: why}}
	if view.Seen.Refusal == nil {
		came.Fact = Refused(cause)
	}
	return came
}

// expire deletes the custom resource as it was read: an edit that came meanwhile may want it to live.
func (a Applier) expire(ctx context.Context, owner client.Object) error {
	err := a.Dependents.Client.Delete(ctx, owner, client.Preconditions{UID: new(owner.GetUID()), ResourceVersion: new(owner.GetResourceVersion())})
	if apierrors.IsConflict(err) {
		return &apianswer.Wait{Message: "it was changed when it was to be deleted"}
	}
	return client.IgnoreNotFound(err)
}
