package apply

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// delete deletes a part of an attempt, or the custom resource itself. It skips objects that are already being deleted,
// and ignores objects that do not exist.
func (a Applier) delete(ctx context.Context, view dependents.View, action lifecycle.Action) (Outcome, error) {
	if action.Part == lifecycle.Application {
		if after := a.Dependents.HoldFor(identity.Key(view.Owner), view.Deletable()...); after > 0 {
			return Outcome{RequeueAfter: after}, nil
		}

		if err := a.expire(ctx, view.Owner); err != nil {
			return reportRejection(view, err)
		}
		return Outcome{Expired: true}, nil
	}

	having := view.Deletable()
	targets := dependents.Targets(having, action)
	// A wait for logs is no failure: the status of this pass is stored, and the next pass decides on the deletion again.
	// The log of a pod on a lost node cannot be read.
	if after := a.Dependents.HoldFor(identity.Key(view.Owner), targets...); after > 0 && !action.Force {
		return Outcome{RequeueAfter: after}, nil
	}

	var how []client.DeleteOption
	if action.Force {
		how = append(how, client.GracePeriodSeconds(0))
	} else {
		targets = a.Deletions.Pending(identity.Key(view.Owner), targets, view.Now)
	}

	errs := dependents.ForEach(targets, func(target client.Object) error { return a.Dependents.DeleteOne(ctx, target, how...) })
	if errors.Join(errs...) == nil {
		a.Deletions.Requested(identity.Key(view.Owner), targets, view.Now)
	}
	// The caches hold no Secrets. Only the pod that reads a Secret at its start shows that the Secret exists, so both
	// are deleted together.
	if (action.Part == lifecycle.Attempt || action.Part == lifecycle.DriverPod) && dependents.MayHaveSecrets(a.Kind.Traits().Secrets, having, action.Attempt) {
		errs = append(errs, a.Dependents.DeleteSecrets(ctx, view.Owner, action.Attempt))
	}

	var all Outcome
	for i, err := range errs { // in the order of the targets, so that the same objects give the same fact
		var outcome Outcome
		outcome, errs[i] = reportRejection(view, err)
		all = all.Add(outcome)
	}

	err := errors.Join(errs...)
	if err != nil {
		all.Fact = nil
	}
	return all, err
}

// reportRejection turns a rejected deletion into a fact. It returns any other error unchanged. A rejected deletion is
// not repeated, because it would be rejected again, and the application must not wait for an object that the operator
// cannot delete. If several deletions of a pass are rejected, only the first rejection becomes a fact.
func reportRejection(view dependents.View, err error) (Outcome, error) {
	cause, _ := apianswer.Rejection(err)
	if cause.Reason == "" {
		return Outcome{}, err
	}
	return rejectedAction(view, cause, err.Error()), nil
}

// rejectedAction returns the outcome of an action that the API server rejected with the given message.
func rejectedAction(view dependents.View, cause lifecycle.Cause, message string) Outcome {
	outcome := Outcome{Rejected: &apianswer.Wait{Reason: cause.Reason, Message: message}}
	if view.Seen.Rejection == nil {
		outcome.Fact = RejectionFact(cause)
	}
	return outcome
}

// expire deletes the custom resource, unless it was changed after it was read. A change may mean that the user wants to
// keep it.
func (a Applier) expire(ctx context.Context, owner client.Object) error {
	err := a.Dependents.Client.Delete(ctx, owner, client.Preconditions{UID: new(owner.GetUID()), ResourceVersion: new(owner.GetResourceVersion())})
	if apierrors.IsConflict(err) {
		return &apianswer.Wait{Message: "the custom resource was changed just before its deletion, so the operator decides again whether to delete it"}
	}
	return client.IgnoreNotFound(err)
}
