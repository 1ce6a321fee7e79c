// Package optional watches dependents of kinds that a cluster need not have: what defines them comes with another
// program, such as a batch scheduler.
package optional

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/sparkoperator/spark-operator/internal/feed"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/trim"
)

// Caches are the caches of optional kinds. Each kind is watched, as metadata, from when the API server serves it until it
// no longer does, in a cache of its own: the operator's other caches could not be filled, and the operator not be ready,
// while one of their kinds is missing or may not be read.
//
// A kind that is not watched yet is not observed. Nothing is lost by that: the watch begins with an event for each object
// that exists, and a create that meets an object which was not seen reads it live.
type Caches struct {
	// Kinds are those to watch, if the API server serves them. It is not changed once Start was called.
	Kinds []schema.GroupVersionKind
	// Interval lies between two looks at whether the API server serves a kind: one small request for each kind that is
	// switched on. New sets 10 s. It is not changed once Start was called.
	Interval time.Duration

	mgr     manager.Manager
	options cache.Options

	mu      sync.RWMutex
	caches  map[schema.GroupVersionKind]cache.Cache // those that are full
	feeding []fed
}

// fed is a controller, and which custom resource an object belongs to.
type fed struct {
	controller controller.Controller
	toOwner    handler.EventHandler
}

// New returns caches of some kinds, empty until Start. Of options, the selection of namespaces counts.
func New(mgr manager.Manager, kinds []schema.GroupVersionKind, options cache.Options) *Caches {
	options.ByObject = nil
	options.Scheme, options.Mapper, options.HTTPClient = mgr.GetScheme(), mgr.GetRESTMapper(), mgr.GetHTTPClient()
	options.DefaultLabelSelector, options.DefaultTransform = identity.Dependents(), trim.Metadata
	return &Caches{
		Kinds: kinds, Interval: 10 * time.Second, mgr: mgr, options: options,
		caches: map[schema.GroupVersionKind]cache.Cache{},
	}
}

// Feed lets the creation and deletion of objects wake the custom resources of a controller, which toOwner names. The
// controller may come after the objects: each cache feeds each controller once, whichever of the two is there first.
func (c *Caches) Feed(work controller.Controller, toOwner handler.EventHandler) error {
	to := fed{work, toOwner}
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
	return f.controller.Watch(source.Kind[client.Object](children, identity.MetadataOnly(kind), f.toOwner, feed.ComingOrEdited()))
}

// NeedLeaderElection says no: one that stands by has its caches full when it takes over.
func (*Caches) NeedLeaderElection() bool { return false }

// Start watches until the context ends. A kind that cannot be watched is no reason to stop anything else.
func (c *Caches) Start(ctx context.Context) error {
	client, err := discovery.NewDiscoveryClientForConfigAndClient(c.mgr.GetConfig(), c.mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("ask which kinds are served: %w", err)
	}
	var all sync.WaitGroup
	for _, kind := range c.Kinds {
		all.Go(func() { c.follow(ctx, client, kind) })
	}
	all.Wait()
	return nil
}

// follow watches a kind while it is served.
func (c *Caches) follow(ctx context.Context, client discovery.DiscoveryInterface, kind schema.GroupVersionKind) {
	log := c.mgr.GetLogger().WithValues("kind", kind.Kind, "group", kind.Group, "version", kind.Version)
	builtIn := c.mgr.GetScheme().Recognizes(kind) // which does not come and go
	again := time.NewTicker(c.Interval)
	defer again.Stop()
	var now *watching // nil while it is not watched
	told := false
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
			log.V(1).Info("it cannot be found out whether an optional kind is served", "cause", err.Error())
		case served && now == nil:
			log.Info("watching an optional kind")
			now = c.watch(ctx, kind)
		case !served && now != nil:
			log.Info("an optional kind is no longer served")
			now.stop()
			now = nil
		case !served && !told:
			told = true
			log.Info("an optional kind is not served yet; what needs it waits until its CustomResourceDefinition is installed")
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

// watching is one watch of an optional kind.
type watching struct {
	stop func()
	gone chan struct{} // closed when it failed
}

// failed reports whether the watch is to be begun again: its cache could not be made.
func (w *watching) failed() bool {
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

// isServed asks the API server itself: what a mapper once learned it keeps.
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

// watch fills a cache with a kind and lets what comes and goes wake its owners.
func (c *Caches) watch(ctx context.Context, kind schema.GroupVersionKind) *watching {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	w := &watching{gone: make(chan struct{}), stop: func() {
		c.mu.Lock()
		delete(c.caches, kind)
		c.mu.Unlock()
		cancel()
		all.Wait()
	}}
	all.Go(func() {
		if err := c.fill(ctx, &all, kind); err != nil && ctx.Err() == nil {
			c.mgr.GetLogger().Error(err, "an optional kind cannot be watched; it is tried again", "kind", kind.Kind, "group", kind.Group)
			close(w.gone)
		}
	})
	return w
}

// fill makes the cache, waits until it is full, and lets it feed the queues.
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
			c.mgr.GetLogger().Error(err, "the cache of an optional kind ended", "kind", kind.Kind, "group", kind.Group)
		}
	})
	// Without the right to list it this waits, and the cache asks again and again.
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

// Has reports whether the caches of all the kinds are full.
func (c *Caches) Has(kinds []schema.GroupVersionKind) bool {
	if len(kinds) == 0 {
		return true
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return !slices.ContainsFunc(kinds, func(kind schema.GroupVersionKind) bool { return c.caches[kind] == nil })
}

// Full returns the kinds whose caches are full, in the order of Kinds, so that the same objects give the same decision,
// and these caches.
func (c *Caches) Full() (kinds []schema.GroupVersionKind, caches []client.Reader) {
	if c == nil {
		return nil, nil // a reconciler of a test
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
