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

// Kind manages the sentinels of one kind of custom resource. A nil Kind means that the kind has no sentinels.
type Kind struct {
	set    *Set
	name   string
	empty  func() client.Object
	client client.Client // reads the cache
	live   client.Reader // reads the API server
	passes atomic.Uint64 // number of passes that have ended
}

// Of returns the sentinels of a kind. The argument name is the kind's name in logs. The function empty returns an empty
// object of the kind.
func (s *Set) Of(name string, empty func() client.Object, cached client.Client, live client.Reader) *Kind {
	return &Kind{set: s, name: name, empty: empty, client: cached, live: live}
}

// Has reports whether an object is a sentinel of this kind.
func (k *Kind) Has(object client.Object) bool { return k != nil && isSentinel(object) }

// Observe records the generation of a sentinel that a pass has read. If the sentinel is in the operator's namespace,
// the operator writes to the sentinel from now on.
func (k *Kind) Observe(object client.Object) {
	name := client.ObjectKeyFromObject(object)
	if !k.set.probes(name.Namespace) {
		return
	}

	k.set.observe(k.key(name), object.GetUID(), object.GetGeneration(), probePath{
		write: func(ctx context.Context, number int64) (int64, error) {
			generation, err := k.write(ctx, k.client, name, number)
			if apierrors.IsConflict(err) { // the cache is late; the probe finds out whether its watch is stuck
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

// Forget drops an object that does not exist any more or is no longer a sentinel.
func (k *Kind) Forget(name types.NamespacedName) {
	if k != nil {
		k.set.forget(k.key(name))
	}
}

// PassEnded records that a pass over any object of the kind has ended.
func (k *Kind) PassEnded() {
	if k != nil {
		k.passes.Add(1)
	}
}

func (k *Kind) key(name types.NamespacedName) key { return key{k.name, name} }

// write reads the object of the given name and patches it if it is still a sentinel. Somebody may have replaced the
// sentinel with a real application, whose spec the operator must not change. The patch fails if the object changes
// after the read. The patch sets the same property as the operator of spark.apache.org does. No program reads this
// property.
func (k *Kind) write(ctx context.Context, from client.Reader, name types.NamespacedName, number int64) (int64, error) {
	object := k.empty()
	if err := from.Get(ctx, name, object); err != nil {
		return 0, err
	}

	if !isSentinel(object) {
		return 0, errors.New("the object is no longer a sentinel")
	}

	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"resourceVersion":%q},"spec":{"sparkConf":{"sentinel.dummy.number":"%d"}}}`,
		object.GetUID(), object.GetResourceVersion(), number)
	err := k.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
	return object.GetGeneration(), err
}
