package runs

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Client carries out a decision's actions on the runs of one owner.
type Client struct {
	Dependents dependents.Client
	Kind       Kind
	Owner      client.Object   // the owner, as it is stored
	Known      []client.Object // the runs that were found or created so far
}

// Created is the result of a request to create a run.
type Created struct {
	Run     client.Object    // the existing run; nil if the API server rejected it
	Since   time.Time        // when the run was created
	Refused *lifecycle.Cause // why there is no run
}

// Create creates a run that was rendered for an action. If the API server answers AlreadyExists, Create reads the
// existing object and decides about it (adopt). A returned *apianswer.Wait means that a later pass must try again. Any
// other error is a transient error, or comes from verify.
func (a Client) Create(ctx context.Context, run client.Object, action lifecycle.Action) (Created, error) {
	if err := verify(run, a.Owner, action); err != nil {
		return Created{}, err
	}

	made := run.DeepCopyObject().(client.Object)
	switch err := a.Dependents.Client.Create(ctx, made); {
	case err == nil:
		return Created{Run: made, Since: time.Now()}, nil
	case apierrors.IsAlreadyExists(err):
		return a.adopt(ctx, run)
	default:
		cause, err := apianswer.OfCreation(run, err)
		return Created{Refused: cause}, err
	}
}

// verify returns an error if a rendered run lacks the name, the namespace or the owner by which a later pass would find
// it. Only a bug in a dialect can cause that.
func verify(run, owner client.Object, action lifecycle.Action) error {
	switch {
	case run.GetNamespace() != owner.GetNamespace() || run.GetName() != action.Name:
		return lifecycle.Bugf("%T %s/%s was rendered instead of run %s in namespace %s", run, run.GetNamespace(), run.GetName(), action.Name, owner.GetNamespace())
	case !identity.OwnedBy(run, owner.GetUID()):
		return lifecycle.Bugf("%T %s was rendered without an owner reference to its schedule", run, run.GetName())
	}
	return nil
}

// adopt decides what happens if an object with the run's name already exists. It reads this object live. There are four
// cases:
//
//	the object is gone           wait; the next pass creates the run
//	our owner owns it            adopt it: an earlier pass created it, but could not store that in the status
//	its owner is deleted         wait until the object is deleted too; the deleted owner had the name of our owner
//	it belongs to somebody else  report a cause that names the object, and never change the object
//
// An object that our owner owns is adopted even if somebody has changed it since its creation.
func (a Client) adopt(ctx context.Context, run client.Object) (Created, error) {
	existing, gvk, err := a.Dependents.ReadLive(ctx, run)
	switch {
	case apierrors.IsNotFound(err):
		return Created{}, &apianswer.Wait{Message: fmt.Sprintf("%s %s existed and was deleted just now; the run starts in the next pass", gvk.Kind, run.GetName())}
	case err != nil:
		return Created{}, err
	case identity.OwnedBy(existing, a.Owner.GetUID()):
		return Created{Run: existing, Since: existing.GetCreationTimestamp().Time}, nil
	case identity.Orphan(existing, a.Owner, a.Dependents.GroupKind(a.Owner)):
		return Created{}, &apianswer.Wait{Reason: dependents.ReasonNameTaken,
			Message: fmt.Sprintf("%s %q belongs to a deleted schedule of the same name; the run starts when the old %s is gone", gvk.Kind, existing.GetName(), gvk.Kind)}
	}
	return Created{Refused: &lifecycle.Cause{Reason: dependents.ReasonNameTaken, Message: fmt.Sprintf("the run cannot be started: %s %q already exists and does not belong to this schedule (%s); delete or rename it",
		gvk.Kind, existing.GetName(), identity.DescribeOwner(existing))}}, nil
}

// Confirm returns the runs of the owner that exist in the API server but are not in the field Known, because the cache
// lacks them. It first reads only the run with the given name. If that run exists and is not in Known, the cache may
// lack other runs too. Only then, or if no name is given, Confirm reads all runs. Otherwise it returns no runs.
func (a Client) Confirm(ctx context.Context, name string) (heads []client.Object, facts []lifecycle.Run, err error) {
	if name == "" {
		return a.confirmAll(ctx)
	}

	wanted := a.Kind.NewRun()
	wanted.SetNamespace(a.Owner.GetNamespace())
	wanted.SetName(name)
	run, _, err := a.Dependents.ReadLive(ctx, wanted)

	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return nil, nil, err
	}

	known := func(other client.Object) bool { return other.GetUID() == run.GetUID() }
	if missing || !identity.OwnedBy(run, a.Owner.GetUID()) || slices.ContainsFunc(a.Known, known) {
		return nil, nil, nil
	}
	return a.confirmAll(ctx)
}

// confirmAll reads all runs of the owner from the API server and returns those that are not in Known.
func (a Client) confirmAll(ctx context.Context) (heads []client.Object, facts []lifecycle.Run, err error) {
	known := map[types.UID]bool{}
	for _, run := range a.Known {
		known[run.GetUID()] = true
	}

	err = a.Dependents.EachLive(ctx, a.Kind.NewRunList, func(item runtime.Object) error {
		run := item.(client.Object)
		if !identity.OwnedBy(run, a.Owner.GetUID()) || known[run.GetUID()] {
			return nil
		}

		known[run.GetUID()] = true
		heads, facts = append(heads, a.Kind.RunSummary(run)), append(facts, a.Kind.RunFacts(run))
		return nil
	}, client.InNamespace(a.Owner.GetNamespace()), client.MatchingLabels(a.Kind.RunLabels(a.Owner)))
	if err != nil {
		return nil, nil, fmt.Errorf("list runs: %w", err)
	}
	return heads, facts, nil
}

// HoldFor returns how long the deletion of a run that has ended has to wait for the logs of its pods, which are deleted
// with it. If the run ended while no operator was there, nothing has read them yet.
func (a Client) HoldFor(ctx context.Context, name string) (time.Duration, error) {
	at := slices.IndexFunc(a.Known, func(run client.Object) bool { return run.GetName() == name })
	if at < 0 || a.Dependents.Hold == nil || a.Kind.RunFacts(a.Known[at]).Outcome == lifecycle.Undecided {
		return 0, nil
	}

	pods, _, err := a.Dependents.Labelled(ctx, a.Known[at])
	if err != nil {
		return 0, err
	}

	objects := make([]client.Object, len(pods))
	for i := range pods {
		objects[i] = &pods[i]
	}
	return a.Dependents.HoldFor(identity.Key(a.Known[at]), objects...), nil
}

// Delete deletes a run with all its dependents. A run that has ended is deleted in the background, as kubectl does it.
// A run that has not ended is deleted in the foreground, so that it exists until the pods that the operator created for
// it are deleted. The deletion does not wait for a driver that spark-submit created. A later pass waits for such a
// driver (Observe).
func (a Client) Delete(ctx context.Context, name string) error {
	for _, run := range a.Known {
		if run.GetName() != name || run.GetDeletionTimestamp() != nil {
			continue
		}

		how := metav1.DeletePropagationBackground
		if a.Kind.RunFacts(run).Outcome == lifecycle.Undecided {
			how = metav1.DeletePropagationForeground
		}
		return a.Dependents.DeleteOne(ctx, run, client.PropagationPolicy(how))
	}
	return nil
}

// StartedRun is a run that this pass started, or that an earlier pass started without recording the start in the
// status.
type StartedRun struct {
	Name    string
	Due, At time.Time // when the run was due (zero if somebody requested it), and when it was created
}
