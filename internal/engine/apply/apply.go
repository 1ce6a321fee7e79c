// Package apply carries out the actions of a decision: it creates, adopts, confirms and deletes dependents. An action
// can find a fact that was not known when the decision was made. Then Apply stops, and a new decision replaces the
// remaining actions.
package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/explain"
	"github.com/sparkoperator/spark-operator/internal/engine/runs"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Applier carries out actions on custom resources of one kind.
type Applier struct {
	Kind       contract.Kind
	Dependents dependents.Client
	Explainer  *explain.Explainer // finds the reason why executors are missing
	Replies    *apianswer.Replies // rejections that are not queried again at once
	Queue      Queue              // nil if the kind is in no queue
	Deletions  *Deletions         // deletions that the caches may not show yet; nil: all are requested at once
}

// Launcher is a kind with attempts, each of which has a driver.
type Launcher interface {
	// Render returns the objects that a Create action creates. Objects.Driver is created last, and may be a pod that
	// creates the driver pod. An error is a fault of the user: no attempt of this spec can be rendered.
	Render(object client.Object, action lifecycle.Action, now time.Time) (submit.Objects, error)
}

// Decision is the decision of a pass, together with the custom resource on which its actions are carried out.
type Decision struct {
	Object client.Object // the custom resource, with the decided status
	Plan   lifecycle.Plan
	// Begun is the start of this pass or, if several consecutive passes had to wait, the start of the first of them.
	// Objects are rendered with this time, so that all these passes render the same objects and a later pass adopts the
	// objects of an earlier one.
	Begun time.Time
}

// Fact changes the observed state. It adds what an action has found, if this was not known when the decision was made.
type Fact func(*lifecycle.Observed)

// Outcome is the result of one or more actions.
type Outcome struct {
	Fact         Fact              // nil if the decision stays valid; otherwise the decision is made again with the fact
	Restored     []client.Object   // deleted objects of a live attempt that the actions created again
	Found        dependents.Set    // dependents that the view did not have
	Created      []client.Object   // objects that the actions created
	Warnings     []string          // warnings about the rendered objects
	Rejected     *apianswer.Wait   // the API server rejected a deletion or a budget; the other actions were carried out
	Expired      bool              // the custom resource itself was deleted
	Started      []runs.StartedRun // runs of this pass, or of an earlier pass that ended before it stored them
	RequeueAfter time.Duration     // time until the next pass; 0 = no request
	Spent        Spent
}

// Spent contains the time that the actions took, measured with the machine's clock. Only metrics use it.
type Spent struct {
	Acting    time.Duration
	Rendering time.Duration // a part of Acting
	Submitted time.Time     // when a submission's last object was created; zero without a submission
}

// Add combines two outcomes: this outcome, and the outcome of the actions that followed. If both have a fact or a
// rejection, Add keeps the earlier one.
func (o Outcome) Add(next Outcome) Outcome {
	if o.Fact == nil {
		o.Fact = next.Fact
	}

	if o.Rejected == nil {
		o.Rejected = next.Rejected
	}

	o.Restored = slices.Concat(o.Restored, next.Restored)
	o.Found, o.Created = o.Found.Add(next.Found), slices.Concat(o.Created, next.Created)
	o.Warnings, o.Started = slices.Concat(o.Warnings, next.Warnings), slices.Concat(o.Started, next.Started)
	o.Expired = o.Expired || next.Expired
	o.RequeueAfter = lifecycle.Soonest(o.RequeueAfter, next.RequeueAfter)
	o.Spent.Acting += next.Spent.Acting

	o.Spent.Rendering += next.Spent.Rendering
	if !next.Spent.Submitted.IsZero() {
		o.Spent.Submitted = next.Spent.Submitted
	}
	return o
}

// RejectionFact returns the fact that the API server rejected a request for the given cause.
func RejectionFact(cause lifecycle.Cause) Fact {
	return func(seen *lifecycle.Observed) { seen.Rejection = &cause }
}

