package identity

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// OwnedBy reports whether one of the owner references of an object has the given UID.
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

// BelongsTo reports whether an object that was read live belongs to the owner. A pod belongs to the owner only if the
// owner is its controller. For any other object, an owner reference is enough.
func BelongsTo(object, owner client.Object) bool {
	if _, isPod := object.(*corev1.Pod); isPod {
		ref := metav1.GetControllerOf(object)
		return ref != nil && ref.UID == owner.GetUID()
	}
	return OwnedBy(object, owner.GetUID())
}

// Inherited reports whether another operator created an object for the owner: the object is unlabelled, and the owner
// is its controller. For pods it returns false, because a pass gives inherited pods our labels as soon as it reads them
// (dependents.Adopter).
func Inherited(object, owner client.Object) bool {
	_, isPod := object.(*corev1.Pod)
	return !isPod && Unlabelled(object) && metav1.IsControlledBy(object, owner)
}

// Orphan reports whether an object belongs to an earlier custom resource that had the owner's name and kind but another
// UID, and that was deleted before the owner was created.
func Orphan(object, owner client.Object, kind schema.GroupKind) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return OfKind(ref, kind) && ref.Name == owner.GetName() && ref.UID != owner.GetUID()
	})
}

// WhyNameFrees returns a message for users that says why the name of another owner's object will become free. It
// returns "" if the object stays. The argument objectKind is the kind of the object, and kind is the kind of the owner.
//
// The dependents of a deleted custom resource may take long to stop. If a new custom resource with the same name is
// created at once, as `kubectl replace --force` does, these dependents may still exist, and the garbage collector may
// not have begun to delete them.
func WhyNameFrees(object client.Object, objectKind string, owner client.Object, kind schema.GroupKind) string {
	switch {
	case Orphan(object, owner, kind):
		return fmt.Sprintf("%s %q belongs to a deleted resource of the same name; "+
			"the operator waits until the old %s is gone", objectKind, object.GetName(), objectKind)
	case object.GetDeletionTimestamp() != nil:
		return fmt.Sprintf("%s %q does not belong to this resource (%s) and is being deleted; "+
			"the operator waits until it is gone", objectKind, object.GetName(), DescribeOwner(object))
	}
	return ""
}

// DescribeOwner returns a description of the owner of an object, for messages to users. If the object has several
// owners, it describes the first owner.
func DescribeOwner(object metav1.Object) string {
	if refs := object.GetOwnerReferences(); len(refs) > 0 {
		return fmt.Sprintf("it is owned by %s %q", refs[0].Kind, refs[0].Name)
	}
	return "it has no owner"
}

// Verify returns an error if a rendered object is not in the namespace of its owner, or lacks the identity by which a
// later pass finds the object again. Users cannot cause such an object; only a bug in a dialect can.
func Verify(object, owner client.Object, attempt int32) error {
	switch {
	case object.GetNamespace() != owner.GetNamespace():
		return lifecycle.Bugf("%T %s was rendered for namespace %q instead of the namespace of its owner", object, object.GetName(), object.GetNamespace())
	case object.GetLabels()[AppUIDLabel] != string(owner.GetUID()) || !OwnedBy(object, owner.GetUID()):
		return lifecycle.Bugf("%T %s was rendered without the label or the owner reference of its owner", object, object.GetName())
	case Attempt(object) != attempt:
		return lifecycle.Bugf("%T %s was rendered for the wrong attempt %d", object, object.GetName(), Attempt(object))
	}
	return nil
}

// CustomResource returns the key of the custom resource of the given kind that has to be reconciled when a dependent
// changes. It finds the custom resource in one of two ways:
//
//   - by an owner reference of the kind, if AppUIDLabel of the dependent has the same UID
//   - otherwise by name: the dependent's label with the key nameLabel contains the name
//
// The second way is for dependents without such an owner reference. These are dependents that another operator created
// or that a workload controller owns, and executors that only a Connect server's pod owns. If neither way finds a
// custom resource, the second result is false.
//
// The key says only which custom resource to reconcile. The pass decides who owns the dependent.
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

// SoleOwner returns the owner reference of a pod if the pod has exactly one, and if the owner is of the given kind, is
// the controller, and agrees with the pod's AppUIDLabel. Otherwise it returns nil. A second owner would matter, because
// Kubernetes' garbage collector deletes a pod only when all its owners are gone.
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
// A driver may run its executors in a StatefulSet or a Deployment (spark.kubernetes.allocation.pods.allocator). The
// driver owns that StatefulSet or Deployment, and the garbage collector deletes it after the driver's pod. The
// executors have the labels of the operator's template, and the StatefulSet or ReplicaSet as their only owner. The
// operator counts them by their labels, as long as the driver runs. But anybody can set a label, so the operator
// neither deletes such executors nor waits for their deletion.
func InSet(pod metav1.Object) bool {
	ref := metav1.GetControllerOfNoCopy(pod)
	return ref != nil && ref.APIVersion == "apps/v1" && (ref.Kind == "StatefulSet" || ref.Kind == "ReplicaSet")
}

// SetDriver identifies the driver of the executors in a StatefulSet or Deployment: by Spark's id of the application,
// and the attempt.
type SetDriver struct {
	id      string
	attempt int32
}

// SetDriverOf returns the driver to which a pod belongs, according to the pod's labels. The pod is an executor in a
// StatefulSet or Deployment of the driver, or the driver itself.
func SetDriverOf(pod *corev1.Pod) SetDriver {
	return SetDriver{pod.Labels[submit.SelectorLabel], Attempt(pod)}
}
