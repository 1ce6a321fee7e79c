// Package handlers puts the owners of dependents into the controllers' queues when the dependents change. It does so at
// once if a decision waits for the change, and otherwise a little later, so that one pass handles several changes. It
// also remembers the ended executors that a later pass could no longer find.
package handlers

import (
	"context"
	"errors"
	"fmt"
	"sync"

	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Listener is an informer event handler for one kind of dependents. All controllers share it: it passes each event on
// to the controllers of all kinds of custom resources. The informer starts two goroutines for each of its handlers, and
// every event wakes them. With one handler for each controller, this would cost more than the work on the event.
//
// A controller that is created while the operator runs has its own handler, because the informer has already delivered
// the existing objects to the shared handler.
type Listener struct {
	cache cache.Cache
	kind  client.Object

	mu           sync.Mutex
	awaited      int           // shared sources that exist and have not started yet
	sources      []*Source     // shared sources that have started; complete when awaited is 0
	all          chan struct{} // closed when all sources have started
	registration toolscache.ResourceEventHandlerRegistration
	err          error
}

// NewListener returns a listener for the objects in a cache that have the kind of the given object.
func NewListener(kind client.Object, in cache.Cache) *Listener {
	return &Listener{cache: in, kind: kind, all: make(chan struct{})}
}

// Source is the event source of one controller.
type Source struct {
	*Listener
	shared    bool // whether it shares the informer event handler of the Listener
	handler   handler.EventHandler
	predicate predicate.Predicate
	synced    chan error // gets one value after the handler has received all existing objects

	ctx   context.Context
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

var _ source.SyncingSource = &Source{}

// Source returns an event source for one controller. If shared is true, the caller has to start the source, because all
// shared sources wait until the last of them is started.
func (l *Listener) Source(shared bool, to handler.EventHandler, predicates ...predicate.Predicate) *Source {
	if shared {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.awaited++
	}
	return &Source{Listener: l, shared: shared, handler: to, predicate: predicate.And(predicates...), synced: make(chan error, 1)}
}

// String returns the kind of the source's objects, for the log.
func (s *Source) String() string {
	return fmt.Sprintf("dependents: %T %s", s.kind, s.kind.GetObjectKind().GroupVersionKind().Kind)
}

// Start implements source.Source.
func (s *Source) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s.ctx, s.queue = ctx, queue
	go func() { s.synced <- s.join(ctx) }()
	return nil
}

// WaitForSync implements source.SyncingSource.
func (s *Source) WaitForSync(ctx context.Context) error {
	select {
	case err := <-s.synced:
		return err
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil // the operator is shutting down
		}
		return fmt.Errorf("timed out waiting for %s", s)
	}
}

// join registers the event handler and waits until it has received all existing objects.
func (s *Source) join(ctx context.Context) error {
	informer, err := s.cache.GetInformer(ctx, s.kind)
	if err != nil {
		return err
	}

	registration, err := s.register(ctx, informer)
	if err == nil && !toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		err = ctx.Err()
	}
	return err
}

// register adds the event handler to the informer. Shared sources have a common handler, which the last source to start
// adds.
func (s *Source) register(ctx context.Context, informer cache.Informer) (toolscache.ResourceEventHandlerRegistration, error) {
	if !s.shared {
		return informer.AddEventHandler(s)
	}

	s.mu.Lock()

	s.sources = append(s.sources, s)
	if s.awaited--; s.awaited == 0 {
		s.registration, s.err = informer.AddEventHandler(s.Listener)
		close(s.all)
	}
	s.mu.Unlock()

	select {
	case <-s.all:
		return s.registration, s.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// OnAdd implements toolscache.ResourceEventHandler.
func (l *Listener) OnAdd(object any, initial bool) {
	for _, s := range l.sources {
		s.OnAdd(object, initial)
	}
}

// OnUpdate implements toolscache.ResourceEventHandler.
func (l *Listener) OnUpdate(old, changed any) {
	for _, s := range l.sources {
		s.OnUpdate(old, changed)
	}
}

// OnDelete implements toolscache.ResourceEventHandler.
func (l *Listener) OnDelete(object any) {
	for _, s := range l.sources {
		s.OnDelete(object)
	}
}

// OnAdd implements toolscache.ResourceEventHandler.
func (s *Source) OnAdd(object any, initial bool) {
	come, ok := object.(client.Object)
	if !ok {
		return
	}

	created := event.CreateEvent{Object: come, IsInInitialList: initial}
	if s.predicate.Create(created) {
		s.handler.Create(s.ctx, created, s.queue)
	}
}

// OnUpdate implements toolscache.ResourceEventHandler.
func (s *Source) OnUpdate(old, changed any) {
	before, ok := old.(client.Object)

	now, both := changed.(client.Object)
	if !ok || !both {
		return
	}

	update := event.UpdateEvent{ObjectOld: before, ObjectNew: now}
	if s.predicate.Update(update) {
		s.handler.Update(s.ctx, update, s.queue)
	}
}

// OnDelete implements toolscache.ResourceEventHandler. If the watch was broken when the object was deleted, OnDelete
// passes on the last known state of the object.
func (s *Source) OnDelete(object any) {
	last, unseen := object.(toolscache.DeletedFinalStateUnknown)
	if unseen {
		object = last.Obj
	}

	gone, ok := object.(client.Object)
	if !ok {
		return
	}

	deleted := event.DeleteEvent{Object: gone, DeleteStateUnknown: unseen}
	if s.predicate.Delete(deleted) {
		s.handler.Delete(s.ctx, deleted, s.queue)
	}
}
