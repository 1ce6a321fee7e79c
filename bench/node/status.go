package node

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// statusPatch is a strategic merge patch of a pod's status. The UID makes it fail with a conflict where the pod is another one of the same name by now.
func statusPatch(uid types.UID, status corev1.PodStatus) ([]byte, error) {
	sent := patched{PodStatus: status}
	for _, c := range status.Conditions {
		sent.Conditions = append(sent.Conditions, condition{c, text(c.Reason), text(c.Message)})
	}
	for _, c := range status.ContainerStatuses {
		sent.ContainerStatuses = append(sent.ContainerStatuses, containerStatus{c, containerState(c.State)})
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid}, "status": sent})
}

// What the status before had and this has not is to be null: a patch leaves what it does not name, and the container would wait and run at once.
type (
	patched struct {
		corev1.PodStatus
		Conditions        []condition       `json:"conditions,omitempty"`
		ContainerStatuses []containerStatus `json:"containerStatuses,omitempty"`
	}
	condition struct {
		corev1.PodCondition
		Reason  *string `json:"reason"`
		Message *string `json:"message"`
	}
	containerStatus struct {
		corev1.ContainerStatus
		State containerState `json:"state"`
	}
	containerState struct {
		Waiting    *corev1.ContainerStateWaiting    `json:"waiting"`
		Running    *corev1.ContainerStateRunning    `json:"running"`
		Terminated *corev1.ContainerStateTerminated `json:"terminated"`
	}
)

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// creating is what a kubelet writes of a pod that was bound to it. It writes once more before the containers run, when the pod has its network.
func creating(containers []string, now time.Time) corev1.PodStatus {
	at, waits := metav1.NewTime(now), corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	status := corev1.PodStatus{Phase: corev1.PodPending, HostIP: hostIP, StartTime: &at, Conditions: []corev1.PodCondition{
		{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse, LastTransitionTime: at}, {Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: at},
	}}
	for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{
			Type: kind, Status: corev1.ConditionFalse, Reason: "ContainersNotReady", Message: "containers with unready status: [" + strings.Join(containers, " ") + "]", LastTransitionTime: at,
		})
	}
	for _, name := range containers {
		s := container(name, false, waits)
		s.ImageID, s.ContainerID = "", ""
		status.ContainerStatuses = append(status.ContainerStatuses, s)
	}
	return status
}

// running is what a kubelet writes once all containers run.
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
