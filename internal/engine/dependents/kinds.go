package dependents

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/gang"
)

// KindBudget is the kind of the objects that protect drivers from evictions.
const KindBudget = "PodDisruptionBudget"

// Kinds are the kinds of an attempt's objects besides pods. The caches hold only the metadata of these objects, because
// no decision reads their content. If a submission creates an object of a kind that is missing here, the object
// outlives the attempt. Secrets are not among the kinds, because the operator may not read them.
var Kinds = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	corev1.SchemeGroupVersion.WithKind("Service"),
	networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"), // Spark 4.2 and newer
	policyv1.SchemeGroupVersion.WithKind(KindBudget),
}

// KindOf returns the kind in an object's own type information. It is empty for a typed object whose kind was not set.
func KindOf(object client.Object) string { return object.GetObjectKind().GroupVersionKind().Kind }

// AlwaysWatched reports whether the kind of an object is one of Kinds, which the operator always watches. The watch of
// another kind may start later. If the object is deleted before that, the operator receives no event.
func AlwaysWatched(object client.Object) bool {
	return slices.ContainsFunc(Kinds, func(kind schema.GroupVersionKind) bool { return kind.Kind == KindOf(object) })
}

// isBudget reports whether an object is a PodDisruptionBudget.
func isBudget(object client.Object) bool {
	_, typed := object.(*policyv1.PodDisruptionBudget)
	return typed || KindOf(object) == KindBudget
}

// IsSecret reports whether an object is a Secret.
func IsSecret(object client.Object) bool {
	_, typed := object.(*corev1.Secret)
	return typed || KindOf(object) == "Secret"
}

// isPodGroup reports whether an object is the pod group of a batch scheduler.
func isPodGroup(object client.Object) bool {
	kind := object.GetObjectKind().GroupVersionKind()
	return kind == gang.VolcanoKind || kind == gang.CoschedulingKind
}

// includes reports whether an action on the given part of an attempt, such as its executors, concerns the given object
// of the attempt.
func includes(part lifecycle.Part, object client.Object) bool {
	pod, isPod := object.(*corev1.Pod)
	switch part {
	case lifecycle.Attempt:
		_, isSecret := object.(*corev1.Secret)
		return !isSecret
	case lifecycle.DriverPod:
		return isBudget(object) || isPod && identity.IsLaunched(pod)
	case lifecycle.DriverBudget:
		return isBudget(object)
	case lifecycle.Executors:
		if isPodGroup(object) {
			return true
		}
		// An executor that ended by itself is kept, so that its log can be read, as long as the attempt's driver
		// exists.
		ended := isPod && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed)
		return isPod && pod.Labels[identity.RoleLabel] == identity.RoleExecutor && !ended
	}
	return false
}

// Targets returns the objects that a delete action has to delete. It leaves out Secrets, which are deleted by their
// labels, and objects that are already being deleted. Pods that are already being deleted are included if the action
// forces the deletion.
func Targets(objects []client.Object, action lifecycle.Action) []client.Object {
	var targets []client.Object
	for _, object := range objects {
		going := object.GetDeletionTimestamp() != nil && (!action.Force || identity.PodOf(object) == nil)
		if identity.Attempt(object) == action.Attempt && !going && !identity.IsAuxiliary(object) && !identity.InSet(object) &&
			includes(action.Part, object) {
			targets = append(targets, object)
		}
	}
	return targets
}
