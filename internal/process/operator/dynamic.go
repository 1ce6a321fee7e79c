package operator

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// Settings returns the current configuration. Some kinds read it in each pass.
func (op *Operator) Settings() config.Configuration { return op.Live.Now() }

// namespaceChanges returns an event source that queues all custom resources in a namespace when the namespace becomes
// served or unserved. The function onChange registers the function that queues them, and the function keysIn returns
// the keys of these custom resources.
func namespaceChanges(onChange func(wake func(namespace string)), keysIn handler.MapFunc) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		onChange(func(name string) {
			namespace := identity.MetadataOnly(namespaceKind)
			namespace.SetName(name)

			for _, request := range keysIn(ctx, namespace) {
				queue.Add(request)
			}
		})
		return nil
	})
}
