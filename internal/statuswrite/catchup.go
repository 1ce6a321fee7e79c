package statuswrite

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

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

// CaughtUp is in which of its terms a leader has looked what there is.
type CaughtUp struct {
	mu   sync.Mutex
	term atomic.Uint64
}

// In reports whether it has in a term.
func (c *CaughtUp) In(term uint64) bool { return c.term.Load() == term }

// Sources are where a leader reads the custom resources of a kind.
type Sources struct {
	Cache      client.Client
	Live       client.Reader
	Empty      client.Object // of the kind
	Namespaces []string      // an empty name is all of them
}

// CatchUp has passes wait for what the leader before wrote last, as if it had been written here, before the
// first pass of each term: another replica may have led in between. It lists the metadata of all objects, once a term,
// which is cheaper than a read of each. Objects that are over are part of the list. An object that is gone is awaited
// as well, until the cache shows that.
func (c *CaughtUp) CatchUp(ctx context.Context, term uint64, own *Own, from Sources, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.In(term) {
		return nil
	}
	gvk, err := apiutil.GVKForObject(from.Empty, from.Cache.Scheme())
	if err != nil {
		return err
	}
	gvk.Kind += "List"
	empty, err := from.Cache.Scheme().New(gvk)
	if err != nil {
		return err
	}
	cached := empty.(client.ObjectList)
	if err := from.Cache.List(ctx, cached, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list custom resources in the cache: %w", err)
	}
	live, end := map[types.NamespacedName]types.UID{}, ""
	for _, namespace := range from.Namespaces {
		page := &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(gvk)
		for more := true; more; more = page.Continue != "" {
			if err := from.Live.List(ctx, page, client.InNamespace(namespace), client.Limit(catchUpPage), client.Continue(page.Continue)); err != nil {
				return fmt.Errorf("read what the leader before wrote last: %w", err)
			}
			for i := range page.Items {
				live[identity.Key(&page.Items[i])] = page.Items[i].UID
				own.Await(&page.Items[i], page.Items[i].ResourceVersion, now)
			}
			end = cmp.Or(end, page.ResourceVersion)
		}
	}
	err = meta.EachListItem(cached, func(item runtime.Object) error {
		if object := item.(client.Object); live[identity.Key(object)] != object.GetUID() {
			own.Await(object, end, now) // all versions of what was gone by then are older
		}
		return nil
	})
	if err == nil {
		c.term.Store(term)
	}
	return err
}
