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

// The StatefulSets of a standalone cluster are brought to what is wanted as everything is that stands beside a driver (surround.go), but for what follows from
// pods living on: their number is the autoscaler's where there is one, what cannot be changed of a set is changed by another set of its name that takes
// over the pods, and a set that another operator made goes on as it is until somebody edits the cluster.

// autoscaler scales StatefulSets of standalone clusters.
var autoscaler = autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler")

// isSet reports whether an object is a StatefulSet.
func isSet(object client.Object) bool {
	return dependents.KindOf(object) == dependents.StatefulSet.Kind
}

// autoscaled are the names of the StatefulSets whose number of pods an autoscaler among the objects decides.
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

// keepScale leaves the number of pods to an autoscaler: what is applied says what there is. To say nothing would take back the number that the set was
// made with, and let Kubernetes have its default instead. None is no autoscaler's number: it leaves a set without pods alone for ever.
func (p *look) keepScale(tree map[string]any, existing *unstructured.Unstructured) error {
	if !isSet(existing) || !slices.Contains(p.scaled, existing.GetName()) {
		return nil
	}
	replicas, found, err := unstructured.NestedInt64(existing.Object, "spec", "replicas")
	if err != nil || !found || replicas == 0 {
		return err
	}
	return unstructured.SetNestedField(tree, replicas, "spec", "replicas")
}

// createFirst creates an object, and returns it.
func (k Keeper) createFirst(ctx context.Context, p *look, object client.Object, existed bool) (client.Object, error) {
	first, err := k.first(ctx, p, object.DeepCopyObject().(client.Object), existed)
	if err != nil {
		return nil, err
	}
	return first, k.Create(ctx, first)
}

// first is what an object is created as. A set that is made anew, and that an autoscaler scales, begins with as many pods as its predecessor left: to begin with
// fewer would stop them. They are counted live: the cache may not have all of them yet. One that nothing tells of was never there, and costs no read.
func (k Keeper) first(ctx context.Context, p *look, object client.Object, existed bool) (client.Object, error) {
	name := object.GetName()
	if !isSet(object) || !slices.Contains(p.scaled, name) {
		return object, nil
	}
	if !existed && countOf(name, slices.Concat(p.Set.Strays, p.Set.Members)) == 0 {
		return object, nil
	}
	pods, err := k.LivePods(ctx, client.InNamespace(object.GetNamespace()), client.MatchingLabels{identity.ClusterNameLabel: p.Owner.GetName()})
	if err != nil {
		return nil, fmt.Errorf("count the pods that it left: %w", err)
	}
	return takeStrays(object, slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return !dependents.IsStray(&pod) && !ofSetNamed(&pod, name) })), nil
}

// ofSetNamed reports whether a pod of a cluster is labelled as one, and kept by a set of a name.
func ofSetNamed(pod *corev1.Pod, name string) bool {
	set := metav1.GetControllerOfNoCopy(pod)
	return identity.IsClusterPod(pod) && set != nil && identity.OfKind(*set, dependents.StatefulSet.GroupKind()) && set.Name == name
}

// takeStrays lets a set begin with as many pods as there are of its name.
func takeStrays(object client.Object, pods []corev1.Pod) client.Object {
	left := countOf(object.GetName(), pods)
	tree, err := AppliedTree(object)
	if err != nil {
		return object
	}
	if replicas, _, _ := unstructured.NestedInt64(tree, "spec", "replicas"); left <= replicas || unstructured.SetNestedField(tree, left, "spec", "replicas") != nil {
		return object
	}
	return &unstructured.Unstructured{Object: tree}
}

// countOf is how many pods a set of a name needs to keep those of its name that there are.
func countOf(set string, pods []corev1.Pod) int64 {
	left, count := int64(0), int64(0)
	for _, pod := range pods {
		ordinal, of := strings.CutPrefix(pod.Name, set+"-")
		if n, err := strconv.ParseInt(ordinal, 10, 32); of && err == nil && pod.DeletionTimestamp == nil {
			left, count = max(left, n+1), count+1
		}
	}
	return min(left, 2*count) // a few may be missing; one of a high number alone is what somebody else made up
}

// leftContent begins the content label (lifecycle.ContentLabel) of a set that another operator made, and that goes on as it is.
const leftContent = "left-"

// markOf is that label's value for a generation of the spec. With the next one somebody edited the cluster, and then all sets are brought to what is wanted;
// that another version or configuration of the operator wants something else is no reason to restart pods that it did not make.
func markOf(generation int64) string { return leftContent + strconv.FormatInt(generation, 10) }

// leftAsItIs reports whether an object is a set that another operator made, of which the cache shows this content, and nobody edited the cluster since.
func (p *look) leftAsItIs(object client.Object, cached string) bool {
	return isSet(object) && cached == p.leftMark
}

// isLeft reports whether a set is another operator's that was left as it is until now.
func isLeft(existing *unstructured.Unstructured) bool {
	return isSet(existing) && strings.HasPrefix(existing.GetLabels()[lifecycle.ContentLabel], leftContent)
}

// markSet gives a set that another operator made for the custom resource our labels, and leaves it as it is: to bring it to what is wanted would restart its
// pods. It gets more of them where more are wanted, and never fewer: that operator follows no edit, so that people scale its sets themselves.
func (k Keeper) markSet(ctx context.Context, p *look, object client.Object, existing *unstructured.Unstructured, tree map[string]any) (*unstructured.Unstructured, error) {
	marks := maps.Clone(object.GetLabels())
	marks[lifecycle.ContentLabel] = p.leftMark
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

// replaceSet deletes a set and leaves its pods to the next one of its name, unless the API server would not take that, or gives no answer: then nothing would
// keep the pods.
func (k Keeper) replaceSet(ctx context.Context, existing *unstructured.Unstructured, tree map[string]any) error {
	next := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(tree)}
	next.SetUID("")
	next.SetResourceVersion("")
	// What is said of the old one alone holds no longer once that is gone: that the name is taken, which is said last of all, and that a quota is full with it.
	if err := k.Create(ctx, next, client.DryRunAll); err != nil && !apierrors.IsAlreadyExists(err) && !apianswer.QuotaCountsPredecessor(err) {
		return fmt.Errorf("make another StatefulSet %s: %w", existing.GetName(), err)
	}
	if err := k.DeleteOne(ctx, existing, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		return err
	}
	return &apianswer.Wait{Message: fmt.Sprintf("StatefulSet %s is being replaced by another, which takes over its pods", existing.GetName())}
}

// leftSet reports whether an object is a set that another operator made for the custom resource.
func leftSet(existing *unstructured.Unstructured) bool {
	return isSet(existing) && existing.GetLabels()[lifecycle.AppUIDLabel] == ""
}
