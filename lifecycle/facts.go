package lifecycle

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
)

// What facts are read from a pod's metadata.
const (
	// AttemptLabel holds the number of the attempt that a pod belongs to.
	AttemptLabel = "sparkoperator.dev/attempt"
	// SpecHashAnnotation holds, on a driver pod, the hash of the spec that it was made from (App.SpecHash).
	SpecHashAnnotation = "sparkoperator.dev/spec-hash"
	// SubmitterAnnotation holds, on a driver pod that spark-submit made, the name of the pod that ran it.
	SubmitterAnnotation = "sparkoperator.dev/submitted-by"
	// exitExceptionAnnotation is where Spark 4.1 and newer write the exception that ended the driver, when
	// spark.kubernetes.driver.annotateExitException is set.
	exitExceptionAnnotation = "spark.exit-exception"
	// userAppException begins what Spark writes there when the program of a PythonRunner or RRunner exited.
	userAppException = "org.apache.spark.SparkUserAppException"
	appIDLabel       = "spark-app-selector" // Spark's own
	executorIDLabel  = "spark-exec-id"      // Spark's own
)

// maxExcerpt bounds, in bytes, what a failure's message quotes of a container's last words. The whole of it is in the pod.
const maxExcerpt = 1024

// DriverFacts reads a driver pod. Container is the name of the container that Spark runs in; where the pod has none of that name, the
// last one counts, which is where Spark puts its own beside those of a pod template.
func DriverFacts(pod *corev1.Pod, container string) Driver {
	status := containerStatus(pod, container)
	d := Driver{
		Name: pod.Name, UID: string(pod.UID), Attempt: attemptOf(pod), AppID: pod.Labels[appIDLabel],
		Phase: podPhase(pod, status), Deleting: pod.DeletionTimestamp != nil, CreatedAt: pod.CreationTimestamp.Time,
		SpecHash: pod.Annotations[SpecHashAnnotation], Submitter: pod.Annotations[SubmitterAnnotation],
	}
	if pod.DeletionTimestamp != nil {
		d.GoneBy = pod.DeletionTimestamp.Time
	}
	if ready := podCondition(pod, corev1.PodReady); ready != nil && ready.Status == corev1.ConditionTrue {
		d.Ready, d.ReadyAt = true, ready.LastTransitionTime.Time
	}
	if status != nil && status.State.Running != nil {
		d.StartedAt = status.State.Running.StartedAt.Time
	}
	if end := ended(status); end != nil {
		d.StartedAt, d.EndedAt = end.StartedAt.Time, end.FinishedAt.Time
		d.ExitCode, d.HasExit = end.ExitCode, true
	}
	taken := disruption(pod)
	d.Evicted = taken.Reason != ""
	d.Why = podCause(pod, status, "driver", d.Phase, taken)
	return d
}

// SubmitterFacts reads a pod that makes a driver pod by spark-submit. Container is the name of the container that it runs in.
func SubmitterFacts(pod *corev1.Pod, container string) Submitter {
	status := containerStatus(pod, container)
	s := Submitter{
		Name: pod.Name, UID: string(pod.UID), Attempt: attemptOf(pod), Phase: podPhase(pod, status), Deleting: pod.DeletionTimestamp != nil,
		CreatedAt: pod.CreationTimestamp.Time, SpecHash: pod.Annotations[SpecHashAnnotation],
	}
	if pod.DeletionTimestamp != nil {
		s.GoneBy = pod.DeletionTimestamp.Time
	}
	if end := ended(status); end != nil {
		s.EndedAt = end.FinishedAt.Time
	}
	s.Why = podCause(pod, status, container, s.Phase, disruption(pod))
	if s.Phase == DriverFailed && pod.Status.Reason == ReasonDeadlineExceeded {
		s.Why.Reason = ReasonDeadlineExceeded
	}
	return s
}

// ExecutorFacts reads an executor pod. An executor that Spark or the operator asked to go, and that went, counts as one that succeeded.
func ExecutorFacts(pod *corev1.Pod, container string) Executor {
	status := containerStatus(pod, container)
	e := Executor{
		Name: pod.Name, ID: pod.Labels[executorIDLabel], Attempt: attemptOf(pod), AppID: pod.Labels[appIDLabel],
		Phase: podPhase(pod, status),
	}
	taken := disruption(pod)
	if end := ended(status); e.Phase == DriverFailed && pod.DeletionTimestamp != nil && taken.Reason == "" && end != nil && stopSignal(end) {
		e.Phase = DriverSucceeded
	}
	e.Why = podCause(pod, status, "executor", e.Phase, taken)
	return e
}

