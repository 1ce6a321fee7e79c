package node

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// statusPatch is a strategic merge patch of a pod's status. The UID makes it fail with a conflict where the pod is another one of the same name by now.
func statusPatch(uid types.UID, status corev1.PodStatus) ([]byte, error) {
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid}, "status": status})
}

// running is what a kubelet writes once all containers run. It writes twice before that, which says nothing that anybody here waits for.
func running(containers []string, ip string, now time.Time) corev1.PodStatus {
	at := metav1.NewTime(now)
	status := corev1.PodStatus{Phase: corev1.PodRunning, HostIP: hostIP, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, StartTime: &at}
	for _, kind := range []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: at})
	}
	for _, name := range containers {
		status.ContainerStatuses = append(status.ContainerStatuses, container(name, true, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}))
	}
	return status
}

// ended is what a kubelet writes once all containers have ended.
func ended(containers []string, code int32, started, now time.Time) corev1.PodStatus {
	status, reason, why := corev1.PodStatus{Phase: corev1.PodSucceeded}, "Completed", "PodCompleted"
	if code != 0 {
		status.Phase, reason, why = corev1.PodFailed, "Error", "PodFailed"
	}
	at := metav1.NewTime(now)
	for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, Reason: why, LastTransitionTime: at})
	}
	for _, name := range containers {
		status.ContainerStatuses = append(status.ContainerStatuses, container(name, false, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: reason, StartedAt: metav1.NewTime(started), FinishedAt: at,
		}}))
	}
	return status
}

func container(name string, ready bool, state corev1.ContainerState) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: name, Ready: ready, Started: &ready, State: state,
		Image: "docker.io/apache/spark:4.1.4", ImageID: "docker.io/apache/spark@sha256:" + digest, ContainerID: "containerd://" + digest,
	}
}

// What statuses say of things that are not there; their length is that of real ones.
const (
	hostIP = "192.0.2.1"
	digest = "0000000000000000000000000000000000000000000000000000000000000000"
)

// address is the IP address of pod number n.
func address(n int64) string { return fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255) }
