package operator

import (
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/intake/queue"
)

// queueOf returns a function that creates the queue of a kind's controller. In this queue, namespaces take turns. The
// argument runs is true if the kind creates runs. The function class returns the urgency of a key. It reads the urgency
// from the custom resource in the cache and not from the event that queued the key, so the queue ignores the priorities
// of event handlers.
func (op *Operator) queueOf(runs bool, class func(reconcile.Request) queue.Class) func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		q := queue.New(queue.Options[reconcile.Request]{
			Name: name, Limiter: limiter, Workers: op.config.Controller.Workers, FreshAtOnce: firstPasses(op.config.Controller.Workers),
			Class:  class,
			Tenant: func(r reconcile.Request) string { return r.Namespace },
		})
		if runs {
			op.rush.watch(name, q.Len)
		}
		return q
	}
}

// firstPasses returns the maximum number of workers that may make first passes at the same time. A quarter of the
// workers is reserved for objects that are already in progress. A launch occupies its worker while the API server
// allocates an address for a Service. The API server allocates addresses one by one, which takes seconds if many
// applications are launched at once.
func firstPasses(workers int) int { return max(1, workers-workers/4) }
