package auxiliary

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Reverted is the result of a pass's work on the objects of a driver that other clients edited.
type Reverted struct {
	Objects      []client.Object // with the content that they had at the launch again
	Failures     []error
	RequeueAfter time.Duration // time until the next pass; 0 = no request
}

// Launch is the launch of a live attempt. Its objects are rendered again only if somebody has edited one of them.
type Launch struct {
	Object  client.Object // the custom resource
	Attempt int32
	At      time.Time
	Render  func(client.Object, lifecycle.Action, time.Time) (submit.Objects, error)
}

// render returns the objects of the launch, and the driver's budget, as far as they were edited.
func (l Launch) render(edited map[string]*metav1.PartialObjectMetadata, all *Reverted) (wanted []submit.Object) {
	parts := map[lifecycle.Part]bool{}
	for _, object := range edited {
		if dependents.IsDriverObject(object) {
			parts[lifecycle.Submission] = true
		} else {
			parts[lifecycle.DriverBudget] = true
		}
	}

	for part := range parts {
		objects, err := l.Render(l.Object, lifecycle.Action{Verb: lifecycle.Create, Part: part, Attempt: l.Attempt}, l.At)
		if err != nil {
			all.Failures = append(all.Failures, err)
		}

		wanted = append(wanted, objects.Before...)
	}
	return wanted
}

// Revert applies the objects of a launch again that other clients have edited (Memory.NoteEdit).
func (k Keeper) Revert(ctx context.Context, view dependents.View, launch Launch) Reverted {
	w := &work{View: view}
	edited := map[string]*metav1.PartialObjectMetadata{}

	key := identity.Key(view.Owner)
	for i := range w.Set.Others {
		other := &w.Set.Others[i]

		known := k.Memory.seen(key, other).uid != "" && identity.Attempt(other) == launch.Attempt
		if known && dependents.IsAttemptObject(other) && other.DeletionTimestamp == nil && k.edited(w, other) {
			edited[nameOf(other)] = other
		}
	}

	all := Reverted{RequeueAfter: w.RequeueAfter}
	if len(edited) == 0 {
		return all
	}

	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()

	for _, object := range launch.render(edited, &all) {
		cached := edited[nameOf(object)]
		if cached == nil {
			continue
		}

		if _, _, err := k.correct(ctx, w, object, true); err != nil {
			k.Memory.postpone(key, cached, w.Now)

			all.Failures = append(all.Failures, fmt.Errorf("%s: %w", nameOf(object), err))
			continue
		}

		if k.Memory.seen(key, cached).at.Equal(w.Now) {
			all.Objects = append(all.Objects, object)
		}
	}

	if len(all.Failures) > 0 {
		all.RequeueAfter = lifecycle.Soonest(all.RequeueAfter, EditInterval)
	}
	return all
}
