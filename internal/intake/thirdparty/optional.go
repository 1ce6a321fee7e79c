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
	"k8s.io/apimachinery/pkg/util/wait"
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
	// Contents are kinds to watch in the same way, of whose objects the caches hold more than the metadata. Their objects
	// do not count as dependents (Full). Contents must not change after Start.
	Contents []Content
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

// Content describes a kind of which the caches hold the content.
type Content struct {
	Kind schema.GroupVersionKind
	// Empty returns an empty object of the kind.
	Empty func() client.Object
	// Transform drops what the operator does not read.
	Transform toolscache.TransformFunc
	// Changed passes on the updates that decisions depend on.
	Changed predicate.Predicate
}

// content returns the description of a kind of which the caches hold the content, or nil.
func (c *Caches) content(kind schema.GroupVersionKind) *Content {
	i := slices.IndexFunc(c.Contents, func(known Content) bool { return known.Kind == kind })
	if i < 0 {
		return nil
	}
	return &c.Contents[i]
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
// others (handlers.CreatedOrEdited), the controller queues the custom resources that toOwner returns for the object,
// unless the predicate `also` drops the event. Feed may be called before or after a cache is filled: each cache feeds
// each controller once.
func (c *Caches) Feed(work controller.Controller, toOwner handler.EventHandler, also predicate.Predicate) error {
	to := fed{work, toOwner, also}

	c.mu.Lock()
	c.feeding = append(c.feeding, to)
	full := maps.Clone(c.caches)
	c.mu.Unlock()

	for kind, children := range full {
		if err := to.watch(children, kind, c.content(kind)); err != nil {
			return err
		}
	}
	return nil
}

func (f fed) watch(children cache.Cache, kind schema.GroupVersionKind, content *Content) error {
	if content != nil {
		return f.controller.Watch(source.Kind(children, content.Empty(), f.toOwner, content.Changed))
	}
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

	for _, content := range c.Contents {
		all.Go(func() { c.follow(ctx, client, content.Kind) })
	}

	all.Wait()
	return nil
}

// follow watches a kind while the API server serves it.
func (c *Caches) follow(ctx context.Context, client discovery.DiscoveryInterface, kind schema.GroupVersionKind) {
	log := c.mgr.GetLogger().WithValues("kind", kind.Kind, "group", kind.Group, "version", kind.Version)
	builtIn := c.mgr.GetScheme().Recognizes(kind) && c.content(kind) == nil // built-in kinds are always served
	served := func() (bool, error) {
		served, err := isServed(client, kind)
		if err != nil {
			log.V(1).Info("Could not determine whether the API server serves an optional kind", "cause", err.Error())
		}
		return served, err
	}

	logged := false
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if found, err := served(); !found {
			if err == nil && !logged {
				logged = true

				log.Info("An optional kind is not served yet; objects that need it wait until its CustomResourceDefinition is installed")
			}
			return
		}

		log.Info("Watching an optional kind")

		ctx, stop := context.WithCancel(ctx)
		var polls sync.WaitGroup
		defer polls.Wait()
		defer stop()

		if !builtIn {
			polls.Go(func() {
				_ = wait.PollUntilContextCancel(ctx, c.Interval, false, func(context.Context) (bool, error) {
					found, err := served()
					return err == nil && !found, nil
				})

				if ctx.Err() == nil {
					log.Info("An optional kind is no longer served")
					stop()
				}
			})
		}

		if err := c.watch(ctx, kind); err != nil && ctx.Err() == nil {
			log.Error(err, "Could not watch an optional kind; retrying")
		}
	}, c.Interval)
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

// watch fills a cache with the objects of a kind, and makes its events queue the owners of the objects, until the
// context ends. It returns an error if the watch could not be started.
func (c *Caches) watch(ctx context.Context, kind schema.GroupVersionKind) error {
	var object client.Object = identity.MetadataOnly(kind)

	options, content := c.options, c.content(kind)
	if content != nil {
		object, options.DefaultTransform = content.Empty(), content.Transform
	}

	children, err := cache.New(c.mgr.GetConfig(), options)
	if err != nil {
		return err
	}

	if err := children.IndexField(ctx, object, identity.CacheIndex, identity.IndexKeys); err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()

	all.Go(func() {
		if err := children.Start(ctx); err != nil {
			c.mgr.GetLogger().Error(err, "The cache of an optional kind stopped", "kind", kind.Kind, "group", kind.Group)
		}
	})

	if !children.WaitForCacheSync(ctx) {
		return ctx.Err()
	}

	c.mu.Lock()
	c.caches[kind] = children
	feeding := slices.Clone(c.feeding)
	c.mu.Unlock()

	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()

		delete(c.caches, kind)
	}()

	for _, to := range feeding {
		if err := to.watch(children, kind, content); err != nil {
			return err
		}
	}

	<-ctx.Done()
	return nil
}

// Content returns the cache of a kind with content in a namespace, or nil if it is not synced.
func (c *Caches) Content(namespace string, kind schema.GroupVersionKind) client.Reader {
	if !c.Has(namespace, []schema.GroupVersionKind{kind}) {
		return nil
	}

	c.mu.RLock()
	defer c.mu.RUnlock()

	if children := c.caches[kind]; children != nil {
		return children
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
	c.mu.RLock()
	defer c.mu.RUnlock()

	for _, kind := range c.Kinds {
		if children := c.caches[kind]; children != nil {
			kinds, caches = append(kinds, kind), append(caches, children)
		}
	}
	return kinds, caches
}
