package auxiliary

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/expose"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// This file finds the auxiliary objects of a driver or a standalone cluster in the cache, and compares them with the
// wanted ones (see ensure.go).

// checkRendered returns an error if a rendered object has no identity or no digest of its content. Without the
// identity, a later pass could not find the object. Without the digest, it could not detect a difference. The cause is
// always a bug in a dialect.
func checkRendered(object, owner client.Object) error {
	if object.GetLabels()[lifecycle.ContentLabel] == "" {
		return lifecycle.Bugf("%T %s was rendered without a digest of its content", object, object.GetName())
	}
	return identity.Verify(object, owner, identity.Attempt(object))
}

// clusterAddress returns the cluster IP of a Service. It returns "" for a Service without a cluster IP and for other
// kinds.
func clusterAddress(object client.Object) string {
	address := ""
	switch o := object.(type) {
	case *corev1.Service:
		address = o.Spec.ClusterIP
	case *unstructured.Unstructured:
		address, _, _ = unstructured.NestedString(o.Object, "spec", "clusterIP")
	}

	if address == corev1.ClusterIPNone {
		return ""
	}
	return address
}

// auxiliaryKinds are the kinds of auxiliary objects that are deleted when they are no longer wanted. Objects of other
// kinds are never deleted as unwanted.
var auxiliaryKinds = []string{"Service", "Ingress", expose.RouteKind.Kind, expose.GRPCRouteKind.Kind, "ConfigMap", "NetworkPolicy", dependents.KindBudget, dependents.StatefulSet.Kind, autoscaler.Kind}

// unwanted returns the existing auxiliary objects that are no longer wanted. If nothing is wanted at all, the result
// includes the pods that have lost their StatefulSet, because no new StatefulSet will adopt them.
func (w *work) unwanted(wanted []submit.Object) []client.Object {
	var remove []client.Object
	for i := range w.Set.Others {
		other := &w.Set.Others[i]

		keep := slices.ContainsFunc(wanted, func(object submit.Object) bool { return nameOf(object) == nameOf(other) })
		if identity.IsAuxiliary(other) && slices.Contains(auxiliaryKinds, dependents.KindOf(other)) && !keep && other.DeletionTimestamp == nil {
			remove = append(remove, other)
		}
	}

	if len(wanted) == 0 {
		for i := range w.Set.Strays {
			remove = append(remove, &w.Set.Strays[i])
		}
	}
	return remove
}

// inherited returns those of the given objects that the owner has, read live (dialect.AuxiliaryObjects.Inherited). If
// an object cannot be read, it requests a pass that tries again.
func (k Keeper) inherited(ctx context.Context, w *work, objects []submit.Object) (found []client.Object) {
	for _, object := range objects {
		live, err := k.ReadLiveMetadata(ctx, object)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			log.FromContext(ctx).Info("Could not look for an object of another operator", "kind", dependents.KindOf(object), "name", object.GetName(), "cause", err.Error())
			w.requeueAfter(rejectedInterval)
		case identity.OwnedBy(live, w.Owner.GetUID()) && live.DeletionTimestamp == nil:
			found = append(found, live)
		}
	}
	return found
}

// inCache returns an object's metadata from the cache, or nil if the cache does not have the object.
func (w *work) inCache(object client.Object) *metav1.PartialObjectMetadata {
	for i := range w.Set.Others {
		if other := &w.Set.Others[i]; nameOf(other) == nameOf(object) {
			return other
		}
	}
	return nil
}

// cached returns the digest of an object in the cache. It is "" if the cache does not have the object, and "?" if the
// object has no digest or is being deleted.
func (w *work) cached(object client.Object) string {
	other := w.inCache(object)
	if other == nil {
		return ""
	}

	if content := other.Labels[lifecycle.ContentLabel]; content != "" && other.DeletionTimestamp == nil {
		return content
	}
	return "?"
}

// nameOf returns the key of an object among the objects of one owner: its kind and name.
func nameOf(object client.Object) string { return dependents.KindOf(object) + "/" + object.GetName() }

// DigestOf returns a text that identifies the objects to ensure and the objects to delete. If it changes, the results
// of earlier tries are no longer valid.
func DigestOf(wanted []submit.Object, remove []client.Object) string {
	var words []string
	for _, object := range wanted {
		words = append(words, nameOf(object)+"="+object.GetLabels()[lifecycle.ContentLabel])
	}

	for _, object := range remove {
		words = append(words, nameOf(object)+"-")
	}

	slices.Sort(words)
	return strings.Join(words, " ")
}
