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

	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/kind"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// Acts carries out a decision's actions on the runs of one owner.
type Acts struct {
	Dependents dependents.Client
	Of         *kind.Runs
	Owner      client.Object   // as it is stored
	Known      []client.Object // the runs that were seen, or made, so far
}

// Created is what came of an attempt to start a run.
type Created struct {
	Run     client.Object    // which exists now; nil if the API server refused it for good
	Since   time.Time        // when it was created
	Refused *lifecycle.Cause // why there is none
}

// Create creates a run that was rendered for an action, and looks at what exists only when that is refused. An error is transient, or an *apianswer.Wait.
func (a Acts) Create(ctx context.Context, run client.Object, action lifecycle.Action) (Created, error) {
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

// verify refuses to create a run that a later pass could not find again. It guards against a fault in a dialect, not against users.
func verify(run, owner client.Object, action lifecycle.Action) error {
	switch {
	case run.GetNamespace() != owner.GetNamespace() || run.GetName() != action.Name:
		return fmt.Errorf("%T %s/%s is rendered for run %s of %s", run, run.GetNamespace(), run.GetName(), action.Name, owner.GetNamespace())
	case !identity.OwnedBy(run, owner.GetUID()):
		return fmt.Errorf("%T %s is rendered without its owner", run, run.GetName())
	}
	return nil
}

// adopt deals with a run's name that is taken, by a live read of who has it:
//
//	nobody any more     wait a moment, then create again
//	the same owner      it was made by a pass that did not come to write it down; what has become of it since does not matter
//	one of this name    wait until it is gone: it belongs to a custom resource of the owner's name that was deleted
//	somebody else       refused, by name; theirs is never touched
func (a Acts) adopt(ctx context.Context, run client.Object) (Created, error) {
	existing, gvk, err := a.Dependents.ReadLive(ctx, run)
	switch {
	case apierrors.IsNotFound(err):
		return Created{}, &apianswer.Wait{Message: fmt.Sprintf("%s %s was deleted just now", gvk.Kind, run.GetName())}
	case err != nil:
		return Created{}, err
	case identity.OwnedBy(existing, a.Owner.GetUID()):
		return Created{Run: existing, Since: existing.GetCreationTimestamp().Time}, nil
	case identity.Orphan(existing, a.Owner, a.Dependents.GroupKind(a.Owner)):
		return Created{}, &apianswer.Wait{Reason: dependents.ReasonNameTaken,
			Message: fmt.Sprintf("%s %q is left by one of the same name that was deleted; the run is started once it is gone", gvk.Kind, existing.GetName())}
	}
	return Created{Refused: &lifecycle.Cause{Reason: dependents.ReasonNameTaken, Message: fmt.Sprintf("the run cannot be started: %s %q already exists and is another's (%s); delete or rename that one",
		gvk.Kind, existing.GetName(), identity.OwnerInWords(existing))}}, nil
}

// Confirm reads live whether a run exists that was not seen, and returns those that were not: a cache that does not show one may only be late. Where it is, it
// may lack others too, and all are read. Without a name it reads all.
func (a Acts) Confirm(ctx context.Context, name string) (heads []client.Object, facts []lifecycle.Run, err error) {
	if name == "" {
		return a.confirmAll(ctx)
	}
	wanted := a.Of.New()
	wanted.SetNamespace(a.Owner.GetNamespace())
	wanted.SetName(name)
	run, _, err := a.Dependents.ReadLive(ctx, wanted)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return nil, nil, err
	}
	known := func(one client.Object) bool { return one.GetUID() == run.GetUID() }
	if missing || !identity.OwnedBy(run, a.Owner.GetUID()) || slices.ContainsFunc(a.Known, known) {
		return nil, nil, nil
	}
	return a.confirmAll(ctx)
}

// confirmAll reads live which runs there are that were not seen.
func (a Acts) confirmAll(ctx context.Context) (heads []client.Object, facts []lifecycle.Run, err error) {
	known := map[types.UID]bool{}
	for _, run := range a.Known {
		known[run.GetUID()] = true
	}
	err = a.Dependents.EachLive(ctx, a.Of.List, func(item runtime.Object) error {
		run := item.(client.Object)
		if !identity.OwnedBy(run, a.Owner.GetUID()) || known[run.GetUID()] {
			return nil
		}
		known[run.GetUID()] = true
		heads, facts = append(heads, a.Of.Head(run)), append(facts, a.Of.Facts(run))
		return nil
	}, client.InNamespace(a.Owner.GetNamespace()), client.MatchingLabels(a.Of.Labels(a.Owner)))
	if err != nil {
		return nil, nil, fmt.Errorf("list runs: %w", err)
	}
	return heads, facts, nil
}

// Delete deletes a run with all that it made. One that has ended goes as kubectl does it: at once, and what it left follows. One that goes on is there
// until the pods are gone that the operator made of it; a driver that spark-submit made is waited for after that (Observe).
func (a Acts) Delete(ctx context.Context, name string) error {
	for _, run := range a.Known {
		if run.GetName() != name || run.GetDeletionTimestamp() != nil {
			continue
		}
		how := metav1.DeletePropagationBackground
		if a.Of.Facts(run).Outcome == lifecycle.Undecided {
			how = metav1.DeletePropagationForeground
		}
		return a.Dependents.DeleteOne(ctx, run, client.PropagationPolicy(how))
	}
	return nil
}

// Start is a run that a pass started, or found to be started by one before it.
type Start struct {
	Name    string
	Due, At time.Time // when it was to start (zero if somebody asked for it), and when it was created
}
