package connect

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/spark/connect"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Adopt returns copies of those candidates that another operator of this API created for the SparkConnect. The copies
// have the labels by which our operator finds pods. Candidates are pods without our labels that name the SparkConnect
// (sparkoperator.LabelConnectName).
//
// A server pod must have the SparkConnect as its controller. The pod's UID serves as the attempt id. If the status
// contains this id, the pod belongs to the attempt in the status. Otherwise the launch of the pod was not stored, and
// the pod belongs to the next attempt. The pod has no hash of a spec, so the operator does not replace the server until
// somebody edits the spec. Executors belong to their server's attempt.
func (Connects) Adopt(sc *v1alpha1.SparkConnect, candidates []corev1.Pod) []corev1.Pod {
	m := decodeConnect(&sc.Status)
	controller := serverOwner(sc)
	attempts := map[string]int32{} // by the server's UID

	var out []corev1.Pod
	for i := range candidates {
		pod := &candidates[i]
		if pod.Labels[submit.RoleLabel] != connect.RoleServer || !metav1.IsControlledBy(pod, sc) {
			continue
		}

		id := string(pod.UID)

		attempt := m.Attempt
		if id != m.AttemptID {
			attempt++
		}

		attempts[id] = attempt
		out = append(out, dialect.WithIdentity(pod, controller, attempt, id))
	}

	for i := range candidates {
		pod := &candidates[i]

		owner := metav1.GetControllerOf(pod)
		if pod.Labels[submit.RoleLabel] != submit.RoleExecutor || owner == nil {
			continue
		}

		if attempt, ours := attempts[string(owner.UID)]; ours {
			out = append(out, dialect.WithIdentity(pod, controller, attempt, string(owner.UID)))
		}
	}
	return out
}
