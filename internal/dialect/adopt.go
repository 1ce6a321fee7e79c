package dialect

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// WithIdentity returns a copy of an inherited pod with the identity by which this operator finds the pods of an
// attempt: the labels with the owner's UID and the attempt's number. The copy's annotation lifecycle.AdoptedAnnotation
// contains the argument id, which is the id of the attempt.
//
// Some versions of other operators create drivers without a controller. The copy of such a driver has the given owner
// as its only owner, so the argument owner must be a reference to a controller.
func WithIdentity(pod *corev1.Pod, owner metav1.OwnerReference, attempt int32, id string) corev1.Pod {
	out := *pod.DeepCopy()
	out.Labels[lifecycle.AppUIDLabel], out.Labels[lifecycle.AttemptLabel] = string(owner.UID), strconv.Itoa(int(attempt))
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, lifecycle.AdoptedAnnotation, id)

	if out.Labels[submit.RoleLabel] == submit.RoleDriver && metav1.GetControllerOf(&out) == nil {
		out.OwnerReferences = []metav1.OwnerReference{owner}
	}
	return out
}
