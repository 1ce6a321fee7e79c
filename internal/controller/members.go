package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/identity"
)

// The pods of a standalone cluster are made by its StatefulSets, and have one of these as their only owner. They are found as all pods are, by their labels;
// that they are the cluster's, its StatefulSets tell: anybody who may create pods can set a label.

// observeMembers takes those of the pods among the children that a StatefulSet of the custom resource keeps.
func (r *Reconciler) observeMembers(ctx context.Context, p *pass, pods []corev1.Pod) error {
	if !isCluster(r.kind) {
		return nil
	}
	asked := map[types.UID]keeper{}
	for i := range pods {
		if isStray(&pods[i]) {
			p.children.addStray(&pods[i])
			continue
		}
		set := metav1.GetControllerOfNoCopy(&pods[i])
		if !identity.IsClusterPod(&pods[i]) || set == nil || !identity.OfKind(*set, statefulSetKind.GroupKind()) {
			continue
		}
		keeper, known := asked[set.UID]
		if !known {
			var err error
			if keeper, err = r.keeps(ctx, p, set); err != nil {
				return err
			}
			asked[set.UID] = keeper
		}
		switch {
		case keeper == setOurs:
			p.children.members = append(p.children.members, pods[i])
		case keeper == setGone && pods[i].DeletionTimestamp == nil: // the cache has not heard yet that it has no owner any more
			p.children.addStray(&pods[i])
		}
	}
	slices.SortFunc(p.children.members, func(a, b corev1.Pod) int { return compareNames(a.Name, b.Name) })
	return nil
}

// keeper says whose a StatefulSet is.
type keeper int

const (
	setOthers keeper = iota // somebody else's
	setOurs                 // the custom resource's
	setGone                 // nobody's, since it is gone
)

// addStray notes a pod that has lost its set.
func (c *children) addStray(pod *corev1.Pod) {
	stray := *pod
	stray.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	c.strays = append(c.strays, stray)
}

// keeps tells whether a StatefulSet is the custom resource's. One that another operator made is in no cache before it was given our labels, and one that was
// made just now may not be there yet.
func (r *Reconciler) keeps(ctx context.Context, p *pass, set *metav1.OwnerReference) (keeper, error) {
	if slices.ContainsFunc(p.children.others, func(other metav1.PartialObjectMetadata) bool { return other.UID == set.UID }) {
		return setOurs, nil
	}
	live := metadataOnly(statefulSetKind)
	err := r.live.Get(ctx, client.ObjectKey{Namespace: p.stored.GetNamespace(), Name: set.Name}, live)
	switch {
	case apierrors.IsNotFound(err):
		return setGone, nil
	case err != nil:
		return setOthers, fmt.Errorf("look whose StatefulSet %s is: %w", set.Name, err)
	case live.UID != set.UID:
		return setGone, nil
	case identity.OwnedBy(live, p.stored.GetUID()):
		return setOurs, nil
	}
	return setOthers, nil
}

// sweepStrays deletes the pods of a standalone cluster that is gone which no set keeps: one was being replaced when the cluster was deleted, so that Kubernetes
// finds no owner of theirs that went. Pods without our labels are somebody else's to delete.
func (r *Reconciler) sweepStrays(ctx context.Context, key types.NamespacedName) error {
	if !isCluster(r.kind) {
		return nil
	}
	var pods corev1.PodList
	err := r.client.List(ctx, &pods, client.InNamespace(key.Namespace), client.MatchingLabels{identity.ClusterNameLabel: key.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list pods in the cache: %w", err)
	}
	strays := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !isStray(&pod) || identity.Unlabelled(&pod) })
	if len(strays) == 0 {
		return nil
	}
	switch err := r.live.Get(ctx, key, r.kind.New()); {
	case err == nil:
		return nil // one of its name is there, and takes them over
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("look whether %s is gone: %w", key, err)
	}
	for i := range strays {
		if err := r.deleteOne(ctx, &strays[i]); err != nil {
			return err
		}
	}
	return nil
}
