package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// requestsAtOnce bounds the requests that one pass has in flight when it creates, corrects or deletes objects.
const requestsAtOnce = 8

// sideBySide calls a function for each number below n, for requestsAtOnce of them at a time, and waits for all.
func sideBySide(n int, one func(i int)) {
	slots := make(chan struct{}, requestsAtOnce)
	var all sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			one(i)
		})
	}
	all.Wait()
}

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
	errs := deleteAll(targets, func(target client.Object) error { return r.deleteOne(ctx, target, how...) })
	// A Secret goes with the pod that read it when it began: once that is gone nobody sees any more that there is one.
	if (action.Part == lifecycle.Attempt || action.Part == lifecycle.DriverPod) && r.mayHaveSecrets(p, action.Attempt) {
		errs = append(errs, r.deleteSecrets(ctx, p, action.Attempt))
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

// deleteAll deletes objects side by side, and returns what became of each.
func deleteAll(objects []client.Object, one func(client.Object) error) []error {
	errs := make([]error, len(objects))
	sideBySide(len(objects), func(i int) { errs[i] = one(objects[i]) })
	return errs
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

// targets lists what an action is to delete: from the cache, and of what this pass made itself. Secrets go by their labels. What is going already is left
// alone, but for pods that are given no more time.
func (p *pass) targets(action lifecycle.Action) []client.Object {
	var targets []client.Object
	for _, object := range p.having() {
		going := object.GetDeletionTimestamp() != nil && (!action.Force || identity.PodOf(object) == nil)
		if identity.Attempt(object) == action.Attempt && !going && !identity.IsAuxiliary(object) && !identity.InSet(object) && includes(action.Part, object) {
			targets = append(targets, object)
		}
	}
	return targets
}

// having lists all children that are known.
func (p *pass) having() []client.Object {
	var all []client.Object
	for i := range p.children.drivers {
		all = append(all, &p.children.drivers[i])
	}
	for i := range p.children.submitters {
		all = append(all, &p.children.submitters[i])
	}
	for i := range p.children.executors {
		all = append(all, &p.children.executors[i])
	}
	for i := range p.children.others {
		all = append(all, &p.children.others[i])
	}
	return append(all, p.made...)
}

// includes reports whether an attempt's object is of the part that an action is about.
func includes(part lifecycle.Part, object client.Object) bool {
	pod, isPod := object.(*corev1.Pod)
	switch part {
	case lifecycle.Attempt:
		_, isSecret := object.(*corev1.Secret)
		return !isSecret
	case lifecycle.DriverPod:
		return isBudget(object) || isPod && identity.IsLaunched(pod)
	case lifecycle.DriverBudget:
		return isBudget(object)
	case lifecycle.Executors:
		if isGroup(object) {
			return true
		}
		// One that ended by itself is kept for its log as long as the attempt's driver is.
		ended := isPod && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed)
		return isPod && pod.Labels[identity.RoleLabel] == identity.RoleExecutor && !ended
	}
	return false
}

// deleteOne deletes the very object that was seen: another of its name is left alone, which is what the UID precondition is for.
func (r *Reconciler) deleteOne(ctx context.Context, object client.Object, how ...client.DeleteOption) error {
	err := r.client.Delete(ctx, object, append(how, client.Preconditions{UID: new(object.GetUID())})...)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete %s: %w", object.GetName(), err)
	}
	return nil
}

// expire deletes the custom resource as it was read: an edit that came meanwhile may want it to live.
func (r *Reconciler) expire(ctx context.Context, p *pass) error {
	err := r.client.Delete(ctx, p.stored, client.Preconditions{
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
