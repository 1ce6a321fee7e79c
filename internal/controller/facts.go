package controller

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// The containers that Spark runs in. A user's template may name its own; Spark then appends its container to the template's.
const (
	driverContainer   = "spark-kubernetes-driver"
	executorContainer = "spark-kubernetes-executor"
)

// driverFacts reads a driver pod.
func driverFacts(pod *corev1.Pod) lifecycle.Driver {
	status := sparkContainer(pod, driverContainer)
	d := lifecycle.Driver{
		Name: pod.Name, UID: string(pod.UID), Attempt: attemptOf(pod), AppID: pod.Labels["spark-app-selector"],
		Phase: podPhase(pod, status), Deleting: pod.DeletionTimestamp != nil, CreatedAt: pod.CreationTimestamp.Time,
		Evicted: evicted(pod), Why: podCause(pod, status),
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			d.Ready = condition.Status == corev1.ConditionTrue
		}
	}
	if status != nil && status.State.Running != nil {
		d.StartedAt = status.State.Running.StartedAt.Time
	}
	if end := terminated(status); end != nil {
		d.StartedAt, d.EndedAt = end.StartedAt.Time, end.FinishedAt.Time
		d.ExitCode, d.HasExit = end.ExitCode, true
	}
	return d
}

// executorFacts reads an executor pod.
func executorFacts(pod *corev1.Pod) lifecycle.Executor {
	status := sparkContainer(pod, executorContainer)
	return lifecycle.Executor{
		Name: pod.Name, ID: pod.Labels["spark-exec-id"], Attempt: attemptOf(pod), AppID: pod.Labels["spark-app-selector"],
		Phase: podPhase(pod, status), Why: podCause(pod, status),
	}
}

// sparkContainer returns the status of the container that Spark runs in, or nil while there is none.
func sparkContainer(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	if n := len(pod.Spec.Containers); n > 0 {
		found := false
		for _, container := range pod.Spec.Containers {
			found = found || container.Name == name
		}
		if !found {
			name = pod.Spec.Containers[n-1].Name
		}
	}
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == name {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

func terminated(status *corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if status == nil {
		return nil
	}
	return status.State.Terminated
}

// podPhase is the Spark container's life rather than the pod's: sidecars outlive it, or fail beside it.
func podPhase(pod *corev1.Pod, status *corev1.ContainerStatus) lifecycle.DriverPhase {
	if end := terminated(status); end != nil {
		if end.ExitCode == 0 {
			return lifecycle.DriverSucceeded
		}
		return lifecycle.DriverFailed
	}
	switch pod.Status.Phase {
	case corev1.PodSucceeded:
		return lifecycle.DriverSucceeded
	case corev1.PodFailed:
		return lifecycle.DriverFailed
	case corev1.PodUnknown:
		return lifecycle.DriverUnknown
	}
	if pod.Status.Reason == "NodeLost" {
		return lifecycle.DriverUnknown
	}
	if pod.Status.Phase == corev1.PodRunning {
		return lifecycle.DriverRunning
	}
	return lifecycle.DriverPending
}

// evicted reports that Kubernetes took the pod away: pressure on the node, its shutdown, preemption, the Eviction API.
func evicted(pod *corev1.Pod) bool {
	switch pod.Status.Reason {
	case "Evicted", "Preempting", "Shutdown", "NodeShutdown", "Terminated":
		return true
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.DisruptionTarget && condition.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// podCause is what the pod's status tells of a failure or of what a pending pod waits for.
func podCause(pod *corev1.Pod, status *corev1.ContainerStatus) lifecycle.Cause {
	if end := terminated(status); end != nil && end.ExitCode != 0 {
		return exitCause(pod, end)
	}
	if pod.Status.Phase == corev1.PodFailed {
		return lifecycle.Cause{Reason: orElse(pod.Status.Reason, "PodFailed"), Message: pod.Status.Message}
	}
	if pod.Status.Phase != corev1.PodPending && pod.Status.Phase != "" {
		return lifecycle.Cause{}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, s := range statuses {
			waiting := s.State.Waiting
			if waiting != nil && waiting.Reason != "" && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing" {
				return lifecycle.Cause{Reason: waiting.Reason, Message: orElse(waiting.Message, "container "+s.Name)}
			}
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return lifecycle.Cause{Reason: orElse(condition.Reason, "Unschedulable"), Message: condition.Message}
		}
	}
	return lifecycle.Cause{}
}

// exitCause puts the best account first: Spark's own stack trace, the termination message, what Kubernetes says, the exit code.
func exitCause(pod *corev1.Pod, end *corev1.ContainerStateTerminated) lifecycle.Cause {
	how := fmt.Sprintf("driver container failed with exit code %d", end.ExitCode)
	if pod.Labels[labelRole] == roleExecutor {
		how = fmt.Sprintf("executor container failed with exit code %d", end.ExitCode)
	}
	if end.Signal != 0 {
		how += fmt.Sprintf(" (signal %d)", end.Signal)
	}
	reason := orElse(end.Reason, "Error")
	if reason != "Error" {
		how += ", " + reason
	}
	said := orElse(pod.Annotations[annotationExitException], orElse(end.Message, pod.Status.Message))
	if said = strings.TrimSpace(said); said != "" {
		how += ": " + said
	}
	return lifecycle.Cause{Reason: reason, Message: how}
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
