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

	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/kind"
)

// Another operator of the same API leaves pods without our labels, and other objects that only their owner reference
// tells. The pods are cached with ours, indexed by the label that names their custom resource, and given an identity by
// the dialect (kind.Inherited.Adopt). The others are met by their names: what the custom resource controls is replaced by
// what has the name now; the rest goes with the custom resource.

// Inherited lists the pods in the cache that another operator made for a custom resource, as the dialect reads them.
func (c Client) Inherited(ctx context.Context, in kind.Inherited, owner client.Object) ([]corev1.Pod, error) {
	if in.Adopt == nil {
		return nil, nil
	}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(owner.GetNamespace()),
		client.MatchingFields{identity.CacheIndex: identity.NameKey(in.NameLabel, owner.GetName())}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list pods of another operator in the cache: %w", err)
	}
	return in.Adopt(owner, pods.Items), nil
}

// GroupLeft finds the object by which another operator let a batch scheduler know an attempt, given by the identity that
// it is to have. It is in no cache, for want of our labels. Nil is none.
func (c Client) GroupLeft(ctx context.Context, group *metav1.PartialObjectMetadata, owner client.Object) (*metav1.PartialObjectMetadata, error) {
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

// Identify gives those of the pods, read live, that carry no labels of ours their identity. Pods of somebody else are left
// as they are.
func Identify(in kind.Inherited, owner client.Object, pods []corev1.Pod) []corev1.Pod {
	if in.Adopt == nil {
		return pods
	}
	theirs := slices.DeleteFunc(slices.Clone(pods), func(pod corev1.Pod) bool {
		return !identity.Unlabelled(&pod) || pod.Labels[in.NameLabel] != owner.GetName()
	})
	for _, adopted := range in.Adopt(owner, theirs) {
		at := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return pod.UID == adopted.UID })
		pods[at] = adopted
	}
	return pods
}

// identifyOne is Identify for one object.
func identifyOne(in kind.Inherited, owner, object client.Object) client.Object {
	pod, isPod := object.(*corev1.Pod)
	if !isPod || !identity.Unlabelled(pod) {
		return object
	}
	return &Identify(in, owner, []corev1.Pod{*pod})[0]
}

// Selector selects, live, the drivers of a custom resource and the pods that submit them; or all pods that may be its own.
func Selector(in kind.Inherited, owner client.Object, all bool) labels.Selector {
	key, value := in.NameLabel, owner.GetName()
	if in.Adopt == nil {
		key, value = identity.AppUIDLabel, string(owner.GetUID())
	}
	if all {
		return identity.PodsNamed(key, value)
	}
	return identity.LaunchedPodsNamed(key, value)
}
