// Package thirdparty watches dependents of kinds that a cluster may lack, because another program, such as a batch
// scheduler, defines them.
package thirdparty

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/intake/access"
	"github.com/sparkoperator/spark-operator/internal/intake/handlers"
	"github.com/sparkoperator/spark-operator/internal/intake/trim"
)

// Caches are the caches of optional kinds. Each kind has its own cache, which watches the metadata of its objects while
// the API server serves the kind. In a shared cache, a kind that is missing, or that the operator may not read, would
// keep the other kinds from syncing and the operator from becoming ready.
//
// A pass does not find the objects of a kind that is not watched yet. No object is lost, however. When the watch
// begins, each existing object causes an event. If a pass creates an object that exists already, it reads this object
// from the API server.
type Caches struct {
	// Kinds are the kinds to watch if the API server serves them. They must not change after Start.
	Kinds []schema.GroupVersionKind
	// Interval is the time between two checks whether the API server serves a kind. Each check is one small request for
	// each enabled kind. New sets 10 s. Interval must not change after Start.
	Interval time.Duration

	mgr     manager.Manager
	options cache.Options
	watches *access.Watches

	mu      sync.RWMutex
	caches  map[schema.GroupVersionKind]cache.Cache // the synced caches
	feeding []fed
}

// fed is a controller whose queue the caches feed, the controller's mapping from objects to custom resources, and its
// predicate.
type fed struct {
	controller controller.Controller
	toOwner    handler.EventHandler
	also       predicate.Predicate
}

// New returns caches of the given kinds, which are empty until Start. Of the argument options, it uses only the
// selection of namespaces. A namespace in which a kind cannot be watched does not stop the others, through the argument
// watches.
func New(mgr manager.Manager, kinds []schema.GroupVersionKind, options cache.Options, watches *access.Watches) *Caches {
	options.ByObject = nil
	options.Scheme, options.Mapper, options.HTTPClient = mgr.GetScheme(), mgr.GetRESTMapper(), mgr.GetHTTPClient()
	options.DefaultLabelSelector, options.DefaultTransform = identity.Dependents(), trim.Metadata
	options.NewInformer = watches.NewInformer(toolscache.NewSharedIndexInformer)
	return &Caches{
		Kinds: kinds, Interval: 10 * time.Second, mgr: mgr, options: options, watches: watches,
		caches: map[schema.GroupVersionKind]cache.Cache{},
	}
}

// Feed connects a controller to the caches: if an object is created or deleted, or an auxiliary object is edited by
// others (feed.CreatedOrEdited), the controller queues the custom resources that toOwner returns for the object, unless
// the predicate `also` drops the event. Feed may be called before or after a cache is filled: each cache feeds each
// controller once.
func (c *Caches) Feed(work controller.Controller, toOwner handler.EventHandler, also predicate.Predicate) error {
	to := fed{work, toOwner, also}

	c.mu.Lock()
	c.feeding = append(c.feeding, to)
	full := maps.Clone(c.caches)
	c.mu.Unlock()

	for kind, children := range full {
		if err := to.watch(children, kind); err != nil {
			return err
		}
	}
	return nil
}

func (f fed) watch(children cache.Cache, kind schema.GroupVersionKind) error {
	return f.controller.Watch(source.Kind[client.Object](children, identity.MetadataOnly(kind), f.toOwner, handlers.CreatedOrEdited(), f.also))
}

// NeedLeaderElection returns false, because a standby replica keeps its caches full so that it can take over.
func (*Caches) NeedLeaderElection() bool { return false }

// Start watches the kinds until the context ends. A kind that cannot be watched does not stop the others.
func (c *Caches) Start(ctx context.Context) error {
	client, err := discovery.NewDiscoveryClientForConfigAndClient(c.mgr.GetConfig(), c.mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("create a client for the list of served kinds: %w", err)
	}

	var all sync.WaitGroup
	for _, kind := range c.Kinds {
		all.Go(func() { c.follow(ctx, client, kind) })
	}

	all.Wait()
	return nil
}