// stopSignal reports whether a container ended as one does that was asked to stop: by SIGTERM or, after its grace period, SIGKILL.
func stopSignal(end *corev1.ContainerStateTerminated) bool {
	return (end.ExitCode == 143 || end.ExitCode == 137) && end.Reason != "OOMKilled"
}

func attemptOf(pod *corev1.Pod) int32 {
	n, err := strconv.ParseInt(pod.Labels[AttemptLabel], 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return int32(n)
}

// containerStatus finds the Spark container by the order of the spec: the kubelet sorts the statuses by name, so their order tells nothing.
// A name that is there wins, since a webhook may have added a sidecar behind it.
func containerStatus(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	if n := len(pod.Spec.Containers); n > 0 {
		last := pod.Spec.Containers[n-1].Name
		for _, c := range pod.Spec.Containers {
			if c.Name == name {
				last = name
			}
		}
		name = last
	}
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == name {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

func ended(status *corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if status == nil {
		return nil
	}
	return status.State.Terminated
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// podPhase is the life of the Spark container rather than the pod's: a sidecar outlives it, or fails beside it.
func podPhase(pod *corev1.Pod, status *corev1.ContainerStatus) DriverPhase {
	if end := ended(status); end != nil {
		if end.ExitCode == 0 {
			return DriverSucceeded
		}
		return DriverFailed
	}
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		return DriverSucceeded
	case pod.Status.Phase == corev1.PodFailed:
		return DriverFailed
	case nodeLost(pod):
		return DriverUnknown
	case pod.Status.Phase != corev1.PodRunning, status != nil && status.State.Waiting != nil:
		return DriverPending // a pod may be Running by its sidecars, while the Spark container still waits for its image
	}
	return DriverRunning
}

// nodeLost reports whether the pod's node does not answer: Kubernetes says so itself, or it wants the pod gone because of a taint and
// nobody carries that out. A pod that is still there then may be running.
func nodeLost(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodUnknown || pod.Status.Reason == ReasonNodeLost {
		return true
	}
	target := podCondition(pod, corev1.DisruptionTarget)
	return pod.DeletionTimestamp != nil && target != nil && target.Status == corev1.ConditionTrue && target.Reason == "DeletionByTaintManager"
}

// disruption tells why Kubernetes took the pod away, or nothing.
func disruption(pod *corev1.Pod) Cause {
	message := pod.Status.Message
	target := podCondition(pod, corev1.DisruptionTarget)
	if target != nil && target.Status == corev1.ConditionTrue {
		if message == "" {
			message = target.Message
		}
		if target.Reason == corev1.PodReasonPreemptionByScheduler {
			return Cause{ReasonPreempted, message}
		}
		return Cause{ReasonEvicted, message}
	}
	switch pod.Status.Reason {
	case "Preempting":
		return Cause{ReasonPreempted, message}
	case "Evicted", "Shutdown", "NodeShutdown", "Terminated":
		return Cause{ReasonEvicted, message}
	}
	return Cause{}
}

// podCause is the best account of a failure, or of what a pod waits for. It prefers the reason that explains the others: a container
// that was killed since its pod was evicted did not fail by itself.
func podCause(pod *corev1.Pod, status *corev1.ContainerStatus, role string, phase DriverPhase, taken Cause) Cause {
	switch phase {
	case DriverSucceeded:
		return Cause{}
	case DriverUnknown:
		return Cause{ReasonNodeLost, fmt.Sprintf("node %s of %s pod %s does not answer; nothing is concluded until it does or the pod is gone",
			pod.Spec.NodeName, role, pod.Name)}
	case DriverFailed:
		return failure(pod, ended(status), role, taken)
	}
	if taken.Reason != "" {
		return Cause{taken.Reason, sentence(role+" pod "+pod.Name+" is being taken from its node", taken.Message)}
	}
	if phase == DriverPending {
		return waitsFor(pod)
	}
	return Cause{}
}

// failure tells how a pod failed.
func failure(pod *corev1.Pod, end *corev1.ContainerStateTerminated, role string, taken Cause) Cause {
	if end == nil {
		reason := pod.Status.Reason
		if taken.Reason != "" {
			reason = taken.Reason
		}
		if reason == "" {
			reason = "PodFailed"
		}
		return Cause{reason, sentence(role+" pod failed; the status of its container is missing", firstOf(taken.Message, pod.Status.Message))}
	}
	how := fmt.Sprintf("%s container failed with exit code %d", role, end.ExitCode)
	if name := signalName(end); name != "" {
		how += " (" + name + ")"
	}
	reason := end.Reason
	if reason == "" {
		reason = "Error"
	}
	if reason != "Error" {
		how += ", " + reason
	}
	if taken.Reason != "" {
		return Cause{taken.Reason, sentence(sentence(how, "the pod was taken from its node"), taken.Message)}
	}
	// The exception that the driver left on its pod tells most, since the log's last lines may be the end of its stack trace only. Of a
	// Python or R program it tells no more than the exit code, and what the program said itself is in the log.
	said := firstOf(end.Message, pod.Status.Message)
	if left := pod.Annotations[exitExceptionAnnotation]; left != "" && (said == "" || !strings.HasPrefix(left, userAppException)) {
		said = left
	}
	return Cause{reason, sentence(how, excerpt(said))}
}

// fromTrouble returns a text from the first line on that tells of an error, or "". The frames of a stack trace do not, whatever the names
// of their classes.
func fromTrouble(said string) string {
	for rest := said; rest != ""; {
		line, after, _ := strings.Cut(rest, "\n")
		frame := strings.HasPrefix(strings.TrimSpace(line), "at ")
		if !frame && (strings.Contains(line, "Exception") || strings.Contains(line, "Error")) {
			return rest
		}
		rest = after
	}
	return ""
}

// signalName names the signal that ended a container: runtimes give it as such or, as shells do, as 128 more than its number.
func signalName(end *corev1.ContainerStateTerminated) string {
	n := end.Signal
	if n == 0 && end.ExitCode > 128 {
		n = end.ExitCode - 128
	}
	switch n {
	case 0:
		return ""
	case 6:
		return "SIGABRT"
	case 9:
		return "SIGKILL"
	case 11:
		return "SIGSEGV"
	case 15:
		return "SIGTERM"
	}
	if n > 64 {
		return ""
	}
	return fmt.Sprintf("signal %d", n)
}

// waitsFor tells what keeps a pod from running as far as its status says; "" where it is only on its way.
func waitsFor(pod *corev1.Pod) Cause {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			waiting := statuses[i].State.Waiting
			if waiting == nil {
				continue
			}
			switch waiting.Reason {
			case "", "ContainerCreating", "PodInitializing":
			case "ErrImagePull", "ImagePullBackOff":
				return imagePull(&statuses[i], waiting)
			default:
				return Cause{waiting.Reason, sentence("container "+statuses[i].Name, waiting.Message)}
			}
		}
	}
	if c := podCondition(pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse {
		return Cause{firstOf(c.Reason, corev1.PodReasonUnschedulable), c.Message}
	}
	return Cause{}
}

// imagePull tells of an image that cannot be pulled, always by the same reason and, as far as Kubernetes lets it, the same words: the kubelet
// alternates between ErrImagePull and ImagePullBackOff with every try, and a status that follows would be written as often.
func imagePull(status *corev1.ContainerStatus, waiting *corev1.ContainerStateWaiting) Cause {
	message := waiting.Message
	if _, why, ok := strings.Cut(message, "ErrImagePull: "); ok {
		message = why
	}
	return Cause{"ImagePullBackOff", sentence(fmt.Sprintf("image %q of container %s cannot be pulled", status.Image, status.Name), message)}
}

// excerpt cuts what a container said last to maxExcerpt bytes, from where it begins to tell of an error: Kubernetes hands over the last
// lines of the log, and the first exception among them says more than the end of its stack trace.
func excerpt(said string) string {
	said = strings.TrimSpace(strings.ToValidUTF8(said, "?"))
	if telling := fromTrouble(said); telling != "" {
		return cut(telling)
	}
	if len(said) > maxExcerpt {
		said = strings.ToValidUTF8(said[len(said)-maxExcerpt:], "")
		if _, whole, ok := strings.Cut(said, "\n"); ok {
			said = whole
		}
	}
	return said
}

func cut(text string) string {
	text = strings.TrimSpace(text)
	if len(text) <= maxExcerpt {
		return text
	}
	end := maxExcerpt
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "..."
}

// sentence joins a statement and what Kubernetes or the container said about it.
func sentence(what, said string) string {
	if said = strings.TrimSpace(said); said == "" {
		return what
	}
	return what + ": " + said
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
