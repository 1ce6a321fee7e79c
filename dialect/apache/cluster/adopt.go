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

// LabelClusterName is the label of every object of a cluster that has the name of the SparkCluster as its value.
const LabelClusterName = standalone.LabelClusterName

// Adopt returns copies of those candidates that another operator created for the cluster. Each copy has the labels that
// identify our own pods. Candidates are pods without our labels that name the cluster (LabelClusterName).
//
// A pod belongs to the cluster if it is controlled by the StatefulSet of its role. The caller must check who owns that
// StatefulSet, because anybody may create a StatefulSet with that name. A pod that the StatefulSet controlled before
// also belongs to the cluster if it has no controller now, because the pods have no controller while their StatefulSet
// is being replaced.
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

// madeBySet reports whether the StatefulSet with the given name controls a pod, or controlled the pod before. A pod
// without an owner counts as controlled before if its name is a name of that StatefulSet's pods and it has the label
// that Kubernetes gives to pods of a StatefulSet.
func madeBySet(pod *corev1.Pod, name string) bool {
	if set := metav1.GetControllerOf(pod); set != nil {
		return set.Kind == "StatefulSet" && set.Name == name
	}
	ordinal, hasPrefix := strings.CutPrefix(pod.Name, name+"-")
	_, err := strconv.ParseUint(ordinal, 10, 31)
	return hasPrefix && err == nil && len(pod.OwnerReferences) == 0 && pod.Labels[appsv1.StatefulSetPodNameLabel] == pod.Name
}
