package operator

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/intake/access"
	"github.com/sparkoperator/spark-operator/internal/intake/transport"
	"github.com/sparkoperator/spark-operator/internal/intake/trim"
	"github.com/sparkoperator/spark-operator/internal/intake/watchdog"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// gatherFor is the time for which the cache collects the events of pods before it delivers them together. This may
// delay the status by the same time.
const gatherFor = 100 * time.Millisecond

// newCache creates the cache of the operator's objects. Events of pods have their own connection and are delivered
// together (gatherFor). All other events are delivered at once.
func newCache(hangs *watchdog.Watchdog, watches *access.Watches, rc *rest.Config, options cache.Options) (cache.Cache, error) {
	client, err := transport.Client(rc, options.HTTPClient, trim.Kept, gatherFor, hangs.Decode)
	if err != nil {
		return nil, err
	}

	options.HTTPClient, options.NewInformer = client, watches.NewInformer(hangs.NewInformer)
	return cache.New(rc, options)
}

// cacheOptions returns the options of the cache. The cache watches our pods, the metadata of our other dependents, and
// the custom resources, and keeps only the fields that the operator reads. It watches no other objects, so their number
// in a namespace does not affect the operator.
func cacheOptions(cfg config.Configuration) cache.Options {
	options := cache.Options{
		// A read of a kind that is not watched is a bug. It must fail and not start a watch.
		ReaderFailOnMissingInformer: true,
		DefaultTransform:            trim.Resource,
		ByObject:                    map[client.Object]cache.ByObject{&corev1.Pod{}: {Label: identity.SparkPods(cfg.SparkClusters()), Transform: trim.Pod}},
	}
	for _, kind := range dependents.Kinds {
		options.ByObject[identity.MetadataOnly(kind)] = cache.ByObject{Label: identity.Dependents(), Transform: trim.Child}
	}

	if cfg.WatchesNamespaces() {
		options.ByObject[identity.MetadataOnly(namespaceKind)] = cache.ByObject{Transform: trim.Metadata}
	}

	if cfg.WatchesAll() {
		return options // any namespace may become served at any time
	}

	for _, name := range cfg.Namespaces.Names {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
		}

		options.DefaultNamespaces[name] = cache.Config{}
	}
	return options
}
