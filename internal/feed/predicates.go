package feed

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// OwnerOf maps a dependent to the custom resource of a kind whose passes depend on it; see identity.CustomResource.
func OwnerOf(kind schema.GroupKind, nameLabel string) handler.MapFunc {
	return func(_ context.Context, dependent client.Object) []reconcile.Request {
		key, found := identity.CustomResource(dependent, kind, nameLabel)
		if !found {
			return nil
		}
		return []reconcile.Request{{NamespacedName: key}}
	}
}

// createdOrDeleted passes on creations and deletions. No decision depends on the content of these kinds.
func createdOrDeleted() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
}

// ChangesOf passes on the events of a kind of dependents that decisions depend on.
func ChangesOf(kind string, vital []string) predicate.Predicate {
	if slices.Contains(vital, kind) {
		return createdOrChanged()
	}
	return createdOrDeleted()
}

// createdOrChanged also passes on changes of auxiliary objects by others. Any change of the resourceVersion counts: a
// Service has no generation, and its metadata does not show who changed what.
func createdOrChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return identity.IsAuxiliary(e.ObjectNew) && e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion()
	}}
}

// CreatedOrEdited also passes on edits of auxiliary objects by others: the generation changed, and the digest of the
// wanted content did not.
func CreatedOrEdited() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld, e.ObjectNew
		return identity.IsAuxiliary(after) && before.GetGeneration() != after.GetGeneration() && before.GetLabels()[lifecycle.ContentLabel] == after.GetLabels()[lifecycle.ContentLabel]
	}}
}

// Relabelled passes on new namespaces and changes of their labels. The deletion of a namespace deletes its content as
// well.
func Relabelled() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool { return !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}
