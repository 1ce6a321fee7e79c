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

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
)

// The caches of a new leader may lack the last writes of the previous leader. A pass on such a cache could revert the
// result of an edit, with writes that the object's resourceVersion does not guard.

// catchUpPage is the number of custom resources that a leader lists with one request.
const catchUpPage = 100

// CaughtUp records for each namespace the last term in which a leader has listed the custom resources there. Namespaces
// are independent of each other: one that cannot be listed delays no pass in the others.
type CaughtUp struct {
	mu  sync.Mutex
	all map[string]*caughtUp // by namespace
}

type caughtUp struct {
	mu   sync.Mutex // held during a list
	term atomic.Uint64
}

func (c *CaughtUp) of(namespace string) *caughtUp {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.all == nil {
		c.all = map[string]*caughtUp{}
	}

	if c.all[namespace] == nil {
		c.all[namespace] = &caughtUp{}
	}
	return c.all[namespace]
}

// In reports whether the leader has listed the custom resources of a namespace in the given term.
func (c *CaughtUp) In(term uint64, namespace string) bool { return c.of(namespace).term.Load() == term }

// Forget makes the leader list the custom resources of a namespace again.
func (c *CaughtUp) Forget(namespace string) { c.of(namespace).term.Store(0) }

// Sources are the places from which a leader reads the custom resources of a kind.
type Sources struct {
	Cache     client.Client
	Live      client.Reader
	Empty     client.Object // an empty object of the kind
	Namespace string        // an empty name means all namespaces
}

// CatchUp makes passes wait until the cache has the last writes of the previous leader. A leader calls it before the
// passes of each term, because another replica may have led in between. Only the first successful call of a term in a
// namespace does work: it lists the metadata of all objects, which is cheaper than a read of each object. The list
// includes applications that have ended. If the cache has an object that no longer exists, passes over that object wait
// until the cache removes it.
func (c *CaughtUp) CatchUp(ctx context.Context, term uint64, own *OwnWrites, from Sources, now time.Time) error {
	in := c.of(from.Namespace)
	in.mu.Lock()
	defer in.mu.Unlock()

	if in.term.Load() == term {
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
	if err := from.Cache.List(ctx, cached, client.InNamespace(from.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list custom resources in the cache: %w", err)
	}

	live, listed := map[types.NamespacedName]types.UID{}, "" // listed is the version of the list
	page := &metav1.PartialObjectMetadataList{}
	page.SetGroupVersionKind(gvk)

	for more := true; more; more = page.Continue != "" {
		if err := from.Live.List(ctx, page, client.InNamespace(from.Namespace), client.Limit(catchUpPage), client.Continue(page.Continue)); err != nil {
			return fmt.Errorf("read the last write of the previous leader: %w", err)
		}

		for i := range page.Items {
			live[identity.Key(&page.Items[i])] = page.Items[i].UID
			own.Await(&page.Items[i], page.Items[i].ResourceVersion, now)
		}

		listed = cmp.Or(listed, page.ResourceVersion)
	}

	err = meta.EachListItem(cached, func(item runtime.Object) error {
		if object := item.(client.Object); live[identity.Key(object)] != object.GetUID() {
			own.Await(object, listed, now) // all versions of the deleted object are older than the list
		}
		return nil
	})
	if err == nil {
		in.term.Store(term)
	}
	return err
}
