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

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// The pods of a standalone cluster are made by its StatefulSets, and have one of these as their only owner. They are found as all pods are, by their labels;
// that they are the cluster's, its StatefulSets tell: anybody who may create pods can set a label.

// observeMembers takes those of the pods among the children that a StatefulSet of the custom resource keeps.
func (r *Reconciler[T]) observeMembers(ctx context.Context, p *pass[T], pods []corev1.Pod) error {
	asked := map[types.UID]bool{}
	for i := range pods {
		if isStray(&pods[i]) {
			p.children.strays = append(p.children.strays, pods[i])
		}
		set := metav1.GetControllerOfNoCopy(&pods[i])
		if !isMember(&pods[i]) || set == nil || !ofKind(*set, statefulSetKind.GroupKind()) {
			continue
		}
		ours, known := asked[set.UID]
		if !known {
			var err error
			if ours, err = r.keeps(ctx, p, set); err != nil {
				return err
			}
			asked[set.UID] = ours
		}
		if ours {
			p.children.members = append(p.children.members, pods[i])
		}
	}
	slices.SortFunc(p.children.members, func(a, b corev1.Pod) int { return compareNames(a.Name, b.Name) })
	return nil
}

// keeps reports whether a StatefulSet is the custom resource's. One that another operator made is in no cache before it was given our labels, and one that was
// made just now may not be there yet.
func (r *Reconciler[T]) keeps(ctx context.Context, p *pass[T], set *metav1.OwnerReference) (bool, error) {
	if slices.ContainsFunc(p.children.others, func(other metav1.PartialObjectMetadata) bool { return other.UID == set.UID }) {
		return true, nil
	}
	if !r.kind.clusters() {
		return false, nil
	}
	live := metadataOnly(statefulSetKind)
	err := r.live.Get(ctx, client.ObjectKey{Namespace: p.stored.GetNamespace(), Name: set.Name}, live)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look whose StatefulSet %s is: %w", set.Name, err)
	}
	return live.UID == set.UID && owned(live, p.stored.GetUID()), nil
}

// explainMember finds out what a cluster's pod waits for where its status does not say, for the one that waits for longest: what keeps it mostly keeps all of
// them.
func (r *Reconciler[T]) explainMember(ctx context.Context, p *pass[T]) {
	var oldest *corev1.Pod
	var facts *lifecycle.Member
	for i := range p.seen.Members {
		m, pod := &p.seen.Members[i], &p.children.members[i]
		if m.Phase != lifecycle.DriverPending || m.Deleting {
			continue
		}
		if m.Why.Reason != "" {
			return // another says it
		}
		if oldest == nil || pod.CreationTimestamp.Before(&oldest.CreationTimestamp) {
			oldest, facts = pod, m
		}
	}
	if oldest != nil {
		facts.Why = r.waitsOf(ctx, p, oldest, 0, lifecycle.Silent(oldest))
	}
}
