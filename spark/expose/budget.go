package expose

import (
	"maps"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Budget is the input of a driver's PodDisruptionBudget.
type Budget struct {
	Meta
	// Selector contains labels that only the driver pod has. An empty Selector is omitted, so that the budget selects
	// no pod: an empty selector would select every pod of the namespace.
	Selector map[string]string
}

// DriverBudget returns the PodDisruptionBudget that protects a driver pod from voluntary disruptions, such as the
// draining of its node. The budget requires one available pod, and the driver is the only pod that it selects
// (policy/v1, spec.minAvailable). So the Eviction API answers 429 while the pod is ready. The budget does not prevent
// direct deletions, including the operator's own, or involuntary disruptions: node pressure, preemption, the loss of
// the node.
//
// The caller must delete the budget when the driver has ended: while a sidecar still runs, the budget would prevent the
// pod's node from being drained.
func DriverBudget(b Budget) *policyv1.PodDisruptionBudget {
	budget := &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: policyv1.SchemeGroupVersion.String(), Kind: "PodDisruptionBudget"},
		ObjectMeta: b.objectMeta(),
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(1))},
	}
	if len(b.Selector) > 0 {
		budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: maps.Clone(b.Selector)}
	}
	return budget
}
