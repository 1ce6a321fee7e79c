package dependents

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
)

// StatefulSet is the kind of the objects that own the pods of a standalone cluster.
var StatefulSet = appsv1.SchemeGroupVersion.WithKind("StatefulSet")

// The StatefulSets of a standalone cluster create its pods, and each pod has one of these StatefulSets as its only
// owner. The pods are found by their labels, as all pods are. But only the StatefulSet proves that a pod belongs to the
// cluster, because anybody who may create pods can set a label.

// AddMembers sorts the pods of a standalone cluster into a set. The pods that a StatefulSet of the custom resource owns
// become members. The pods that have lost their StatefulSet are stored separately.
func (c Client) AddMembers(ctx context.Context, set *Set, owner client.Object, pods []corev1.Pod) error {
	asked := map[types.UID]setOwner{}
	for i := range pods {
		if IsStray(&pods[i]) {
			set.Strays = append(set.Strays, strayPod(pods[i]))
			continue
		}

		ref := metav1.GetControllerOfNoCopy(&pods[i])
		if !identity.IsClusterPod(&pods[i]) || ref == nil || !identity.OfKind(*ref, StatefulSet.GroupKind()) {
			continue
		}

		keeper, known := asked[ref.UID]
		if !known {
			var err error
			if keeper, err = c.setOwnerOf(ctx, set, owner, ref); err != nil {
				return err
			}

			asked[ref.UID] = keeper
		}

		switch {
		case keeper == setOurs:
			set.Members = append(set.Members, pods[i])
		case keeper == setGone && pods[i].DeletionTimestamp == nil: // the cache does not show yet that the pod has no owner
			set.Strays = append(set.Strays, strayPod(pods[i]))
		}
	}

	slices.SortFunc(set.Members, func(a, b corev1.Pod) int { return CompareNames(a.Name, b.Name) })
	return nil
}

// Keeps reports whether a StatefulSet of the custom resource owns a pod of a standalone cluster.
func (s *Set) Keeps(pod *corev1.Pod) bool {
	return identity.IsClusterPod(pod) && slices.ContainsFunc(s.Others, func(other metav1.PartialObjectMetadata) bool { return identity.OwnedBy(pod, other.UID) })
}

// strayPod returns a pod that has lost its StatefulSet, with its kind set, because a deletion needs the kind.
func strayPod(pod corev1.Pod) corev1.Pod {
	pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	return pod
}

// setOwner says whether a StatefulSet belongs to the custom resource, belongs to another owner, or does not exist any
// more.
type setOwner int

const (
	setOthers setOwner = iota // another owner
	setOurs                   // the custom resource
	setGone                   // none, because the StatefulSet does not exist any more
)

// setOwnerOf returns the owner of the StatefulSet in the owner reference `ref`. It reads the StatefulSet live if the
// cache lacks it: the cache lacks inherited StatefulSets without our labels, and may lack a StatefulSet that was just
// created.
func (c Client) setOwnerOf(ctx context.Context, set *Set, owner client.Object, ref *metav1.OwnerReference) (setOwner, error) {
	if slices.ContainsFunc(set.Others, func(other metav1.PartialObjectMetadata) bool { return other.UID == ref.UID }) {
		return setOurs, nil
	}

	live := identity.MetadataOnly(StatefulSet)

	err := c.Live.Get(ctx, client.ObjectKey{Namespace: owner.GetNamespace(), Name: ref.Name}, live)
	switch {
	case apierrors.IsNotFound(err):
		return setGone, nil
	case err != nil:
		return setOthers, fmt.Errorf("read StatefulSet %s to find its owner: %w", ref.Name, err)
	case live.UID != ref.UID:
		return setGone, nil
	case identity.OwnedBy(live, owner.GetUID()):
		return setOurs, nil
	}
	return setOthers, nil
}

// SweepStrays deletes the pods of a deleted standalone cluster that have lost their StatefulSet. The StatefulSet was
// being replaced when the cluster was deleted, so the pods have no owner whose deletion Kubernetes could notice. Pods
// without our labels belong to somebody else and stay. The argument empty is an empty object of the cluster's kind.
func (c Client) SweepStrays(ctx context.Context, key types.NamespacedName, empty client.Object) error {
	var pods corev1.PodList

	err := c.List(ctx, &pods, client.InNamespace(key.Namespace), client.MatchingLabels{identity.ClusterNameLabel: key.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list pods in the cache: %w", err)
	}

	strays := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !IsStray(&pod) || identity.Unlabelled(&pod) })
	if len(strays) == 0 {
		return nil
	}

	switch err := c.Live.Get(ctx, key, empty); {
	case err == nil:
		return nil // a new cluster has this name and adopts the pods
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("read whether %s still exists: %w", key, err)
	}

	for i := range strays {
		if err := c.DeleteOne(ctx, &strays[i]); err != nil {
			return err
		}
	}
	return nil
}
