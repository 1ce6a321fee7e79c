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

	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// A standalone cluster may have a Secret among its objects. The operator reads none (secrets.go), so it goes by the name, which holds a digest of what is in
// it: one that exists is as it should be. Whether it still does is found out by creating it once in a while. Another content is another Secret, and the one
// before it goes when no pod is left that was made to mount it.

// ensureSecret creates a Secret that is not known to exist.
func (k Keeper) ensureSecret(ctx context.Context, p *look, object client.Object) (lifecycle.Surrounding, error) {
	is := lifecycle.Surrounding{Kind: "Secret", Name: object.GetName()}
	key := identity.Key(p.Owner)
	if was := k.Memory.seen(key, object).looked; !was.IsZero() && p.Now.Sub(was) < EditInterval {
		is.Stands = true
		return is, nil
	}
	if err := k.Create(ctx, object.DeepCopyObject().(client.Object)); err != nil && !apierrors.IsAlreadyExists(err) {
		return is, fmt.Errorf("create Secret %s: %w", is.Name, err)
	}
	k.Memory.looked(key, object, p.Now)
	is.Stands = true
	return is, nil
}

// sweepSecrets deletes the Secrets of a cluster that none of its pods mounts: all but those that are wanted, once every pod is made from what is wanted.
// Where it fails it is tried again with the next change.
func (k Keeper) sweepSecrets(ctx context.Context, p *look, wanted []client.Object) {
	if !k.Beside.Sets {
		return
	}
	key, digest := identity.Key(p.Owner), DigestOf(wanted, nil)
	if k.Memory.swept(key, digest) || !p.allMadeFrom(wanted) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	// By the name: what else is wanted of it, such as a label with the version of Spark, is not brought to one that exists.
	keep, names := fields.Everything(), []string(nil)
	for _, object := range wanted {
		if dependents.IsSecret(object) {
			keep = fields.AndSelectors(keep, fields.OneTermNotEqualSelector("metadata.name", object.GetName()))
			names = append(names, nameOf(object))
		}
	}
	k.Memory.doubtSecrets(key, names) // first: a deletion that got no answer may have been carried out
	err := k.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(p.Owner.GetNamespace()),
		client.MatchingLabels{identity.AppUIDLabel: string(p.Owner.GetUID())}, client.MatchingFieldsSelector{Selector: keep})
	if err != nil && !apierrors.IsForbidden(err) { // who may not delete any has made none
		log.FromContext(ctx).Info("Secrets that a cluster had before cannot be deleted", "cause", err.Error())
		return
	}
	k.Memory.sweep(key, digest)
}

// allMadeFrom reports whether every pod of a cluster is made from what the StatefulSets among the objects say now; of a cluster that is to have none, whether
// it has none. Pods whose set is being replaced count: they run on from what they were made from.
func (p *look) allMadeFrom(wanted []client.Object) bool {
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
	if len(p.Seen.Members) == 0 && len(made) > 0 {
		return false // on their way
	}
	another := func(generation string) bool { return !slices.Contains(made, generation) }
	return !slices.ContainsFunc(p.Seen.Members, func(m lifecycle.Member) bool { return another(m.Generation) }) &&
		!slices.ContainsFunc(p.Set.Strays, func(pod corev1.Pod) bool { return another(pod.Annotations[lifecycle.SpecHashAnnotation]) })
}
