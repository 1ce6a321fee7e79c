package operator

import (
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/queue"
)

// queueOf makes the queue of a kind's controller: namespaces take turns, and what comes first is told by the custom resource as the cache has it. Which event
// wakes it does not matter, so the priorities that handlers know of are left out.
func (op *Operator) queueOf(runs bool, class func(reconcile.Request) queue.Class) func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		q := queue.New(queue.Options[reconcile.Request]{
			Name: name, Limiter: limiter, Workers: op.config.Controller.Workers, FreshAtOnce: firstLooks(op.config.Controller.Workers),
			Class:  class,
			Tenant: func(r reconcile.Request) string { return r.Namespace },
		})
		if runs {
			op.rush.watch(name, q.Len)
		}
		return q
	}
}

// firstLooks is how many of the workers may be at first looks: a quarter is left to what goes on. A launch holds its worker while the API server finds an address for a
// Service, one after the other for all that ask: for seconds where many are launched at once.
func firstLooks(workers int) int { return max(1, workers-workers/4) }
