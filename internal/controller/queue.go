package controller

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/queue"
)

// queueOf makes the queue of a kind's controller: namespaces take turns, and what comes first is told by the custom resource as the cache has it. Which event
// wakes it does not matter, so the priorities that handlers know of are left out.
func queueOf(ctx context.Context, op *Operator, kind Kind, writes *ownWrites, left *departed) func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		q := queue.New(queue.Options[reconcile.Request]{
			Name: name, Limiter: limiter, Workers: op.config.Controller.Workers, FreshAtOnce: firstLooks(op.config.Controller.Workers),
			Class:  classIn(ctx, op.GetClient(), kind, writes, left),
			Tenant: func(r reconcile.Request) string { return r.Namespace },
		})
		if kind.Runs != nil {
			op.rush.watch(name, q.Len)
		}
		return q
	}
}

// firstLooks is how many of the workers may be at first looks: a quarter is left to what goes on. A launch holds its worker while the API server finds an address for a
// Service, one after the other for all that ask: for seconds where many are launched at once.
func firstLooks(workers int) int { return max(1, workers-workers/4) }

// classIn tells the class of a key by what a cache has of it. Where that is older than a write of ours, somebody has looked at it. What is gone is urgent while there is
// something to delete that it left: a replica that stands by has the keys of all that went meanwhile, of which the leader has swept what was left. It waits until
// the cache is full, or the context ends: else a shutdown would wait for it.
func classIn(ctx context.Context, cache client.Reader, kind Kind, writes *ownWrites, left *departed) func(reconcile.Request) queue.Class {
	objects := sync.Pool{New: func() any { return kind.New() }} // each event of a pod asks
	return func(request reconcile.Request) queue.Class {
		object := objects.Get().(client.Object)
		defer objects.Put(object)
		err := cache.Get(ctx, request.NamespacedName, object, client.UnsafeDisableDeepCopy)
		switch {
		case apierrors.IsNotFound(err):
			if _, unswept := left.Get(request.NamespacedName); unswept {
				return queue.Leaving
			}
			return queue.Settled
		case err != nil:
			return queue.Changed // the pass meets the error as well, and tells
		}
		class := classOf(kind, object)
		if class == queue.Fresh && writes.after(object) {
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
