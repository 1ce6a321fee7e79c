package operator

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/transport"
	"github.com/sparkoperator/spark-operator/internal/trim"
	"github.com/sparkoperator/spark-operator/internal/watchdog"
)

// gatherFor is how long events of pods are gathered that come soon after one another. A status tells of them that much later at most.
const gatherFor = 100 * time.Millisecond

// newCache makes the cache of the operator's objects. It hears of pods by a connection of their own; of all else at once.
func newCache(hangs *watchdog.Watchdog, rc *rest.Config, options cache.Options) (cache.Cache, error) {
	client, err := transport.Client(rc, options.HTTPClient, trim.Kept, gatherFor, hangs.Decode)
	if err != nil {
		return nil, err
	}
	options.HTTPClient, options.NewInformer = client, hangs.NewInformer
	return cache.New(rc, options)
}

// cacheOptions say what is watched: our pods, the metadata of our other children, the custom resources; and of each only the
// fields that somebody reads. What else lives in a namespace, and how much of it, does not matter.
func cacheOptions(cfg config.Configuration) cache.Options {
	options := cache.Options{
		// A read of something that is not watched is a fault in the program, not a reason to watch it as well.
		ReaderFailOnMissingInformer: true,
		DefaultTransform:            trim.Resource,
		ByObject:                    map[client.Object]cache.ByObject{&corev1.Pod{}: {Label: identity.SparkPods(cfg.SparkClusters()), Transform: trim.Pod}},
	}
	for _, kind := range dependents.Kinds {
		options.ByObject[identity.MetadataOnly(kind)] = cache.ByObject{Label: identity.Dependents(), Transform: trim.Child}
	}
	if cfg.Namespaces.Selector != "" {
		options.ByObject[identity.MetadataOnly(namespaceKind)] = cache.ByObject{Transform: trim.Metadata}
	}
	if cfg.WatchesAll() {
		return options // what is outside may come in at any time
	}
	for _, name := range cfg.Namespaces.Names {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
		}
		options.DefaultNamespaces[name] = cache.Config{}
	}
	return options
}
