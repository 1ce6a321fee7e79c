package controller

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Deletions passes on all events of a kind's own objects. It notes the deleted ones before their keys come to the
// queue, if leads is closed: while this process is on standby, the leader deletes the orphans. If the informer missed
// the deletion itself, the object is not noted, since it may have been deleted with orphaned dependents.
func (r *Reconciler) Deletions(leads <-chan struct{}) predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		object := e.Object
		if e.DeleteStateUnknown || r.kind.Runs != nil || r.kind.Served.Selects != nil && !r.kind.Served.Selects(object) {
			return true
		}
		select {
		case <-leads:
			r.deleted.Note(object)
		default:
		}
		return true
	}}
}

// Unexpected drops the deletion events of auxiliary objects that a pass deleted after their driver had ended. Nothing
// is left to do for their owner.
func (r *Reconciler) Unexpected(owner handler.MapFunc) predicate.Predicate {
	if !r.kind.Progress.Concludes { // without Concludes, a decision may wait for the deletion of objects
		return predicate.Funcs{}
	}
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		requests := owner(context.Background(), e.Object)
		return !slices.ContainsFunc(requests, func(request reconcile.Request) bool { return r.auxiliary.OwnDeletion(request.NamespacedName, e.Object) })
	}}
}
