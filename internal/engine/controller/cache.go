package controller

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/sparkoperator/spark-operator/internal/intake/trim"
)

// read reads a custom resource from the cache. If the spec is too large for the cache, read reads the custom resource
// from the API server, whose answer may be newer than the cache.
func (r *Reconciler) read(ctx context.Context, key types.NamespacedName, into client.Object) error {
	if err := r.dependents.Client.Get(ctx, key, into); err != nil {
		return err
	}

	cached, ok := any(into).(trim.SpecDropper)
	if !ok || !cached.DropLargeSpec(trim.MaxSpec) {
		return nil
	}

	live := r.kind.New()
	switch err := r.dependents.Live.Get(ctx, key, live); {
	case apierrors.IsNotFound(err):
		// The error is not a NotFound error, so that this pass does not treat the object as deleted. The pass after the
		// deletion event does that.
		return fmt.Errorf("%s was deleted, and the cache does not show that yet", key)
	case err != nil:
		return fmt.Errorf("read a spec of more than %d bytes, which the cache does not keep: %w", trim.MaxSpec, err)
	}

	trim.DropClientNotes(live)
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(live).Elem())
	return nil
}

// NoEchoes returns a predicate that drops the event of the operator's own status write, because this event would cause
// a useless pass. It keeps the event in two cases:
//
//   - The kind does not set Traits.Concludes: the event may lead to a further decision.
//   - The old and the new object of the event have the same resourceVersion: the informer has sent an old event again.
func (r *Reconciler) NoEchoes() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !r.kind.Traits().Concludes || e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion() || !r.writes.IsEcho(e.ObjectNew)
	}}
}

// stale reports whether an object that was read from the cache is older than our own last write. Usually the event of
// that write has not arrived yet. If the object in the cache stays older for long, stale reads the object from the API
// server, because the event may never arrive: after a restore of the API server's store, the write no longer exists.
// Without the read, the application would never get another pass.
func (r *Reconciler) stale(ctx context.Context, stored client.Object) (bool, error) {
	ahead, doubted := r.writes.CacheIsStale(stored, r.clock())
	if !ahead {
		return false, nil
	}

	key := client.ObjectKeyFromObject(stored)
	if !doubted {
		// The write may have reached the cache after the pass read the object. Its event may have been dropped as an
		// echo, so the pass must not wait for it. If the cache still lacks the write, its event is not dropped when it
		// arrives.
		if err := r.read(ctx, key, stored); err != nil {
			return true, client.IgnoreNotFound(err)
		}

		ahead, _ = r.writes.CacheIsStale(stored, r.clock())
		return ahead, nil
	}

	live := r.kind.New()
	if err := r.dependents.Live.Get(ctx, key, live); err != nil {
		return true, client.IgnoreNotFound(err)
	}

	if !r.writes.NewerThan(live) {
		return true, nil
	}

	log.FromContext(ctx).Info("The API server returned a status that is older than the last written status, as after a restore; continuing from the older status")
	r.writes.Forget(key)
	return false, nil
}
