package controller

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxCachedSpec is the longest spec that the cache keeps, in bytes of JSON. Few specs are longer than 10 kB. A pass reads a longer one from the API server,
// so that the memory that a custom resource holds does not grow with what a tenant writes into its spec.
const maxCachedSpec = 32 << 10

// specDropper is a custom resource that knows how long its spec is.
type specDropper interface {
	// DropLargeSpec empties a spec of more than most bytes, and reports whether the spec is of that size.
	DropLargeSpec(most int) bool
}

// read reads a custom resource from the cache. One with a large spec is read from the API server, and may be newer than the cache then.
func (r *Reconciler) read(ctx context.Context, key types.NamespacedName, into client.Object) error {
	if err := r.client.Get(ctx, key, into); err != nil {
		return err
	}
	cached, ok := any(into).(specDropper)
	if !ok || !cached.DropLargeSpec(maxCachedSpec) {
		return nil
	}
	live := r.kind.New()
	switch err := r.live.Get(ctx, key, live); {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s is gone, and the cache does not show that yet", key) // no NotFound: the pass after the deletion's event ends what remains
	case err != nil:
		return fmt.Errorf("read a spec of more than %d bytes, which the cache does not keep: %w", maxCachedSpec, err)
	}
	dropClientNotes(live)
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(live).Elem())
	return nil
}
