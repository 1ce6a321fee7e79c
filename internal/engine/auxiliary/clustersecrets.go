package auxiliary

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// A standalone cluster may have a Secret among its objects. The operator reads no Secrets (dependents/secrets.go), so
// it relies on the Secret's name, which contains a digest of the content: an existing Secret with that name is correct.
// The operator checks that the Secret still exists by creating it from time to time. If the content changes, another
// Secret is created. The previous Secret is deleted when no pod remains that was created to mount it.

// ensureSecret creates a Secret, unless this process has already created it or found it within the last EditInterval.
// While a pod of the cluster has not started, the interval is LookInterval, because the pod may wait for the Secret.
func (k Keeper) ensureSecret(ctx context.Context, w *work, object client.Object) (lifecycle.AuxiliaryObject, error) {
	state := lifecycle.AuxiliaryObject{Kind: "Secret", Name: object.GetName()}
	key := identity.Key(w.Owner)

	interval := EditInterval
	if slices.ContainsFunc(w.Seen.Members, func(m lifecycle.Member) bool { return m.Phase == lifecycle.DriverPending }) {
		interval = LookInterval
	}

	looked := k.Memory.seen(key, object).verifiedAt
	if looked.IsZero() || w.Now.Sub(looked) >= interval {
		if err := k.Create(ctx, object.DeepCopyObject().(client.Object)); err != nil && !apierrors.IsAlreadyExists(err) {
			return state, fmt.Errorf("create Secret %s: %w", state.Name, err)
		}

		k.Memory.verified(key, object, w.Now)

		looked = w.Now
	}

	if interval == LookInterval {
		w.requeueAfter(interval - w.Now.Sub(looked))
	}

	state.Current = true
	return state, nil
}

// sweepSecrets deletes all Secrets of a cluster except the wanted ones, because no pod of the cluster mounts them any
// more. It does nothing until every pod of the cluster was created from the wanted StatefulSets. A failed sweep is
// retried in a later pass.
func (k Keeper) sweepSecrets(ctx context.Context, w *work, wanted []submit.Object) {
	if !k.Auxiliary.Sets {
		return
	}

	key, digest := identity.Key(w.Owner), DigestOf(wanted, nil)
	if last, swept := k.Memory.sweeps.Get(key); swept && last == digest || !w.allMadeFrom(wanted) {
		return
	}

	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	// The Secrets to keep are selected by name only. Other fields of a wanted Secret, such as a label with the version
	// of Spark, may differ from the existing Secret, because the operator never updates an existing Secret.
	keep, names := fields.Everything(), []string(nil)
	for _, object := range wanted {
		if dependents.IsSecret(object) {
			keep = fields.AndSelectors(keep, fields.OneTermNotEqualSelector("metadata.name", object.GetName()))
			names = append(names, nameOf(object))
		}
	}

	k.Memory.forgetSecrets(key, names) // before the request: a deletion without an answer may have been carried out

	err := k.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(w.Owner.GetNamespace()),
		client.MatchingLabels{identity.AppUIDLabel: string(w.Owner.GetUID())}, client.MatchingFieldsSelector{Selector: keep})
	if err != nil && !apierrors.IsForbidden(err) { // without the right to delete Secrets, the operator has created none
		log.FromContext(ctx).Info("Could not delete Secrets that a cluster no longer needs", "cause", err.Error())
		return
	}

	k.Memory.sweeps.Set(key, digest)
}

// allMadeFrom reports whether every pod of a cluster was created from the wanted StatefulSets. If no StatefulSets are
// wanted, it reports whether the cluster has no pods. It also considers pods whose StatefulSet is being replaced,
// because they still mount the Secrets of the old StatefulSet.
func (w *work) allMadeFrom(wanted []submit.Object) bool {
	var made []string
	for _, object := range wanted {
		if !isSet(object) {
			continue
		}

		tree, err := AppliedTree(object)
		if err != nil {
			return false
		}

		digest, _, _ := unstructured.NestedString(tree, "spec", "template", "metadata", "annotations", lifecycle.SpecHashAnnotation)
		made = append(made, digest)
	}

	if len(w.Seen.Members) == 0 && len(made) > 0 {
		return false // the pods are not created yet
	}

	another := func(generation string) bool { return !slices.Contains(made, generation) }
	return !slices.ContainsFunc(w.Seen.Members, func(m lifecycle.Member) bool { return another(m.Generation) }) &&
		!slices.ContainsFunc(w.Set.Strays, func(pod corev1.Pod) bool { return another(pod.Annotations[lifecycle.SpecHashAnnotation]) })
}
