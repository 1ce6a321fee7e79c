package controller

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/intake/queue"
)

// Class returns a function that returns the queue class of a key, which is the urgency of a pass over its custom
// resource. The function derives the class from the custom resource in the cache.
//
// The cached object may look new or edited although an earlier pass has already handled it. In this case the operator's
// own last write is newer than the cached object, and the function does not return the class queue.Fresh.
//
// The key of a deleted object is urgent only while this replica still has to sweep the object's orphans. For example, a
// new leader's queue contains the keys of all objects that were deleted during its standby. Those keys are not urgent,
// because the previous leader has swept the orphans.
//
// The function waits until the cache is synced or ctx ends. Without ctx, a shutdown would wait for the cache.
func (r *Reconciler) Class(ctx context.Context) func(reconcile.Request) queue.Class {
	objects := sync.Pool{New: func() any { return r.kind.New() }} // called for each event of a pod
	return func(request reconcile.Request) queue.Class {
		object := objects.Get().(client.Object)
		defer objects.Put(object)

		err := r.dependents.Client.Get(ctx, request.NamespacedName, object, client.UnsafeDisableDeepCopy)
		switch {
		case apierrors.IsNotFound(err):
			if _, unswept := r.deleted.Get(request.NamespacedName); unswept {
				return queue.Leaving
			}
			return queue.Settled
		case err != nil:
			return queue.Changed // the pass meets the same error and reports it
		}

		class := classOf(r.kind, object)
		if class == queue.Fresh && r.writes.NewerThan(object) {
			return queue.Changed
		}
		return class
	}
}

// classOf returns how urgent a pass over an existing custom resource is. An object whose spec was edited is as urgent
// as a new object. Finished objects come last, since there may be any number of them when the operator starts.
func classOf(kind contract.Kind, object client.Object) queue.Class {
	switch {
	case object.GetDeletionTimestamp() != nil:
		return queue.Leaving
	case kind.ObservedGeneration(object) != object.GetGeneration():
		return queue.Fresh
	case kind.Standing(object).Phase.Terminal():
		return queue.Settled
	}
	return queue.Changed
}