// Apply carries out the plan's actions in order, and stops after the first action that finds a fact. A returned error
// is transient, a *apianswer.Wait or a bug of the operator. If an action fails, the outcome still contains the results
// of all actions before it.
func (a Applier) Apply(ctx context.Context, view dependents.View, d Decision) (Outcome, error) {
	var all Outcome
	for _, action := range d.Plan.Actions {
		begin := time.Now()
		outcome, err := a.act(ctx, view, d, action)
		end := time.Now()

		outcome.Spent.Acting += end.Sub(begin)
		if outcome.Fact == nil && err == nil && action.Verb == lifecycle.Create && action.Part == lifecycle.Submission {
			outcome.Spent.Submitted = end
		}

		view = view.Add(outcome.Found, outcome.Created)

		all = all.Add(outcome)
		if err != nil {
			return all, fmt.Errorf("%s: %w", inWords(action), err)
		}

		if outcome.Fact != nil {
			return all, nil
		}
	}
	return all, nil
}

func inWords(action lifecycle.Action) string {
	if action.Part == lifecycle.ScheduledRun {
		return fmt.Sprintf("%s %s %s", action.Verb, action.Part, action.Name)
	}
	return fmt.Sprintf("%s %s of attempt %d", action.Verb, action.Part, action.Attempt)
}

func (a Applier) act(ctx context.Context, view dependents.View, d Decision, action lifecycle.Action) (Outcome, error) {
	if action.Part == lifecycle.ScheduledRun {
		return a.actOnRun(ctx, view, d, action)
	}

	if isQuota(action.Part) {
		return a.actOnQuota(ctx, view, d, action)
	}

	switch action.Verb {
	case lifecycle.Create:
		switch action.Part {
		case lifecycle.DriverBudget:
			return a.createBudget(ctx, view, d, action)
		case lifecycle.DriverObjects:
			return a.remembered(view, action, func() (Outcome, error) { return a.restore(ctx, view, d, action) })
		}
		return a.remembered(view, action, func() (Outcome, error) { return a.create(ctx, view, d, action) })
	case lifecycle.Confirm:
		if action.Part == lifecycle.Executors {
			return a.probe(ctx, view, d, action), nil
		}
		return a.confirm(ctx, view, action)
	case lifecycle.Delete:
		return a.delete(ctx, view, action)
	}
	return Outcome{}, lifecycle.Bugf("the decision contains an action that the operator cannot carry out")
}

// create creates the objects of a submission: first the ConfigMaps and Services of the driver, in parallel, and then
// the driver pod. If spark-submit creates the driver, create first creates the Secret of the submitter pod and then the
// submitter pod. An existing object is read only if the API server rejects a creation because the name is taken.
func (a Applier) create(ctx context.Context, view dependents.View, d Decision, action lifecycle.Action) (Outcome, error) {
	begin := time.Now()
	objects, cause := a.render(d, action)

	outcome := Outcome{Warnings: objects.Warnings, Spent: Spent{Rendering: time.Since(begin)}}
	if cause != nil {
		outcome.Fact = RejectionFact(*cause)
		return outcome, nil
	}

	driver, err := objects.DriverObject()
	if err != nil {
		return outcome, err
	}

	before := make([]client.Object, 0, len(objects.Before)+1)
	for _, object := range objects.Before {
		before = append(before, object)
	}

	dependents.CountObjects(driver, before)

	for _, object := range append(before, driver) {
		if err := identity.Verify(object, view.Owner, action.Attempt); err != nil {
			return outcome, err
		}
	}

	first, err := a.createAll(ctx, view, before, objects.Driver)

	outcome = outcome.Add(first)
	if outcome.Fact != nil || err != nil {
		return outcome, err
	}

	last, err := a.createOne(ctx, view, driver, objects.Driver)
	return outcome.Add(last), err
}

