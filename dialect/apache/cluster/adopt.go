package cluster

import (
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/dialect/apache"
	"github.com/sparkoperator/spark-operator/spark/standalone"
)

// LabelClusterName names, on everything of a cluster, its SparkCluster.
const LabelClusterName = standalone.LabelClusterName

// Adopt returns those of the pods that another operator made for the cluster, each with the identity that its maker did not give it (in the copy that is
// returned alone). Candidates are pods without our labels that name the cluster (LabelClusterName). One is the cluster's if the StatefulSet of its role keeps
// it; whose that StatefulSet is has to be asked, since anybody may make one by that name. So is one that a StatefulSet of that name left: while it is being
// replaced nothing keeps its pods.
func (Clusters) Adopt(sc *sparkv1.SparkCluster, candidates []corev1.Pod) (out []corev1.Pod) {
	for i := range candidates {
		pod := &candidates[i]
		role := pod.Labels[standalone.LabelRole]
		if role != standalone.RoleMaster && role != standalone.RoleWorker {
			continue
		}
		if !madeBySet(pod, standalone.StatefulSetName(sc.Name, role)) {
			continue
		}
		adopted := *pod.DeepCopy()
		adopted.Labels[apache.LabelAppUID] = string(sc.UID)
		out = append(out, adopted)
	}
	return out
}

// madeBySet reports whether a StatefulSet of a name keeps a pod, or kept it until nobody did: then its name, and a label that Kubernetes gives such pods, tell.
func madeBySet(pod *corev1.Pod, name string) bool {
	if set := metav1.GetControllerOf(pod); set != nil {
		return set.Kind == "StatefulSet" && set.Name == name
	}
	ordinal, of := strings.CutPrefix(pod.Name, name+"-")
	_, err := strconv.ParseUint(ordinal, 10, 31)
	return of && err == nil && len(pod.OwnerReferences) == 0 && pod.Labels[appsv1.StatefulSetPodNameLabel] == pod.Name
}
