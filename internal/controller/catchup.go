package controller

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/sparkoperator/spark-operator/internal/identity"
)

// The caches of the next leader may be behind what the leader before it has seen. What that one made of an edit would
// be put back, before anything is written that the object's resourceVersion guards.

// catchUpPage is how many custom resources a leader reads of what there is with one request.
const catchUpPage = 100

// caughtUp is in which of its terms a leader has looked what there is.
type caughtUp struct {
	mu   sync.Mutex
	term atomic.Uint64
}

// catchUp has passes wait for what the leader before wrote last, as if it had been written here (statuswrite.Own), before the
// first pass of each term: another replica may have led in between. It lists the metadata of all objects, once a term,
// which is cheaper than a read of each. Objects that are over are part of the list. An object that is gone is awaited
// as well, until the cache shows that.
func (r *Reconciler) catchUp(ctx context.Context) error {
	if r.lead == nil {
		return nil
	}
	term := r.lead.Terms()
	if r.caught.term.Load() == term {
		return nil
	}
	r.caught.mu.Lock()
	defer r.caught.mu.Unlock()
	if r.caught.term.Load() == term {
		return nil
	}
	gvk, err := apiutil.GVKForObject(r.kind.New(), r.dependents.Client.Scheme())
	if err != nil {
		return err
	}
	gvk.Kind += "List"
	empty, err := r.dependents.Client.Scheme().New(gvk)
	if err != nil {
		return err
	}
	cached := empty.(client.ObjectList)
	if err := r.dependents.Client.List(ctx, cached, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list custom resources in the cache: %w", err)
	}
	now, live, end := r.clock(), map[types.NamespacedName]types.UID{}, ""
	for _, namespace := range r.scope.Watched() {
		page := &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(gvk)
		for more := true; more; more = page.Continue != "" {
			if err := r.dependents.Live.List(ctx, page, client.InNamespace(namespace), client.Limit(catchUpPage), client.Continue(page.Continue)); err != nil {
				return fmt.Errorf("read what the leader before wrote last: %w", err)
			}
			for i := range page.Items {
				live[identity.Key(&page.Items[i])] = page.Items[i].UID
				r.writes.Await(&page.Items[i], page.Items[i].ResourceVersion, now)
			}
			end = cmp.Or(end, page.ResourceVersion)
		}
	}
	err = meta.EachListItem(cached, func(item runtime.Object) error {
		if object := item.(client.Object); live[identity.Key(object)] != object.GetUID() {
			r.writes.Await(object, end, now) // all versions of what was gone by then are older
		}
		return nil
	})
	if err == nil {
		r.caught.term.Store(term)
	}
	return err
}
