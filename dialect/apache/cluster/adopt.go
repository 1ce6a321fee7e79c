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

// LabelClusterName is a label with the name of the SparkCluster, on every object of a cluster.
const LabelClusterName = standalone.LabelClusterName

// Adopt returns the candidates that another operator created for the cluster. It returns copies with the labels that
// identify our own pods. Candidates are pods without our labels that name the cluster (LabelClusterName).
//
// A pod is the cluster's if the StatefulSet of its role controls it. The caller must check who owns that StatefulSet,
// since anybody may create one with that name. A pod that such a StatefulSet has released belongs to the cluster too:
// nothing controls the pods while their StatefulSet is being replaced.
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

// madeBySet reports whether a StatefulSet of a name controls a pod, or controlled it before nobody did. In the second
// case the pod's name and a label that Kubernetes gives to such pods are the evidence.
func madeBySet(pod *corev1.Pod, name string) bool {
	if set := metav1.GetControllerOf(pod); set != nil {
		return set.Kind == "StatefulSet" && set.Name == name
	}
	ordinal, hasPrefix := strings.CutPrefix(pod.Name, name+"-")
	_, err := strconv.ParseUint(ordinal, 10, 31)
	return hasPrefix && err == nil && len(pod.OwnerReferences) == 0 && pod.Labels[appsv1.StatefulSetPodNameLabel] == pod.Name
}
