package apache

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/spark/standalone"
)

// LabelClusterName names, on everything of a cluster, its SparkCluster.
const LabelClusterName = standalone.LabelClusterName

// Adopt returns those of the pods that another operator made for the cluster, each with the identity that its maker did not give it (in the copy that is
// returned alone). Candidates are pods without our labels that name the cluster (LabelClusterName). One is the cluster's if the StatefulSet of its role keeps
// it; whose that StatefulSet is has to be asked, since anybody may make one by that name.
func (Clusters) Adopt(sc *sparkv1.SparkCluster, candidates []corev1.Pod) (out []corev1.Pod) {
	for i := range candidates {
		pod := &candidates[i]
		role := pod.Labels[standalone.LabelRole]
		if role != standalone.RoleMaster && role != standalone.RoleWorker {
			continue
		}
		set := metav1.GetControllerOf(pod)
		if set == nil || set.Kind != "StatefulSet" || set.Name != standalone.StatefulSetName(sc.Name, role) {
			continue
		}
		adopted := *pod.DeepCopy()
		adopted.Labels[LabelAppUID] = string(sc.UID)
		out = append(out, adopted)
	}
	return out
}
