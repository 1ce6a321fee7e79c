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

// OwnerOf returns a function that maps a dependent to the custom resource of the given kind that has to be reconciled
// when the dependent changes; see identity.CustomResource.
func OwnerOf(kind schema.GroupKind, nameLabel string) handler.MapFunc {
	return func(_ context.Context, dependent client.Object) []reconcile.Request {
		key, found := identity.CustomResource(dependent, kind, nameLabel)
		if !found {
			return nil
		}
		return []reconcile.Request{{NamespacedName: key}}
	}
}

// createdOrDeleted returns a predicate that passes on creations and deletions, but no updates. It is for dependents
// whose content has no effect on decisions.
func createdOrDeleted() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
}

// ChangesOf returns a predicate for one kind of dependents that passes on the events that decisions depend on:
// creations and deletions. If the kind is in the list vital, the predicate passes on changes of auxiliary objects too.
func ChangesOf(kind string, vital []string) predicate.Predicate {
	if slices.Contains(vital, kind) {
		return createdOrChanged()
	}
	return createdOrDeleted()
}

// createdOrChanged returns a predicate that passes on all creations and deletions, and all updates of auxiliary objects
// with a new resourceVersion. These updates include the operator's own writes. The predicate cannot drop those, because
// a Service has no generation, and the cache does not keep managedFields.
func createdOrChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return identity.IsAuxiliary(e.ObjectNew) && e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion()
	}}
}

// CreatedOrEdited returns a predicate that passes on creations, deletions, and edits of auxiliary objects by others. An
// edit by others changes the generation of the object, but not the label with the digest of the wanted content. A write
// by the operator changes both.
func CreatedOrEdited() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld, e.ObjectNew
		return identity.IsAuxiliary(after) && before.GetGeneration() != after.GetGeneration() && before.GetLabels()[lifecycle.ContentLabel] == after.GetLabels()[lifecycle.ContentLabel]
	}}
}

// Relabelled returns a predicate that passes on new namespaces and changes of their labels, but no deletions: the
// deletion of a namespace deletes its content, which causes events of its own.
func Relabelled() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool { return !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}
