package policy

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/internal/dialect"
)

// JudgesPods reports whether a rule of the policy is about pods, in any namespace.
func (p Policy) JudgesPods() bool {
	return slices.ContainsFunc(p.prepared(), (*set).judgesPods)
}

// PodFaults returns a fault for each rule that a pod breaks which the API server is about to create or change, in a
// namespace with the given labels. If the labels are unknown (nil), sets with a selector do not apply.
//
// It differs from the check of a custom resource where the API server has completed the pod: it does not judge the
// tolerations that every pod gets. A limit of the sum of all pods limits each of them too.
func (p Policy) PodFaults(namespaceLabels map[string]string, pod *corev1.Pod) []*dialect.FieldError {
	spec := pod.Spec
	spec.Tolerations = slices.DeleteFunc(slices.Clone(spec.Tolerations), addedByKubernetes)
	role := cmp.Or(pod.Labels[roleLabel], "program")
	judged := []dialect.Pod{dialect.PodOf(role, "spec", &pod.ObjectMeta, &spec)}
	workers := dialect.Workers{Max: 1}

	r := refusals{server: p.ServerVersion}
	for _, r.set = range p.sets(namespaceLabels) {
		r.pod(&judged[0])
		r.amounts(judged, workers)
	}
	return r.faults
}

// roleLabel is the label in which Spark writes the role of a pod.
const roleLabel = "spark-role"

// addedByKubernetes reports whether the admission plugin DefaultTolerationSeconds adds a toleration to every pod.
func addedByKubernetes(t corev1.Toleration) bool {
	return t.Operator == corev1.TolerationOpExists && t.Effect == corev1.TaintEffectNoExecute &&
		(t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable)
}
