package handlers

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

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
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

// ChangesOf returns a predicate for one kind of dependents that passes on the events that decisions depend on:
// creations, deletions, and edits by others. If the kind is in the list vital, the predicate passes on all updates of
// auxiliary objects. These include the operator's own writes.
func ChangesOf(kind string, vital []string) predicate.Predicate {
	isVital := slices.Contains(vital, kind)
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return isEdit(e) || isVital && identity.IsAuxiliary(e.ObjectNew) && e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion()
	}}
}

// CreatedOrEdited returns a predicate that passes on creations, deletions, and edits of auxiliary objects by others.
func CreatedOrEdited() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return identity.IsAuxiliary(e.ObjectNew) && isEdit(e) }}
}

// isEdit reports whether an update may be an edit by others. Such an edit changes the generation of the object, but not
// the label with the digest of the wanted content. A write by the operator changes both. Services, ConfigMaps and
// autoscalers have no generation, so any update of them may be an edit.
func isEdit(e event.UpdateEvent) bool {
	before, after := e.ObjectOld, e.ObjectNew
	if before.GetLabels()[lifecycle.ContentLabel] != after.GetLabels()[lifecycle.ContentLabel] {
		return false
	}

	if after.GetGeneration() == 0 {
		return before.GetResourceVersion() != after.GetResourceVersion()
	}
	return before.GetGeneration() != after.GetGeneration()
}

// Relabelled returns a predicate that passes on new namespaces and changes of their labels, but no deletions: the
// deletion of a namespace deletes its content, which causes events of its own.
func Relabelled() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool { return !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}
