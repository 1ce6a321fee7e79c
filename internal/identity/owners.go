package identity

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/spark/submit"
)

// OwnedBy reports whether an owner reference of an object has the UID.
func OwnedBy(object metav1.Object, uid types.UID) bool {
	for _, ref := range object.GetOwnerReferences() {
		if ref.UID == uid {
			return true
		}
	}
	return false
}

// OfKind reports whether an owner reference refers to a kind, in any version.
func OfKind(ref metav1.OwnerReference, kind schema.GroupKind) bool {
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && ref.Kind == kind.Kind && version.Group == kind.Group
}

// BelongsTo reports whether an object that was read live is the owner's. The owner must be the controller of a pod, as
// the garbage collector and the scheduler see it. Any other object needs only an owner reference.
func BelongsTo(object, owner client.Object) bool {
	if _, isPod := object.(*corev1.Pod); isPod {
		ref := metav1.GetControllerOf(object)
		return ref != nil && ref.UID == owner.GetUID()
	}
	return OwnedBy(object, owner.GetUID())
}

// Inherited reports whether another operator created an object for the owner: the owner is its controller, and the
// object is unlabelled. Pods are excluded, since they get an identity when they are adopted.
func Inherited(object, owner client.Object) bool {
	_, isPod := object.(*corev1.Pod)
	return !isPod && Unlabelled(object) && metav1.IsControlledBy(object, owner)
}

// Orphan reports whether an object belongs to a custom resource of the owner's name and kind with another UID. That
// custom resource was deleted before the owner was created.
func Orphan(object, owner client.Object, kind schema.GroupKind) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return OfKind(ref, kind) && ref.Name == owner.GetName() && ref.UID != owner.GetUID()
	})
}

// WhyNameFrees returns why the name of an object that does not belong to the owner will become free, in words for a
// user. It returns an empty text if the object stays.
//
// The dependents of a deleted custom resource stop in their own time. The garbage collector may not even have seen them
// when another custom resource of that name is created, as `kubectl replace --force` does.
func WhyNameFrees(object client.Object, objectKind string, owner client.Object, kind schema.GroupKind) string {
	switch {
	case Orphan(object, owner, kind):
		return fmt.Sprintf("%s %q is left by a resource of the same name that was deleted; "+
			"nothing is launched before it is gone", objectKind, object.GetName())
	case object.GetDeletionTimestamp() != nil:
		return fmt.Sprintf("%s %q does not belong to this resource (%s) and is being deleted; "+
			"nothing is launched before it is gone", objectKind, object.GetName(), DescribeOwner(object))
	}
	return ""
}

// DescribeOwner returns which object owns an object, in words for a user. If there are several owners, it names the
// first.
func DescribeOwner(object metav1.Object) string {
	if refs := object.GetOwnerReferences(); len(refs) > 0 {
		return fmt.Sprintf("it is owned by %s %q", refs[0].Kind, refs[0].Name)
	}
	return "it has no owner"
}

// Verify returns an error if a rendered object has another namespace than its owner, or lacks the identity by which a
// later pass finds it again. It guards against a bug in a dialect, not against users.
func Verify(object, owner client.Object, attempt int32) error {
	switch {
	case object.GetNamespace() != owner.GetNamespace():
		return fmt.Errorf("%T %s is rendered for namespace %q", object, object.GetName(), object.GetNamespace())
	case object.GetLabels()[AppUIDLabel] != string(owner.GetUID()) || !OwnedBy(object, owner.GetUID()):
		return fmt.Errorf("%T %s is rendered without its owner's identity", object, object.GetName())
	case Attempt(object) != attempt:
		return fmt.Errorf("%T %s is rendered for attempt %d", object, object.GetName(), Attempt(object))
	}
	return nil
}

// CustomResource returns the key of the custom resource of a kind whose pass is to see a change of a dependent: the one
// that the label and an owner reference agree on. If there is none, it is the one that nameLabel names. Then another
// operator created the dependent, or a workload controller keeps it, or it is an executor that only a Connect server's
// pod owns. An empty nameLabel names none.
//
// The key only says which custom resource to reconcile. The pass decides whose the dependent is.
func CustomResource(dependent metav1.Object, kind schema.GroupKind, nameLabel string) (types.NamespacedName, bool) {
	uid := dependent.GetLabels()[AppUIDLabel]
	for _, ref := range dependent.GetOwnerReferences() {
		if string(ref.UID) == uid && OfKind(ref, kind) {
			return types.NamespacedName{Namespace: dependent.GetNamespace(), Name: ref.Name}, true
		}
	}
	if name := dependent.GetLabels()[nameLabel]; nameLabel != "" && name != "" {
		return types.NamespacedName{Namespace: dependent.GetNamespace(), Name: name}, true
	}
	return types.NamespacedName{}, false
}

// SoleOwner returns the owner reference of a pod if it refers to a kind, is the controller, is the only reference, and
// agrees with AppUIDLabel if the pod has that. It returns nil otherwise: another owner that exists keeps the garbage
// collector from deleting the pod.
func SoleOwner(pod *corev1.Pod, kind schema.GroupKind) *metav1.OwnerReference {
	if len(pod.OwnerReferences) != 1 {
		return nil
	}
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil || !OfKind(*ref, kind) || !Unlabelled(pod) && pod.Labels[AppUIDLabel] != string(ref.UID) {
		return nil
	}
	return ref
}

// InSet reports whether a StatefulSet or a ReplicaSet controls a pod.
//
// A driver may leave its executors to a StatefulSet or a Deployment (spark.kubernetes.allocation.pods.allocator). The
// driver owns the set, and the set goes with the driver's pod. The executors have the labels of the operator's
// template, and the set as their only owner. They are counted by their labels. But anybody can set a label, so the
// operator deletes none of them and waits for none to go. They count as long as the driver runs.
func InSet(pod metav1.Object) bool {
	ref := metav1.GetControllerOfNoCopy(pod)
	return ref != nil && ref.APIVersion == "apps/v1" && (ref.Kind == "StatefulSet" || ref.Kind == "ReplicaSet")
}

// SetDriver identifies a driver to the executors of its sets: by Spark's id of the application, and the attempt.
type SetDriver struct {
	id      string
	attempt int32
}

// SetDriverOf returns the driver that a pod's labels name, for a driver and for an executor of its sets.
func SetDriverOf(pod *corev1.Pod) SetDriver {
	return SetDriver{pod.Labels[submit.SelectorLabel], Attempt(pod)}
}
