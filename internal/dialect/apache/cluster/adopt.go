package cluster

import (
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/spark/standalone"
)

// Adopt returns copies of those candidates that another operator created for the cluster. The candidates are pods that
// do not have the operator's own labels, but name the cluster in the label standalone.LabelClusterName. Each copy has
// the label by which the operator identifies a cluster's pods.
//
// A pod belongs to the cluster if the StatefulSet of its role controls it. The caller must check the owner of this
// StatefulSet, because anybody may create a StatefulSet with the same name. While the StatefulSet is being replaced,
// its pods have no controller. Such pods also belong to the cluster.
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

// madeBySet reports whether the StatefulSet with the given name controls a pod, or controlled it before. If a pod has
// no owner, madeBySet concludes this from the pod's name and from the label that Kubernetes sets on the pods of a
// StatefulSet.
func madeBySet(pod *corev1.Pod, name string) bool {
	if set := metav1.GetControllerOf(pod); set != nil {
		return set.Kind == "StatefulSet" && set.Name == name
	}

	ordinal, hasPrefix := strings.CutPrefix(pod.Name, name+"-")
	_, err := strconv.ParseUint(ordinal, 10, 31)
	return hasPrefix && err == nil && len(pod.OwnerReferences) == 0 && pod.Labels[appsv1.StatefulSetPodNameLabel] == pod.Name
}
