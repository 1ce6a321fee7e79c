package controller

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
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/sparkoperator/spark-operator/internal/feed"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/trim"
)

// servedInterval lies between two looks at whether the API server serves an optional kind: one small request for each kind that is switched on.
const servedInterval = 10 * time.Second

// optionalChildren are children of kinds that a cluster need not have: what defines them comes with another program. Each is watched, as metadata,
// from when the API server serves it until it no longer does, in a cache of its own: the operator's other caches could not be filled, and
// the operator not be ready, while one of their kinds is missing, or may not be read.
//
// What is not watched (yet) is not observed. Nothing is lost by that: the watch begins with an event for each object that there is, and a create
// that meets one which was not seen looks at it live.
type optionalChildren struct {
	op       *Operator
	kinds    []schema.GroupVersionKind
	options  cache.Options
	interval time.Duration

	mu      sync.RWMutex
	caches  map[schema.GroupVersionKind]cache.Cache // those that are full
	feeding []fed
}

// fed is a controller's queue, and which custom resource a child belongs to.
type fed struct {
	controller controller.Controller
	toOwner    handler.EventHandler
}

func newOptionalChildren(op *Operator, kinds []schema.GroupVersionKind) *optionalChildren {
	options := cacheOptions(op.config)
	options.ByObject = nil
	options.Scheme, options.Mapper, options.HTTPClient = op.GetScheme(), op.GetRESTMapper(), op.GetHTTPClient()
	options.DefaultLabelSelector, options.DefaultTransform = identity.Dependents(), trim.Metadata
	return &optionalChildren{
		op: op, kinds: kinds, options: options, interval: servedInterval,
		caches: map[schema.GroupVersionKind]cache.Cache{},
	}
}

// feed lets the coming and going of optional children wake a controller's custom resources. The controller may come after the children: each cache feeds
// each controller once, whichever of the two is there first.
func (o *optionalChildren) feed(to fed) error {
	o.mu.Lock()
	o.feeding = append(o.feeding, to)
	full := maps.Clone(o.caches)
	o.mu.Unlock()
	for kind, children := range full {
		if err := to.watch(children, kind); err != nil {
			return err
		}
	}
	return nil
}

func (f fed) watch(children cache.Cache, kind schema.GroupVersionKind) error {
	return f.controller.Watch(source.Kind[client.Object](children, metadataOnly(kind), f.toOwner, feed.ComingOrEdited()))
}

// NeedLeaderElection says no: one that stands by has its caches full when it takes over.
func (*optionalChildren) NeedLeaderElection() bool { return false }

// Start watches until the context ends. A kind that cannot be watched is no reason to stop anything else.
func (o *optionalChildren) Start(ctx context.Context) error {
	client, err := discovery.NewDiscoveryClientForConfigAndClient(o.op.GetConfig(), o.op.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("ask which kinds are served: %w", err)
	}
	var all sync.WaitGroup
	for _, kind := range o.kinds {
		all.Go(func() { o.follow(ctx, client, kind) })
	}
	all.Wait()
	return nil
}

// follow watches a kind while it is served.
func (o *optionalChildren) follow(ctx context.Context, client discovery.DiscoveryInterface, kind schema.GroupVersionKind) {
	log := o.op.GetLogger().WithValues("kind", kind.Kind, "group", kind.Group, "version", kind.Version)
	builtIn := o.op.GetScheme().Recognizes(kind) // which does not come and go
	again := time.NewTicker(o.interval)
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
			now = o.watch(ctx, kind)
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
func (o *optionalChildren) watch(ctx context.Context, kind schema.GroupVersionKind) *watching {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	w := &watching{gone: make(chan struct{}), stop: func() {
		o.mu.Lock()
		delete(o.caches, kind)
		o.mu.Unlock()
		cancel()
		all.Wait()
	}}
	all.Go(func() {
		if err := o.fill(ctx, &all, kind); err != nil && ctx.Err() == nil {
			o.op.GetLogger().Error(err, "an optional kind cannot be watched; it is tried again", "kind", kind.Kind, "group", kind.Group)
			close(w.gone)
		}
	})
	return w
}

// fill makes the cache, waits until it is full, and lets it feed the queues.
func (o *optionalChildren) fill(ctx context.Context, all *sync.WaitGroup, kind schema.GroupVersionKind) error {
	children, err := cache.New(o.op.GetConfig(), o.options)
	if err != nil {
		return err
	}
	if err := children.IndexField(ctx, metadataOnly(kind), identity.CacheIndex, identity.IndexKeys); err != nil {
		return err
	}
	all.Go(func() {
		if err := children.Start(ctx); err != nil {
			o.op.GetLogger().Error(err, "the cache of an optional kind ended", "kind", kind.Kind, "group", kind.Group)
		}
	})
	// Without the right to list it this waits, and the cache asks again and again.
	if !children.WaitForCacheSync(ctx) {
		return ctx.Err()
	}
	o.mu.Lock()
	if ctx.Err() == nil {
		o.caches[kind] = children
	}
	feeding := slices.Clone(o.feeding)
	o.mu.Unlock()
	for _, to := range feeding {
		if err := to.watch(children, kind); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether the caches of all the kinds are full.
func (o *optionalChildren) has(kinds []schema.GroupVersionKind) bool {
	if len(kinds) == 0 {
		return true
	}
	o.mu.RLock()
	defer o.mu.RUnlock()
	return !slices.ContainsFunc(kinds, func(kind schema.GroupVersionKind) bool { return o.caches[kind] == nil })
}

// full are the kinds whose caches are full, in the configuration's order, so that one world gives one decision.
func (o *optionalChildren) full() (kinds []schema.GroupVersionKind, caches []client.Reader) {
	if o == nil {
		return nil, nil // a reconciler without an operator
	}
	o.mu.RLock()
	defer o.mu.RUnlock()
	for _, kind := range o.kinds {
		if children := o.caches[kind]; children != nil {
			kinds, caches = append(kinds, kind), append(caches, children)
		}
	}
	return kinds, caches
}
