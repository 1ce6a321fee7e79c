package auxiliary

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// The StatefulSets of a standalone cluster are ensured like all auxiliary objects (ensure.go), with three exceptions,
// because their pods must continue to run. An autoscaler may decide the number of pods. To change a field that cannot
// be changed in place, a new StatefulSet of the same name replaces the old one and adopts its pods. And an inherited
// StatefulSet stays as it is until somebody edits the cluster.

// autoscaler is the kind of the objects that scale the StatefulSets of standalone clusters.
var autoscaler = autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler")

// isSet reports whether an object is a StatefulSet.
func isSet(object client.Object) bool {
	return dependents.KindOf(object) == dependents.StatefulSet.Kind
}

// autoscaled returns the names of the StatefulSets that the autoscalers among the objects scale.
func autoscaled(objects []submit.Object) (names []string) {
	for _, object := range objects {
		if dependents.KindOf(object) != autoscaler.Kind {
			continue
		}

		if tree, err := AppliedTree(object); err == nil {
			kind, _, _ := unstructured.NestedString(tree, "spec", "scaleTargetRef", "kind")
			if name, _, _ := unstructured.NestedString(tree, "spec", "scaleTargetRef", "name"); kind == dependents.StatefulSet.Kind {
				names = append(names, name)
			}
		}
	}
	return names
}

// keepScale copies the current number of pods into the tree that the operator applies, if an autoscaler decides this
// number. If the tree had no number, the apply would remove the number that the create request has set, and Kubernetes
// would use its default.
//
// The number zero is not copied, because an autoscaler never scales a StatefulSet that has no pods.
func (w *work) keepScale(tree map[string]any, existing *unstructured.Unstructured) error {
	if !isSet(existing) || !slices.Contains(w.scaled, existing.GetName()) {
		return nil
	}

	replicas, found, err := unstructured.NestedInt64(existing.Object, "spec", "replicas")
	if err != nil || !found || replicas == 0 {
		return err
	}
	return unstructured.SetNestedField(tree, replicas, "spec", "replicas")
}

// createFirst creates the object that objectToCreate returns, and returns the created object.
func (k Keeper) createFirst(ctx context.Context, w *work, object client.Object, existed bool) (client.Object, error) {
	first, err := k.objectToCreate(ctx, w, object.DeepCopyObject().(client.Object), existed)
	if err != nil {
		return nil, err
	}
	return first, k.Create(ctx, first)
}

// objectToCreate returns the object to create. If an autoscaler scales a new StatefulSet, the StatefulSet starts with
// as many pods as the previous one had, because a lower number would stop pods. The pods are read from the API server,
// because the cache may not show all of them. If the caller found no previous StatefulSet and the cache
// shows none of its pods, nothing is read.
func (k Keeper) objectToCreate(ctx context.Context, w *work, object client.Object, existed bool) (client.Object, error) {
	name := object.GetName()
	if !isSet(object) || !slices.Contains(w.scaled, name) {
		return object, nil
	}

	if !existed && replicasFor(name, slices.Concat(w.Set.Strays, w.Set.Members)) == 0 {
		return object, nil
	}

	pods, err := k.LivePods(ctx, client.InNamespace(object.GetNamespace()), client.MatchingLabels{identity.ClusterNameLabel: w.Owner.GetName()})
	if err != nil {
		return nil, fmt.Errorf("count the pods of the previous StatefulSet: %w", err)
	}
	return adoptStrays(object, slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return !dependents.IsStray(&pod) && !isOwnedBySet(&pod, name) })), nil
}

// isOwnedBySet reports whether a pod is a pod of a cluster and is owned by the StatefulSet with the given name.
func isOwnedBySet(pod *corev1.Pod, name string) bool {
	set := metav1.GetControllerOfNoCopy(pod)
	return identity.IsClusterPod(pod) && set != nil && identity.OfKind(*set, dependents.StatefulSet.GroupKind()) && set.Name == name
}

// adoptStrays raises the number of replicas of a new StatefulSet, so that it adopts all existing pods whose names
// belong to it.
func adoptStrays(object client.Object, pods []corev1.Pod) client.Object {
	left := replicasFor(object.GetName(), pods)

	tree, err := AppliedTree(object)
	if err != nil {
		return object
	}

	if replicas, _, _ := unstructured.NestedInt64(tree, "spec", "replicas"); left <= replicas || unstructured.SetNestedField(tree, left, "spec", "replicas") != nil {
		return object
	}
	return &unstructured.Unstructured{Object: tree}
}

