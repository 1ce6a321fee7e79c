package controller

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Who acts on an object that another replica had may have caches that are behind what that one has seen. What that one made of an edit would be put back, before
// anything is written that the object's resourceVersion guards.

// catchUp makes the first pass over an object in a tenure wait for what the one who had it before wrote last, as if it had been written here (ownWrites); what
// was remembered of an earlier tenure is dropped. It costs one read of metadata for each object that comes. What is over is left out, unless it was edited:
// nothing is decided about it but its end, which is deleted as it was read or not at all (isStill). No cluster is left out, as its Secrets go by a label.
// It reports whether the object is gone, or is another of its name.
func (r *Reconciler[T]) catchUp(ctx context.Context, stored T, tenure uint64) (gone bool, err error) {
	key := keyOf(stored)
	if was, _ := r.tenures.get(key); was == tenure {
		return false, nil
	}
	r.forget(key)
	edited := r.kind.Observed != nil && r.kind.Observed(stored) != stored.GetGeneration() // and may have begun anew
	if edited || !r.standing(stored).Phase.Terminal() || r.kind.clusters() {
		live, err := r.metadataOf(stored)
		if err != nil {
			return false, err
		}
		switch err := r.live.Get(ctx, key, live); {
		case apierrors.IsNotFound(err):
			return true, nil
		case err != nil:
			return false, fmt.Errorf("read what the replica before wrote last: %w", err)
		case live.UID != stored.GetUID():
			return true, nil
		}
		r.writes.wrote(live)
	}
	r.tenures.set(key, tenure)
	return false, nil
}

// isStill reports whether an object is what a pass read of it. Where it has changed, passes wait until the cache shows that.
func (r *Reconciler[T]) isStill(ctx context.Context, stored T) bool {
	ctx, cancel := context.WithTimeout(ctx, surroundTimeout)
	defer cancel()
	live, err := r.metadataOf(stored)
	if err == nil {
		err = r.live.Get(ctx, keyOf(stored), live)
	}
	switch {
	case err != nil:
		log.FromContext(ctx).V(1).Info("what a driver left is not deleted yet", "cause", err.Error())
		return false
	case live.UID == stored.GetUID() && live.ResourceVersion == stored.GetResourceVersion():
		return true
	}
	r.writes.await(live, live.ResourceVersion, r.clock())
	return false
}

// catchUpPage is how many custom resources a leader reads of what there is with one request.
const catchUpPage = 100

// caughtUp is in which of its terms a leader has looked what there is.
type caughtUp struct {
	mu   sync.Mutex
	term atomic.Uint64
}

// catchUpAll is catchUp where there is a leader, before the first pass of each of its terms, as another may have led in between: all objects come to it at once,
// so that a list is cheaper than a read of each, and nobody had before what is made later. None is left out, as what is over costs nothing more. An object that
// is gone is waited for as well, until the cache has heard of it.
func (r *Reconciler[T]) catchUpAll(ctx context.Context) error {
	if r.lock == nil {
		return nil
	}
	term := r.lock.lead.Terms()
	if r.caught.term.Load() == term {
		return nil
	}
	r.caught.mu.Lock()
	defer r.caught.mu.Unlock()
	if r.caught.term.Load() == term {
		return nil
	}
	gvk, err := apiutil.GVKForObject(r.kind.New(), r.client.Scheme())
	if err != nil {
		return err
	}
	gvk.Kind += "List"
	empty, err := r.client.Scheme().New(gvk)
	if err != nil {
		return err
	}
	cached := empty.(client.ObjectList)
	if err := r.client.List(ctx, cached, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list custom resources in the cache: %w", err)
	}
	now, live, end := r.clock(), map[types.NamespacedName]types.UID{}, ""
	for _, namespace := range r.scope.watched() {
		page := &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(gvk)
		for more := true; more; more = page.Continue != "" {
			if err := r.live.List(ctx, page, client.InNamespace(namespace), client.Limit(catchUpPage), client.Continue(page.Continue)); err != nil {
				return fmt.Errorf("read what the leader before wrote last: %w", err)
			}
			for i := range page.Items {
				live[keyOf(&page.Items[i])] = page.Items[i].UID
				r.writes.await(&page.Items[i], page.Items[i].ResourceVersion, now)
			}
			end = cmp.Or(end, page.ResourceVersion)
		}
	}
	err = meta.EachListItem(cached, func(item runtime.Object) error {
		if object := item.(client.Object); live[keyOf(object)] != object.GetUID() {
			r.writes.await(object, end, now) // all versions of what was gone by then are older
		}
		return nil
	})
	if err == nil {
		r.caught.term.Store(term)
	}
	return err
}
