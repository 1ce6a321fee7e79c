package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// release removes another operator's finalizers (contract.Inherited) from a custom resource, and reports whether
// the custom resource had such finalizers. The other operator used them to clean up before a deletion. This is not
// necessary: the application or its driver owns all dependents, so Kubernetes' garbage collector deletes them. If the
// object was changed or deleted meanwhile, a later pass handles it.
func (r *Reconciler) release(ctx context.Context, stored client.Object) (bool, error) {
	theirs := func(finalizer string) bool { return slices.Contains(r.kind.Traits().Inherited.Finalizers, finalizer) }

	has := stored.GetFinalizers()
	if !slices.ContainsFunc(has, theirs) {
		return false, nil
	}

	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": stored.GetUID(), "resourceVersion": stored.GetResourceVersion(),
		"finalizers": slices.DeleteFunc(slices.Clone(has), theirs),
	}})
	if err != nil {
		return true, err
	}

	target, err := r.metadataOf(stored)
	if err != nil {
		return true, err
	}

	err = r.dependents.Client.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch))
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return true, fmt.Errorf("release the finalizers %v of another operator: %w", r.kind.Traits().Inherited.Finalizers, err)
	}

	log.FromContext(ctx).Info("Removed the finalizers of another operator", "finalizers", slices.DeleteFunc(slices.Clone(has), func(f string) bool { return !theirs(f) }))
	return true, nil
}
