package dependents

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
)

// When this operator takes over from another operator of the same API, pods without our labels exist, and other objects
// that only an owner reference identifies. The pods are in the same cache as our pods, indexed by the label that names
// their custom resource. The dialect gives them an identity (Adopter). The other objects are found by
// their names: an object of ours replaces an object that the custom resource controls. All others are deleted with the
// custom resource.

// Adopter is a kind for which another operator of the same API may have created pods.
type Adopter interface {
	// Adopt returns the candidates that another operator created for the object. It adds the identity that they lack:
	// identity.AppUIDLabel, identity.AttemptLabel and, for a driver, a controller. A candidate has no AppUIDLabel, but
	// its label contract.Inherited.NameLabel contains the object's name, as in our own pods.
	Adopt(object client.Object, candidates []corev1.Pod) []corev1.Pod
}

// Inherited returns the pods in the cache that another operator created for a custom resource. The returned copies have
// the labels and the controller that this operator's own pods have (Adopter).
func (c Client) Inherited(ctx context.Context, kind contract.Kind, owner client.Object) ([]corev1.Pod, error) {
	adopter, inherits := kind.(Adopter)
	if !inherits {
		return nil, nil
	}

	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(owner.GetNamespace()),
		client.MatchingFields{identity.CacheIndex: identity.NameKey(kind.Traits().Inherited.NameLabel, owner.GetName())}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list pods of another operator in the cache: %w", err)
	}
	return adopter.Adopt(owner, pods.Items), nil
}

// InheritedGroup reads live the pod group that another operator created for an attempt. The caches do not contain such
// a group, because it lacks our labels. The argument group gives the kind and name to read, and the labels of the
// result. The result is nil if no such pod group exists.
func (c Client) InheritedGroup(ctx context.Context, group *metav1.PartialObjectMetadata, owner client.Object) (*metav1.PartialObjectMetadata, error) {
	existing := identity.MetadataOnly(group.GroupVersionKind())

	err := c.Live.Get(ctx, client.ObjectKeyFromObject(group), existing)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, err
	case !identity.Unlabelled(existing) || !identity.OwnedBy(existing, owner.GetUID()):
		return nil, nil
	}

	existing.Labels = group.Labels
	existing.SetGroupVersionKind(group.GroupVersionKind())
	return existing, nil
}

// WithIdentities returns the given pods, which were read live. If another operator created a pod for the owner,
// WithIdentities gives that pod an identity. It does not change pods that have our labels, or pods of other owners.
func WithIdentities(kind contract.Kind, owner client.Object, pods []corev1.Pod) []corev1.Pod {
	adopter, inherits := kind.(Adopter)
	if !inherits {
		return pods
	}

	theirs := slices.DeleteFunc(slices.Clone(pods), func(pod corev1.Pod) bool {
		return !identity.Unlabelled(&pod) || pod.Labels[kind.Traits().Inherited.NameLabel] != owner.GetName()
	})
	for _, adopted := range adopter.Adopt(owner, theirs) {
		at := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return pod.UID == adopted.UID })
		pods[at] = adopted
	}
	return pods
}

// withIdentity gives an object an identity if the object is a pod that another operator created for the owner. It
// returns other objects unchanged.
func withIdentity(kind contract.Kind, owner, object client.Object) client.Object {
	pod, isPod := object.(*corev1.Pod)
	if !isPod || !identity.Unlabelled(pod) {
		return object
	}
	return &WithIdentities(kind, owner, []corev1.Pod{*pod})[0]
}

// Selector returns the selector for live reads of a custom resource's pods. If the argument all is false, the selector
// leaves out executors: it selects only drivers and submitter pods.
func Selector(kind contract.Kind, owner client.Object, all bool) labels.Selector {
	key, value := kind.Traits().Inherited.NameLabel, owner.GetName()
	if _, inherits := kind.(Adopter); !inherits {
		key, value = identity.AppUIDLabel, string(owner.GetUID())
	}

	if all {
		return identity.PodsNamed(key, value)
	}
	return identity.LaunchedPodsNamed(key, value)
}
