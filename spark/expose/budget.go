package expose

import (
	"maps"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Budget is what a PodDisruptionBudget of a driver is made of.
type Budget struct {
	// Namespace and Name of the object. Nothing is checked: the API server refuses what is no name.
	Namespace, Name string
	// Labels of the object.
	Labels map[string]string
	// Owner of the object; none without a UID.
	Owner metav1.OwnerReference
	// Selector are the labels that the driver pod has, and no other pod. An empty one would select every pod of the namespace, so it selects
	// none.
	Selector map[string]string
}

// DriverBudget returns the PodDisruptionBudget that keeps a driver pod from voluntary disruption, such as the draining of its node: one pod
// must stay available, and there is only one (policy/v1, spec.minAvailable). The Eviction API answers 429 while the pod is ready. It holds
// back neither a direct deletion, the operator's own among them, nor what nobody decides: pressure on the node, preemption, the node's loss.
//
// It must go when the driver has ended: with a sidecar that goes on the pod would keep its node from ever being drained.
func DriverBudget(b Budget) *policyv1.PodDisruptionBudget {
	budget := &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: policyv1.SchemeGroupVersion.String(), Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name, Labels: maps.Clone(b.Labels)},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(1))},
	}
	if len(b.Selector) > 0 {
		budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: maps.Clone(b.Selector)}
	}
	if b.Owner.UID != "" {
		budget.OwnerReferences = []metav1.OwnerReference{*b.Owner.DeepCopy()}
	}
	return budget
}
