package controller

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
func (r *Reconciler) delete(ctx context.Context, p *pass, action lifecycle.Action) (fact, error) {
	if action.Part == lifecycle.Application {
		return p.hinder(r.expire(ctx, p))
	}
	targets := p.targets(action)
	var how []client.DeleteOption
	if action.Force {
		how = append(how, client.GracePeriodSeconds(0))
	}
	errs := dependents.OnEach(targets, func(target client.Object) error { return r.dependents.DeleteOne(ctx, target, how...) })
	// A Secret goes with the pod that read it when it began: once that is gone nobody sees any more that there is one.
	if (action.Part == lifecycle.Attempt || action.Part == lifecycle.DriverPod) && dependents.MayHaveSecrets(r.kind.Secrets, p.having(), action.Attempt) {
		errs = append(errs, r.dependents.DeleteSecrets(ctx, p.stored, action.Attempt))
	}
	var first fact // in the targets' order, so that one world gives one account
	for i, err := range errs {
		var found fact
		if found, errs[i] = p.hinder(err); first == nil {
			first = found
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return first, nil
}

// hinder makes a fact of a deletion that was refused for good, or for want of a right: the same request would be refused the same way,
// and an application is not held up by what it cannot get rid of. What was refused before it in the pass stays the account of it.
func (p *pass) hinder(err error) (fact, error) {
	cause, _ := apianswer.Rejection(err)
	if cause.Reason == "" {
		return nil, err
	}
	return p.hindrance(cause, err.Error()), nil
}

// hindrance notes what the rest of the pass goes on without, and makes a fact of it.
func (p *pass) hindrance(cause lifecycle.Cause, why string) fact {
	if p.hindered == nil {
		p.hindered = &apianswer.Wait{Reason: cause.Reason, Message: why}
	}
	if p.seen.Refusal != nil {
		return nil
	}
	return refused(cause)
}

// targets lists what an action is to delete: from the cache, and of what this pass made itself.
func (p *pass) targets(action lifecycle.Action) []client.Object {
	return dependents.Targets(p.having(), action)
}

// having lists all dependents that are known.
func (p *pass) having() []client.Object { return append(p.children.Deletable(), p.made...) }

// expire deletes the custom resource as it was read: an edit that came meanwhile may want it to live.
func (r *Reconciler) expire(ctx context.Context, p *pass) error {
	err := r.dependents.Client.Delete(ctx, p.stored, client.Preconditions{
		UID: new(p.stored.GetUID()), ResourceVersion: new(p.stored.GetResourceVersion()),
	})
	switch {
	case apierrors.IsConflict(err):
		return &apianswer.Wait{Message: "it was changed when it was to be deleted"}
	case client.IgnoreNotFound(err) != nil:
		return err
	}
	p.expired = true
	return nil
}
