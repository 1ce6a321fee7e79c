package operator

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sparkoperator/spark-operator/internal/engine/apply"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/engine/kueue"
	"github.com/sparkoperator/spark-operator/internal/intake/thirdparty"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// queueContents returns the kinds of the queue that the configuration switches on.
func queueContents(cfg config.Configuration) []thirdparty.Content {
	if !cfg.Kueue.Enabled {
		return nil
	}
	return []thirdparty.Content{kueue.Content()}
}

// queueOfKind returns the queue of a kind, or nil if the kind is in none.
func queueOfKind(cfg config.Configuration, mgr manager.Manager, caches *thirdparty.Caches, kind contract.Kind, gvk schema.GroupVersionKind) controller.Queue {
	if _, queued := kind.(apply.Queued); !queued || !cfg.Kueue.Enabled {
		return nil
	}
	return &kueue.Queue{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Kind: gvk, NameLabel: kind.Traits().Inherited.NameLabel,
		Cached: func(namespace string) client.Reader { return caches.Content(namespace, kueue.WorkloadKind) },
	}
}
