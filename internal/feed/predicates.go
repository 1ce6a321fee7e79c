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

// OwnerOf maps a dependent to the custom resource of a kind that is to see its changes; see identity.CustomResource.
func OwnerOf(kind schema.GroupKind, nameLabel string) handler.MapFunc {
	return func(_ context.Context, dependent client.Object) []reconcile.Request {
		key, found := identity.CustomResource(dependent, kind, nameLabel)
		if !found {
			return nil
		}
		return []reconcile.Request{{NamespacedName: key}}
	}
}

// comingAndGoing passes on that an object appeared or went. Nothing is decided by what one of childKinds holds.
func comingAndGoing() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
}

// ChangesOf passes on what of a child kind anything is decided by.
func ChangesOf(kind string, vital []string) predicate.Predicate {
	if slices.Contains(vital, kind) {
		return comingOrChanged()
	}
	return comingAndGoing()
}

// comingOrChanged passes on as well that somebody may have changed what stands beside a driver: a Service has no generation, and its metadata does not tell.
func comingOrChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return identity.IsAuxiliary(e.ObjectNew) && e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion()
	}}
}

// ComingOrEdited passes on as well that what stands beside a driver was edited by somebody else: its generation moved, and what it was made of did not.
func ComingOrEdited() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := e.ObjectOld, e.ObjectNew
		return identity.IsAuxiliary(is) && was.GetGeneration() != is.GetGeneration() && was.GetLabels()[lifecycle.ContentLabel] == is.GetLabels()[lifecycle.ContentLabel]
	}}
}

// Relabelled passes on namespaces that come and those whose labels change. One that goes takes everything with it.
func Relabelled() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool { return !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}
