package controller

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/queue"
)

// Class returns how urgent a look at a custom resource is, by what the cache has of it. If that is older than a write of
// ours, somebody has looked at it. What is gone is urgent while there is something to delete that it left: a replica
// that stands by has the keys of all that were deleted meanwhile, and the leader has swept what they left. The function
// waits until the cache is full, or ctx ends: else a shutdown would wait for it.
func (r *Reconciler) Class(ctx context.Context) func(reconcile.Request) queue.Class {
	objects := sync.Pool{New: func() any { return r.kind.New() }} // each event of a pod asks
	return func(request reconcile.Request) queue.Class {
		object := objects.Get().(client.Object)
		defer objects.Put(object)
		err := r.dependents.Client.Get(ctx, request.NamespacedName, object, client.UnsafeDisableDeepCopy)
		switch {
		case apierrors.IsNotFound(err):
			if _, unswept := r.departed.Get(request.NamespacedName); unswept {
				return queue.Leaving
			}
			return queue.Settled
		case err != nil:
			return queue.Changed // the pass meets the error as well, and tells
		}
		class := classOf(r.kind, object)
		if class == queue.Fresh && r.writes.After(object) {
			return queue.Changed
		}
		return class
	}
}

// classOf tells how urgent a look at a custom resource is. An edit of the spec is as good as a new one. What is over comes last: there may be any number of it
// about when the operator starts.
func classOf(kind Kind, object client.Object) queue.Class {
	switch {
	case object.GetDeletionTimestamp() != nil:
		return queue.Leaving
	case kind.Progress.Observed != nil && kind.Progress.Observed(object) != object.GetGeneration():
		return queue.Fresh
	case kind.Progress.Standing != nil && kind.Progress.Standing(object).Phase.Terminal():
		return queue.Settled
	}
	return queue.Changed
}
