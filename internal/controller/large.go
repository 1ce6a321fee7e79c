package controller

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/trim"
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
