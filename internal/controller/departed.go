package controller

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Deletions lets the events of a kind's own objects through, and notes the deletions among them before they come to the queue; once leads is closed, that is:
// while this process stands by, another deletes what is left. Of one that was only found to be missing nobody knows how it was deleted: its children may be to stay.
func (r *Reconciler) Deletions(leads <-chan struct{}) predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		object := e.Object
		if e.DeleteStateUnknown || r.kind.Runs != nil || r.kind.Served.Selects != nil && !r.kind.Served.Selects(object) {
			return true
		}
		select {
		case <-leads:
			r.departed.Note(object)
		default:
		}
		return true
	}}
}

// Unexpected leaves out that an object was deleted which stood beside a driver until a pass deleted it, that driver being over. Its owner is at rest.
func (r *Reconciler) Unexpected(owner handler.MapFunc) predicate.Predicate {
	if !r.kind.Progress.Concludes { // and may wait for what it had to be gone
		return predicate.Funcs{}
	}
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		requests := owner(context.Background(), e.Object)
		return !slices.ContainsFunc(requests, func(of reconcile.Request) bool { return r.around.Went(of.NamespacedName, e.Object) })
	}}
}
