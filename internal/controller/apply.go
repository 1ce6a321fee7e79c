package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// fact is something that an action brought up and that the decision did not know. The decision is made again with it.
type fact func(*lifecycle.Observed)

func refused(cause lifecycle.Cause) fact {
	return func(seen *lifecycle.Observed) { seen.Refusal = &cause }
}

// apply carries out the plan's actions in order, up to the first that brings up a fact.
func (r *Reconciler) apply(ctx context.Context, p *pass) (fact, error) {
	for _, action := range p.plan.Do {
		found, err := r.act(ctx, p, action)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", inWords(action), err)
		}
		if found != nil {
			return found, nil
		}
	}
	return nil, nil
}

func inWords(action lifecycle.Action) string {
	if action.Part == lifecycle.ScheduledRun {
		return fmt.Sprintf("%s %s %s", action.Verb, action.Part, action.Name)
	}
	return fmt.Sprintf("%s %s of attempt %d", action.Verb, action.Part, action.Attempt)
}

func (r *Reconciler) actOn(ctx context.Context, p *pass, action lifecycle.Action) (fact, error) {
	if action.Part == lifecycle.ScheduledRun {
		return r.actOnRun(ctx, p, action)
	}
	switch action.Verb {
	case lifecycle.Create:
		if action.Part == lifecycle.DriverBudget {
			return r.createBudget(ctx, p, action)
		}
		return r.create(ctx, p, action)
	case lifecycle.Confirm:
		if action.Part == lifecycle.Executors {
			return r.probe(ctx, p, action), nil
		}
		return r.confirm(ctx, p, action)
	case lifecycle.Delete:
		return r.delete(ctx, p, action)
	}
	return nil, errors.New("no such verb")
}

// create makes everything of a submission: what the driver mounts and resolves first, side by side, then the driver pod; or the Secret that a
// submitter reads, then that. It begins with creating and looks at what exists only when that is refused.
func (r *Reconciler) create(ctx context.Context, p *pass, action lifecycle.Action) (fact, error) {
	begin := time.Now()
	objects, cause := r.render(p, action)
	p.spent.rendering += time.Since(begin)
	if cause != nil {
		return refused(*cause), nil
	}
	p.warnings = append(p.warnings, objects.Warnings...)
	driver, err := objects.DriverObject()
	if err != nil {
		return nil, err
	}
	before := make([]client.Object, 0, len(objects.Before)+1)
	for _, object := range objects.Before {
		before = append(before, object)
	}
	for _, object := range append(before, driver) {
		if err := identity.Verify(object, p.stored, action.Attempt); err != nil {
			return nil, err
		}
	}
	found, err := r.createAll(ctx, p, before, objects.Driver)
	if found != nil || err != nil {
		return found, err
	}
	return r.createOne(ctx, p, driver, objects.Driver)
}

// render makes a cause of an error, which is the user's. Passes that are held up, one after the other, render the same: what an earlier one of them made
// would else be another's, to be made again, and the coming and going of that would call for the next pass at once.
func (r *Reconciler) render(p *pass, action lifecycle.Action) (submit.Objects, *lifecycle.Cause) {
	objects, err := r.kind.Render(p.object, action, r.waits.begun(identity.Key(p.stored), p.now))
	if err != nil {
		return submit.Objects{}, &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: err.Error()}
	}
	return objects, nil
}

// createAll creates objects that do not depend on each other. A transient error wins over a fact: the next pass finds the fact again.
func (r *Reconciler) createAll(ctx context.Context, p *pass, objects []client.Object, driver *corev1.Pod) (fact, error) {
	facts, errs := make([]fact, len(objects)), make([]error, len(objects))
	dependents.SideBySide(len(objects), func(i int) { facts[i], errs[i] = r.createOne(ctx, p, objects[i], driver) })
	if err := errors.Join(errs...); err != nil {
		if wait := apianswer.WaitOf(err); wait != nil {
			return nil, wait
		}
		return nil, err
	}
	for _, found := range facts {
		if found != nil {
			return found, nil
		}
	}
	return nil, nil
}

func (r *Reconciler) createOne(ctx context.Context, p *pass, object client.Object, driver *corev1.Pod) (fact, error) {
	came, err := r.dependents.CreateOne(ctx, r.kind.Inherited, p.stored, object, driver)
	switch {
	case err != nil:
		return nil, err
	case came.Refused != nil:
		return refused(*came.Refused), nil
	case came.Older != nil:
		return p.foundOlder(came.Older)
	case came.Made != nil:
		p.remember(came.Made)
	}
	return nil, nil
}

// foundOlder takes an object of another attempt into the facts. When the decision knew it and wants to create nevertheless, all that is
// left is to wait for it to go.
func (p *pass) foundOlder(existing client.Object) (fact, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kind, attempt := dependents.KindOf(existing), identity.Attempt(existing)
	if p.children.Has(existing) {
		return nil, &apianswer.Wait{Message: fmt.Sprintf("%s %s of attempt %d still exists", kind, existing.GetName(), attempt)}
	}
	if pod, isPod := existing.(*corev1.Pod); isPod {
		return p.foundPod(pod), nil
	}
	p.children.Others = append(p.children.Others, metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{Kind: kind, APIVersion: existing.GetObjectKind().GroupVersionKind().GroupVersion().String()},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: existing.GetNamespace(), Name: existing.GetName(), UID: existing.GetUID(),
			Labels: existing.GetLabels(), DeletionTimestamp: existing.GetDeletionTimestamp(),
		},
	})
	return func(seen *lifecycle.Observed) { seen.Remains = append(seen.Remains, attempt) }, nil
}

// remember notes what this pass made, for the decisions that follow in it. Several creations run side by side.
func (p *pass) remember(object client.Object) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pod := identity.PodOf(object); pod != nil {
		object = pod
	}
	p.made = append(p.made, object)
}
