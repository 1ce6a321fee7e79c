package sentinel

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kind is the sentinels of one kind of custom resource. The nil Kind is of a kind that has none.
type Kind struct {
	set    *Set
	name   string
	empty  func() client.Object
	client client.Client // reads the cache
	live   client.Reader // reads the API server
	passes atomic.Uint64 // that have ended
}

// Of returns the sentinels of a kind, given by its name in logs and by a function that returns an empty object.
func (s *Set) Of(name string, empty func() client.Object, cached client.Client, live client.Reader) *Kind {
	return &Kind{set: s, name: name, empty: empty, client: cached, live: live}
}

// Has reports whether an object is a sentinel of this kind.
func (k *Kind) Has(object client.Object) bool { return k != nil && Is(object) }

// See takes what a pass saw of a sentinel. It is written to from now on, if its namespace is the operator's own.
func (k *Kind) See(object client.Object) {
	name := client.ObjectKeyFromObject(object)
	if !k.set.probes(name.Namespace) {
		return
	}
	k.set.seen(k.key(name), object.GetGeneration(), reach{
		write: func(ctx context.Context, number int64) (int64, error) {
			generation, err := k.write(ctx, k.client, name, number)
			if apierrors.IsConflict(err) { // the cache is late; whether its watch is stuck is what the sentinel is to find out
				return k.write(ctx, k.live, name, number)
			}
			return generation, err
		},
		cached: func(ctx context.Context) (int64, error) {
			object := k.empty()
			err := k.client.Get(ctx, name, object)
			return object.GetGeneration(), err
		},
		ended: k.passes.Load,
	})
}

// Forget drops an object that is gone, or is not a sentinel any more.
func (k *Kind) Forget(name types.NamespacedName) {
	if k != nil {
		k.set.forget(k.key(name))
	}
}

// PassEnded notes that a pass over an object of the kind has ended, sentinel or not.
func (k *Kind) PassEnded() {
	if k != nil {
		k.passes.Add(1)
	}
}

func (k *Kind) key(name types.NamespacedName) key { return key{k.name, name} }

// write writes to a sentinel that is as it was read, and to nothing else: what has its name by now may be an
// application, whose spec is the user's. What is written is what the operator of spark.apache.org writes; nobody reads it.
func (k *Kind) write(ctx context.Context, from client.Reader, name types.NamespacedName, number int64) (int64, error) {
	object := k.empty()
	if err := from.Get(ctx, name, object); err != nil {
		return 0, err
	}
	if !Is(object) {
		return 0, errors.New("it is not a sentinel any more")
	}
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"resourceVersion":%q},"spec":{"sparkConf":{"sentinel.dummy.number":"%d"}}}`,
		object.GetUID(), object.GetResourceVersion(), number)
	err := k.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
	return object.GetGeneration(), err
}
