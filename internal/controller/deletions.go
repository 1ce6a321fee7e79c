package controller

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Deletions returns a predicate that passes on all events of the kind's own objects. While this process leads (the
// channel elected is closed), the predicate notes deleted objects before their keys reach the queue, so that their
// orphans are swept. It does not note objects that the operator does not select, or objects of a kind with runs. While
// this process is on standby, the predicate notes no object, because the leader deletes the orphans. If the informer
// missed the deletion event, the object is not noted either, since its dependents may have been orphaned on purpose.
func (r *Reconciler) Deletions(elected <-chan struct{}) predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		object := e.Object
		if e.DeleteStateUnknown || r.kind.Runs != nil || r.kind.Served.Selects != nil && !r.kind.Served.Selects(object) {
			return true
		}
		select {
		case <-elected:
			r.deleted.Note(object)
		default:
		}
		return true
	}}
}

// Unexpected returns a predicate that drops the deletion events of auxiliary objects that a pass itself deleted after
// the driver had ended. Such an event leaves nothing to do for the object's owner.
func (r *Reconciler) Unexpected(owner handler.MapFunc) predicate.Predicate {
	if !r.kind.Progress.Concludes { // without Concludes, a decision may wait for the deletion of objects
		return predicate.Funcs{}
	}
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		requests := owner(context.Background(), e.Object)
		return !slices.ContainsFunc(requests, func(request reconcile.Request) bool { return r.auxiliary.OwnDeletion(request.NamespacedName, e.Object) })
	}}
}
