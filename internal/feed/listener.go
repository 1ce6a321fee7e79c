// Package feed brings the events of children to the queues of those whose children they are: at once what somebody waits for, gathered what nobody does. What of
// them no later look could find out, it remembers.
package feed

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

// Listener brings the events of one kind of children to the controllers of all kinds of custom resources. At the informer each of these would have two goroutines
// of its own, which every event wakes, mostly to find that it is another's: that costs more than what is done about the event.
//
// A controller that is made once the operator runs listens for itself, since what there is was told already.
type Listener struct {
	cache cache.Cache
	of    client.Object

	mu      sync.Mutex
	awaited int           // ears that were made and do not listen yet
	ears    []*Ear        // nothing more comes once all listen
	all     chan struct{} // closed when they do
	told    toolscache.ResourceEventHandlerRegistration
	failed  error
}

// NewListener returns a listener to the objects of a cache that are as one.
func NewListener(of client.Object, in cache.Cache) *Listener {
	return &Listener{cache: in, of: of, all: make(chan struct{})}
}

// Ear is a controller that listens.
type Ear struct {
	*Listener
	shares     bool // with the other ears what the informer tells
	handler    handler.EventHandler
	predicates []predicate.Predicate
	heard      chan error // one, once the queue has had all that there was

	ctx   context.Context
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

var _ source.SyncingSource = &Ear{}

// Ear is what has a controller listen. Whoever makes one that shares starts it: the others wait for it.
func (l *Listener) Ear(shares bool, to handler.EventHandler, predicates ...predicate.Predicate) *Ear {
	if shares {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.awaited++
	}
	return &Ear{Listener: l, shares: shares, handler: to, predicates: predicates, heard: make(chan error, 1)}
}

// String implements fmt.Stringer, for the log.
func (e *Ear) String() string {
	return fmt.Sprintf("children: %T %s", e.of, e.of.GetObjectKind().GroupVersionKind().Kind)
}

// Start implements source.Source.
func (e *Ear) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	e.ctx, e.queue = ctx, queue
	go func() { e.heard <- e.join(ctx) }()
	return nil
}

// WaitForSync implements source.SyncingSource.
func (e *Ear) WaitForSync(ctx context.Context) error {
	select {
	case err := <-e.heard:
		return err
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil // the operator ends
		}
		return fmt.Errorf("timed out waiting for %s", e)
	}
}

// join begins to listen and waits until all was told that there was.
func (e *Ear) join(ctx context.Context) error {
	informer, err := e.cache.GetInformer(ctx, e.of)
	if err != nil {
		return err
	}
	told, err := e.listen(ctx, informer)
	if err == nil && !toolscache.WaitForCacheSync(ctx.Done(), told.HasSynced) {
		err = ctx.Err()
	}
	return err
}

// listen has the informer tell the ear. The last of those that share has it tell all of them.
func (e *Ear) listen(ctx context.Context, informer cache.Informer) (toolscache.ResourceEventHandlerRegistration, error) {
	if !e.shares {
		return informer.AddEventHandler(e)
	}
	e.mu.Lock()
	e.ears = append(e.ears, e)
	if e.awaited--; e.awaited == 0 {
		e.told, e.failed = informer.AddEventHandler(e.Listener)
		close(e.all)
	}
	e.mu.Unlock()
	select {
	case <-e.all:
		return e.told, e.failed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// OnAdd implements toolscache.ResourceEventHandler.
func (l *Listener) OnAdd(object any, initial bool) {
	for _, ear := range l.ears {
		ear.OnAdd(object, initial)
	}
}

// OnUpdate implements toolscache.ResourceEventHandler.
func (l *Listener) OnUpdate(was, is any) {
	for _, ear := range l.ears {
		ear.OnUpdate(was, is)
	}
}

// OnDelete implements toolscache.ResourceEventHandler.
func (l *Listener) OnDelete(object any) {
	for _, ear := range l.ears {
		ear.OnDelete(object)
	}
}

// OnAdd brings to the queue that an object has come.
func (e *Ear) OnAdd(object any, initial bool) {
	come, ok := object.(client.Object)
	if !ok {
		return
	}
	created := event.CreateEvent{Object: come, IsInInitialList: initial}
	for _, p := range e.predicates {
		if !p.Create(created) {
			return
		}
	}
	e.handler.Create(e.ctx, created, e.queue)
}

// OnUpdate brings to the queue that an object has changed.
func (e *Ear) OnUpdate(was, is any) {
	before, ok := was.(client.Object)
	now, both := is.(client.Object)
	if !ok || !both {
		return
	}
	changed := event.UpdateEvent{ObjectOld: before, ObjectNew: now}
	for _, p := range e.predicates {
		if !p.Update(changed) {
			return
		}
	}
	e.handler.Update(e.ctx, changed, e.queue)
}

// OnDelete brings to the queue that an object is gone, or was found to be while nobody watched.
func (e *Ear) OnDelete(object any) {
	last, unseen := object.(toolscache.DeletedFinalStateUnknown)
	if unseen {
		object = last.Obj
	}
	gone, ok := object.(client.Object)
	if !ok {
		return
	}
	deleted := event.DeleteEvent{Object: gone, DeleteStateUnknown: unseen}
	for _, p := range e.predicates {
		if !p.Delete(deleted) {
			return
		}
	}
	e.handler.Delete(e.ctx, deleted, e.queue)
}
