package controller

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/engine/runs"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
)

// Deletions returns a predicate that drops no events, but notes deleted objects before their keys reach the queue. A
// pass later sweeps the orphans of a noted object. It also counts the last usage of the object, and records its run.
// The predicate does not note an object in these cases:
//
//   - The operator does not select the object, or the object's kind has runs.
//   - The informer missed the deletion event. The user may have orphaned the dependents on purpose.
//   - This process is on standby (the channel elected is open). The leader deletes the orphans.
func (r *Reconciler) Deletions(elected <-chan struct{}) predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		object := e.Object
		if r.logs != nil {
			r.logs.Forget(object.GetUID())
		}

		if _, hasRuns := r.kind.(runs.Kind); hasRuns || e.DeleteStateUnknown || !r.selects(object) {
			return true
		}

		select {
		case <-elected:
			r.deleted.Note(object)
			r.countLastUsage(object)

			if r.runDeleted != nil {
				r.runDeleted(context.Background(), object)
			}
		default:
		}
		return true
	}}
}

// Unexpected returns a predicate that drops the deletion event of an auxiliary object that a pass itself deleted after
// the driver had ended. The owner of the object needs no pass after such an event.
func (r *Reconciler) Unexpected(owner handler.MapFunc) predicate.Predicate {
	if !r.kind.Traits().Concludes { // without Concludes, a decision may wait for the deletion of objects
		return predicate.Funcs{}
	}
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		requests := owner(context.Background(), e.Object)
		return !slices.ContainsFunc(requests, func(request reconcile.Request) bool { return r.auxiliary.OwnDeletion(request.NamespacedName, e.Object) })
	}}
}

// NoteEdits returns a predicate that drops no events, but notes the state of an object before another client edited it,
// so that a pass finds the edit. An earlier predicate drops all other updates.
func (r *Reconciler) NoteEdits(owner handler.MapFunc) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		edits := &r.edits
		if identity.IsAuxiliary(e.ObjectNew) {
			edits = &r.auxiliary
		}

		for _, request := range owner(context.Background(), e.ObjectNew) {
			edits.NoteEdit(request.NamespacedName, e.ObjectOld)
		}
		return true
	}}
}
