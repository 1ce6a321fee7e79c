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

	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// The StatefulSets of a standalone cluster are ensured like all auxiliary objects (ensure.go), with three exceptions,
// since their pods live on. An autoscaler may decide the number of pods. A field that cannot be changed is changed by a
// new StatefulSet of the same name that adopts the pods. And an inherited StatefulSet stays as it is until somebody
// edits the cluster.

// autoscaler is the kind that scales StatefulSets of standalone clusters.
var autoscaler = autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler")

// isSet reports whether an object is a StatefulSet.
func isSet(object client.Object) bool {
	return dependents.KindOf(object) == dependents.StatefulSet.Kind
}

// autoscaled returns the names of the StatefulSets that an autoscaler among the objects scales.
func autoscaled(objects []client.Object) (names []string) {
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

// keepScale applies the current number of pods if an autoscaler decides it. If the field were left out, an apply would
// remove the number that the set was created with, and Kubernetes would use its default. Zero is not an autoscaler's
// number: it never scales a set without pods.
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

// createFirst creates an object and returns it.
func (k Keeper) createFirst(ctx context.Context, w *work, object client.Object, existed bool) (client.Object, error) {
	first, err := k.objectToCreate(ctx, w, object.DeepCopyObject().(client.Object), existed)
	if err != nil {
		return nil, err
	}
	return first, k.Create(ctx, first)
}

// objectToCreate returns the object to create. A new set that an autoscaler scales begins with as many pods as the
// previous one left, since a lower number would stop pods. They are counted live, since the cache may lack some. A set
// without any trace of a previous one costs no read.
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

// isOwnedBySet reports whether a pod has the label of a cluster's pod and is owned by the set of a name.
func isOwnedBySet(pod *corev1.Pod, name string) bool {
	set := metav1.GetControllerOfNoCopy(pod)
	return identity.IsClusterPod(pod) && set != nil && identity.OfKind(*set, dependents.StatefulSet.GroupKind()) && set.Name == name
}

// adoptStrays lets a set begin with as many pods as exist of its name.
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

// replicasFor returns the number of replicas that a set of a name needs to keep the existing pods of its name.
func replicasFor(set string, pods []corev1.Pod) int64 {
	left, count := int64(0), int64(0)
	for _, pod := range pods {
		ordinal, found := strings.CutPrefix(pod.Name, set+"-")
		if n, err := strconv.ParseInt(ordinal, 10, 32); found && err == nil && pod.DeletionTimestamp == nil {
			left, count = max(left, n+1), count+1
		}
	}
	return min(left, 2*count) // a few may be missing; but a single pod with a high number is somebody's invention
}

// inheritedPrefix is the prefix of the content label (lifecycle.ContentLabel) of an inherited set that stays as it is.
const inheritedPrefix = "left-"

// inheritedContent returns the value of that label for a generation of the spec. A later generation means that somebody
// edited the cluster; then all sets are updated. A new version or configuration of the operator is no reason to restart
// pods that it did not create.
func inheritedContent(generation int64) string {
	return inheritedPrefix + strconv.FormatInt(generation, 10)
}

// keptAsInherited reports whether an object is an inherited set, by its content label in the cache, and nobody has
// edited the cluster since it was marked.
func (w *work) keptAsInherited(object client.Object, cached string) bool {
	return isSet(object) && cached == w.inheritedMark
}

// isInherited reports whether a set is an inherited one that has stayed as it is until now.
func isInherited(existing *unstructured.Unstructured) bool {
	return isSet(existing) && strings.HasPrefix(existing.GetLabels()[lifecycle.ContentLabel], inheritedPrefix)
}

// markSet gives our labels to an inherited set and does not change it otherwise, since an update would restart its
// pods. It raises the number of pods if more are wanted, but never lowers it: the other operator follows no edits, so
// that people scale its sets themselves.
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

// replaceSet deletes a set and leaves its pods to the next set of its name. It first checks that the API server would
// accept that set. If the API server rejects it or does not answer, nothing is deleted, since nothing would keep the
// pods.
func (k Keeper) replaceSet(ctx context.Context, existing *unstructured.Unstructured, tree map[string]any) error {
	next := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(tree)}
	next.SetUID("")
	next.SetResourceVersion("")
	// Two answers are no obstacle, since they hold only while the old set exists: that the name is taken, which is
	// checked last of all, and that the old set uses up the quota.
	if err := k.Create(ctx, next, client.DryRunAll); err != nil && !apierrors.IsAlreadyExists(err) && !apianswer.QuotaCountsPredecessor(err) {
		return fmt.Errorf("create the new StatefulSet %s: %w", existing.GetName(), err)
	}
	if err := k.DeleteOne(ctx, existing, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		return err
	}
	return &apianswer.Wait{Message: fmt.Sprintf("StatefulSet %s is being replaced by a new one, which adopts its pods", existing.GetName())}
}

// isInheritedSet reports whether an object is a set that another operator created for the custom resource.
func isInheritedSet(existing *unstructured.Unstructured) bool {
	return isSet(existing) && existing.GetLabels()[lifecycle.AppUIDLabel] == ""
}