// follow watches a kind while the API server serves it.
func (c *Caches) follow(ctx context.Context, client discovery.DiscoveryInterface, kind schema.GroupVersionKind) {
	log := c.mgr.GetLogger().WithValues("kind", kind.Kind, "group", kind.Group, "version", kind.Version)
	builtIn := c.mgr.GetScheme().Recognizes(kind) // built-in kinds are always served
	again := time.NewTicker(c.Interval)
	defer again.Stop()
	var now *kindWatch // nil if the kind is not watched

	logged := false
	for {
		if now.failed() {
			now.stop()
			now = nil
		}

		served, err := now != nil && builtIn, error(nil)
		if !served {
			served, err = isServed(client, kind)
		}

		switch {
		case err != nil:
			log.V(1).Info("Could not determine whether the API server serves an optional kind", "cause", err.Error())
		case served && now == nil:
			log.Info("Watching an optional kind")

			now = c.watch(ctx, kind)
		case !served && now != nil:
			log.Info("An optional kind is no longer served")
			now.stop()
			now = nil
		case !served && !logged:
			logged = true

			log.Info("An optional kind is not served yet; objects that need it wait until its CustomResourceDefinition is installed")
		}

		select {
		case <-again.C:
		case <-ctx.Done():
			if now != nil {
				now.stop()
			}
			return
		}
	}
}

// kindWatch is the watch of an optional kind.
type kindWatch struct {
	stop func()
	gone chan struct{} // closed on failure
}

// failed reports whether the watch could not be started, so that the caller must start it again.
func (w *kindWatch) failed() bool {
	if w == nil {
		return false
	}

	select {
	case <-w.gone:
		return true
	default:
		return false
	}
}

// isServed reports whether the API server serves a kind. It queries the API server itself, because a REST mapper never
// forgets a kind.
func isServed(client discovery.DiscoveryInterface, kind schema.GroupVersionKind) (bool, error) {
	list, err := client.ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}

	if err != nil {
		return false, err
	}

	for _, resource := range list.APIResources {
		if resource.Kind == kind.Kind {
			return true, nil
		}
	}
	return false, nil
}

// watch starts a watch that fills a cache with the objects of a kind and queues their owners.
func (c *Caches) watch(ctx context.Context, kind schema.GroupVersionKind) *kindWatch {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	w := &kindWatch{gone: make(chan struct{}), stop: func() {
		c.mu.Lock()
		delete(c.caches, kind)
		c.mu.Unlock()
		cancel()
		all.Wait()
	}}
	all.Go(func() {
		if err := c.fill(ctx, &all, kind); err != nil && ctx.Err() == nil {
			c.mgr.GetLogger().Error(err, "Could not watch an optional kind; retrying", "kind", kind.Kind, "group", kind.Group)
			close(w.gone)
		}
	})
	return w
}

// fill creates the cache of a kind, waits until the cache is synced, and makes its events queue the owners of the
// objects.
func (c *Caches) fill(ctx context.Context, all *sync.WaitGroup, kind schema.GroupVersionKind) error {
	children, err := cache.New(c.mgr.GetConfig(), c.options)
	if err != nil {
		return err
	}

	if err := children.IndexField(ctx, identity.MetadataOnly(kind), identity.CacheIndex, identity.IndexKeys); err != nil {
		return err
	}

	all.Go(func() {
		if err := children.Start(ctx); err != nil {
			c.mgr.GetLogger().Error(err, "The cache of an optional kind stopped", "kind", kind.Kind, "group", kind.Group)
		}
	})

	if !children.WaitForCacheSync(ctx) {
		return ctx.Err()
	}

	c.mu.Lock()
	if ctx.Err() == nil {
		c.caches[kind] = children
	}

	feeding := slices.Clone(c.feeding)
	c.mu.Unlock()

	for _, to := range feeding {
		if err := to.watch(children, kind); err != nil {
			return err
		}
	}
	return nil
}

// Has reports whether the caches of all the kinds are synced, and contain the objects of a namespace.
func (c *Caches) Has(namespace string, kinds []schema.GroupVersionKind) bool {
	if len(kinds) == 0 {
		return true
	}

	c.mu.RLock()
	defer c.mu.RUnlock()
	return !slices.ContainsFunc(kinds, func(kind schema.GroupVersionKind) bool {
		return c.caches[kind] == nil || c.watches.Refused(namespace, kind.GroupKind()) != nil
	})
}

// Full returns the kinds whose caches are synced, and these caches. Both lists have the same order as the field Kinds,
// so that the same objects lead to the same decision.
func (c *Caches) Full() (kinds []schema.GroupVersionKind, caches []client.Reader) {
	if c == nil {
		return nil, nil // only the reconciler in a test has no caches
	}

	c.mu.RLock()
	defer c.mu.RUnlock()

	for _, kind := range c.Kinds {
		if children := c.caches[kind]; children != nil {
			kinds, caches = append(kinds, kind), append(caches, children)
		}
	}
	return kinds, caches
}
