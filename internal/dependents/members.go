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

	"github.com/sparkoperator/spark-operator/internal/identity"
)

// StatefulSet is the kind that keeps the pods of a standalone cluster.
var StatefulSet = appsv1.SchemeGroupVersion.WithKind("StatefulSet")

// The pods of a standalone cluster are made by its StatefulSets, and have one of these as their only owner. They are found
// as all pods are, by their labels; that they are the cluster's, its StatefulSets tell: anybody who may create pods can
// set a label.

// AddMembers takes into a set those of the pods that a StatefulSet of the custom resource keeps, and those that have lost
// theirs.
func (c Client) AddMembers(ctx context.Context, set *Set, owner client.Object, pods []corev1.Pod) error {
	asked := map[types.UID]keeper{}
	for i := range pods {
		if IsStray(&pods[i]) {
			set.Strays = append(set.Strays, stray(pods[i]))
			continue
		}
		ref := metav1.GetControllerOfNoCopy(&pods[i])
		if !identity.IsClusterPod(&pods[i]) || ref == nil || !identity.OfKind(*ref, StatefulSet.GroupKind()) {
			continue
		}
		keeper, known := asked[ref.UID]
		if !known {
			var err error
			if keeper, err = c.keeps(ctx, set, owner, ref); err != nil {
				return err
			}
			asked[ref.UID] = keeper
		}
		switch {
		case keeper == setOurs:
			set.Members = append(set.Members, pods[i])
		case keeper == setGone && pods[i].DeletionTimestamp == nil: // the cache has not heard yet that it has no owner any more
			set.Strays = append(set.Strays, stray(pods[i]))
		}
	}
	slices.SortFunc(set.Members, func(a, b corev1.Pod) int { return CompareNames(a.Name, b.Name) })
	return nil
}

// stray is a pod that has lost its StatefulSet, with its kind: it is deleted by that.
func stray(pod corev1.Pod) corev1.Pod {
	pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	return pod
}

// keeper says whose a StatefulSet is.
type keeper int

const (
	setOthers keeper = iota // somebody else's
	setOurs                 // the custom resource's
	setGone                 // nobody's, since it is gone
)

// keeps tells whether a StatefulSet is the custom resource's. One that another operator made is in no cache before it was
// given our labels, and one that was made just now may not be there yet.
func (c Client) keeps(ctx context.Context, set *Set, owner client.Object, ref *metav1.OwnerReference) (keeper, error) {
	if slices.ContainsFunc(set.Others, func(other metav1.PartialObjectMetadata) bool { return other.UID == ref.UID }) {
		return setOurs, nil
	}
	live := identity.MetadataOnly(StatefulSet)
	err := c.Live.Get(ctx, client.ObjectKey{Namespace: owner.GetNamespace(), Name: ref.Name}, live)
	switch {
	case apierrors.IsNotFound(err):
		return setGone, nil
	case err != nil:
		return setOthers, fmt.Errorf("look whose StatefulSet %s is: %w", ref.Name, err)
	case live.UID != ref.UID:
		return setGone, nil
	case identity.OwnedBy(live, owner.GetUID()):
		return setOurs, nil
	}
	return setOthers, nil
}

// SweepStrays deletes the pods of a standalone cluster that is gone which no StatefulSet keeps: one was being replaced
// when the cluster was deleted, so that Kubernetes finds no owner of theirs that went. Pods without our labels are
// somebody else's to delete. Empty is an empty object of the cluster's kind.
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
		return nil // one of its name exists, and takes them over
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("look whether %s is gone: %w", key, err)
	}
	for i := range strays {
		if err := c.DeleteOne(ctx, &strays[i]); err != nil {
			return err
		}
	}
	return nil
}