// render returns the objects of a submission. It returns a cause if they cannot be rendered, which is always an error
// in the spec.
func (a Applier) render(d Decision, action lifecycle.Action) (submit.Objects, *lifecycle.Cause) {
	objects, err := a.Kind.(Launcher).Render(d.Object, action, d.Begun)
	if err != nil {
		return submit.Objects{}, &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: err.Error()}
	}
	return objects, nil
}

// createAll creates objects that do not depend on each other. If one of the creations fails with a transient error,
// createAll drops the facts that the other creations found. The next pass finds them again.
func (a Applier) createAll(ctx context.Context, view dependents.View, objects []client.Object, driver *corev1.Pod) (Outcome, error) {
	each, errs := make([]Outcome, len(objects)), make([]error, len(objects))
	dependents.InParallel(len(objects), func(i int) { each[i], errs[i] = a.createOne(ctx, view, objects[i], driver) })

	var all Outcome
	for _, outcome := range each {
		all = all.Add(outcome)
	}

	err := errors.Join(errs...)
	if err == nil {
		return all, nil
	}

	all.Fact = nil
	if wait := apianswer.WaitOf(err); wait != nil {
		return all, wait
	}
	return all, err
}

func (a Applier) createOne(ctx context.Context, view dependents.View, object client.Object, driver *corev1.Pod) (Outcome, error) {
	outcome, err := a.Dependents.CreateOne(ctx, a.Kind, view.Owner, object, driver)
	switch {
	case err != nil:
		return Outcome{}, err
	case outcome.Refused != nil && identity.PodOf(object) != nil && outcome.Refused.Reason == apianswer.ReasonInvalid:
		outcome.Refused.Message = a.refusal(a.Kind.Traits().Sources.Driver, view.Owner, driver, outcome.Refused.Message)
		fallthrough
	case outcome.Refused != nil:
		return Outcome{Fact: RejectionFact(*outcome.Refused)}, nil
	case outcome.Older != nil:
		return foundOlder(view, outcome.Older)
	case outcome.Earlier != nil && !view.Set.Has(outcome.Earlier):
		return foundPod(outcome.Earlier), nil
	case outcome.Made != nil:
		return Outcome{Created: []client.Object{asTypedPod(outcome.Made)}}, nil
	}
	return Outcome{}, nil
}

// asTypedPod returns a created object in the form that the later steps of the pass need: a pod as a *corev1.Pod, and
// any other object unchanged.
func asTypedPod(object client.Object) client.Object {
	if pod := identity.PodOf(object); pod != nil {
		return pod
	}
	return object
}

// foundOlder returns the outcome of a creation that failed because an object of another attempt has the name. The
// outcome contains a fact that adds this object to the observed state, so that the next decision deletes it. If the
// object is already in the observed state, foundOlder returns a Wait until it is deleted.
func foundOlder(view dependents.View, existing client.Object) (Outcome, error) {
	kind, attempt := dependents.KindOf(existing), identity.Attempt(existing)
	if view.Set.Has(existing) {
		return Outcome{}, &apianswer.Wait{Message: fmt.Sprintf("%s %s of attempt %d still exists", kind, existing.GetName(), attempt)}
	}

	if pod, isPod := existing.(*corev1.Pod); isPod {
		return foundPod(pod), nil
	}

	other := metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{Kind: kind, APIVersion: existing.GetObjectKind().GroupVersionKind().GroupVersion().String()},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: existing.GetNamespace(), Name: existing.GetName(), UID: existing.GetUID(),
			Labels: existing.GetLabels(), DeletionTimestamp: existing.GetDeletionTimestamp(),
		},
	}
	return Outcome{
		Found: dependents.Set{Others: []metav1.PartialObjectMetadata{other}},
		Fact: func(seen *lifecycle.Observed) {
			seen.RemainingAttempts = append(slices.Clip(seen.RemainingAttempts), attempt)
		},
	}, nil
}