// replicasFor returns the number of replicas that a StatefulSet needs to keep all existing pods whose names are its
// name and a number. The result is at most twice the number of these pods.
func replicasFor(set string, pods []corev1.Pod) int64 {
	left, count := int64(0), int64(0)
	for _, pod := range pods {
		ordinal, found := strings.CutPrefix(pod.Name, set+"-")
		if n, err := strconv.ParseInt(ordinal, 10, 32); found && err == nil && pod.DeletionTimestamp == nil {
			left, count = max(left, n+1), count+1
		}
	}
	// Some pods may be missing, but a single pod with a high number must not cause many replicas.
	return min(left, 2*count)
}

// inheritedPrefix is the prefix of the content label (lifecycle.ContentLabel) of an inherited StatefulSet that stays as
// it is.
const inheritedPrefix = "left-"

// inheritedContent returns the content label of the inherited StatefulSets of a cluster. The label contains the
// cluster's generation. If somebody edits the cluster, its generation and the label change. The operator then updates
// all StatefulSets of the cluster.
//
// A new version or configuration of the operator does not change the label, because it is no reason to restart pods
// that another operator created.
func inheritedContent(generation int64) string {
	return inheritedPrefix + strconv.FormatInt(generation, 10)
}

// keptAsInherited reports whether an object is an inherited StatefulSet that stays as it is, because nobody has edited
// the cluster since the StatefulSet was marked (markSet). The given label is the object's content label in the cache.
func (w *work) keptAsInherited(object client.Object, label string) bool {
	return isSet(object) && label == w.inheritedMark
}

// isInherited reports whether an object is an inherited StatefulSet that the operator has marked (markSet) and not
// updated yet.
func isInherited(existing *unstructured.Unstructured) bool {
	return isSet(existing) && strings.HasPrefix(existing.GetLabels()[lifecycle.ContentLabel], inheritedPrefix)
}

// markSet sets our labels on an inherited StatefulSet. If more pods are wanted than the StatefulSet has, markSet raises
// the number of pods. It changes nothing else, because an update would restart the pods.
//
// It never lowers the number of pods. The other operator ignored the number in an edited custom resource, so users have
// scaled its StatefulSets directly.
func (k Keeper) markSet(ctx context.Context, w *work, object client.Object, existing *unstructured.Unstructured, tree map[string]any) (*unstructured.Unstructured, error) {
	marks := maps.Clone(object.GetLabels())
	marks[lifecycle.ContentLabel] = w.inheritedMark
	patch := map[string]any{"metadata": map[string]any{
		"uid": existing.GetUID(), "resourceVersion": existing.GetResourceVersion(), "labels": marks,
	}}

	there, known, _ := unstructured.NestedInt64(existing.Object, "spec", "replicas")
	if replicas, found, _ := unstructured.NestedInt64(tree, "spec", "replicas"); found && known && replicas > there {
		patch["spec"] = map[string]any{"replicas": replicas}
	}

	text, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}

	if err := k.Patch(ctx, existing, client.RawPatch(types.MergePatchType, text)); err != nil {
		return nil, fmt.Errorf("take over StatefulSet %s: %w", existing.GetName(), err)
	}
	return existing, nil
}

// replaceSet deletes a StatefulSet but not its pods, so that the next StatefulSet with the same name adopts them.
//
// Before the deletion, a dry run checks that the API server would accept the next StatefulSet. If the dry run fails,
// replaceSet deletes nothing, because no StatefulSet would adopt the pods.
func (k Keeper) replaceSet(ctx context.Context, existing *unstructured.Unstructured, tree map[string]any) error {
	next := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(tree)}
	next.SetUID("")
	next.SetResourceVersion("")
	// Two rejections do not prevent the replacement, because their reasons end when the old StatefulSet is deleted:
	// that the name is taken, which the API server checks last, and that the old StatefulSet uses up the quota.
	if err := k.Create(ctx, next, client.DryRunAll); err != nil && !apierrors.IsAlreadyExists(err) && !apianswer.QuotaCountsPredecessor(err) {
		return fmt.Errorf("check in a dry run whether the new StatefulSet %s can be created: %w", existing.GetName(), err)
	}

	if err := k.DeleteOne(ctx, existing, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		return err
	}
	return &apianswer.Wait{Message: fmt.Sprintf("StatefulSet %s is being replaced; a new StatefulSet with the same name adopts the pods", existing.GetName())}
}

// isInheritedSet reports whether an object is a StatefulSet that another operator created for the custom resource.
func isInheritedSet(existing *unstructured.Unstructured) bool {
	return isSet(existing) && existing.GetLabels()[lifecycle.AppUIDLabel] == ""
}
