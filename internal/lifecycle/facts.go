package lifecycle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// These are labels and annotations of pods from which facts are read.
const (
	// AppUIDLabel contains the UID of the custom resource that an object belongs to. AppUIDLabel and AttemptLabel
	// together identify the attempt that the object belongs to.
	AppUIDLabel = "sparkoperator.dev/app-uid"
	// AttemptLabel contains the number of the attempt that a pod belongs to.
	AttemptLabel = "sparkoperator.dev/attempt"
	// SpecHashAnnotation is an annotation of a driver pod. It contains the hash of the spec from which the pod was
	// created (App.SpecHash).
	SpecHashAnnotation = "sparkoperator.dev/spec-hash"
	// SubmitterAnnotation is an annotation of a driver pod that spark-submit created. It contains the name of the pod
	// that ran spark-submit.
	SubmitterAnnotation = "sparkoperator.dev/submitted-by"
	// ObjectsAnnotation is an annotation of a driver pod. It contains the number of the objects, of the kinds that the
	// operator watches, that the operator created for the driver (Driver.MissingObjects).
	ObjectsAnnotation = "sparkoperator.dev/objects"
	// AdoptedAnnotation is an annotation of the in-memory copy of a pod that another operator created. It contains the
	// id of the pod's attempt (Driver.AttemptID). No pod in the cluster has this annotation.
	AdoptedAnnotation = "sparkoperator.dev/adopted"
	// ReserveAnnotation is an annotation of a custom resource in a queue. With the value "true" and dynamic allocation,
	// the queue reserves quota for the largest number of executors as long as the attempt runs.
	ReserveAnnotation = "spark.operator/kueue-reserve-max-executors"
	// ExitExceptionAnnotation is the annotation in which Spark 4.1 and newer write the exception that ended the driver,
	// if spark.kubernetes.driver.annotateExitException is set.
	ExitExceptionAnnotation = "spark.exit-exception"
	// userAppException is the beginning of the exception that Spark writes into ExitExceptionAnnotation if the program
	// of a PythonRunner or RRunner exited.
	userAppException = "org.apache.spark.SparkUserAppException"
	appIDLabel       = "spark-app-selector" // Spark's own
	executorIDLabel  = "spark-exec-id"      // Spark's own
	versionLabel     = "spark-version"      // Spark's own
	roleLabel        = "spark-role"         // Spark's own
	// connectServer is the value of roleLabel on a Spark Connect server, as in the sparkoperator.k8s.io API.
	connectServer = "connect-server"
	// executorContainer is Spark's own name for the container of an executor. If a pod template names the container
	// differently, no container has this name, and the Spark container is the last one.
	executorContainer = "spark-kubernetes-executor"
)

// DriverFacts returns the facts of a driver pod. The parameter `container` is the name of the Spark container. If the
// pod has no container with that name, the last container is the Spark container, because Spark appends its own
// container to the containers of a pod template.
func DriverFacts(pod *corev1.Pod, container string) Driver {
	status := containerStatus(pod, container)

	d := Driver{
		Name: pod.Name, UID: string(pod.UID), Attempt: attemptOf(pod), AppID: pod.Labels[appIDLabel],
		Phase: podPhase(pod, status), Deleting: pod.DeletionTimestamp != nil, CreatedAt: pod.CreationTimestamp.Time,
		SpecHash: pod.Annotations[SpecHashAnnotation], Submitter: pod.Annotations[SubmitterAnnotation], SparkVersion: pod.Labels[versionLabel],
		RestartRequest: pod.Annotations[RestartRequestAnnotation], AttemptID: pod.Annotations[AdoptedAnnotation], Address: pod.Status.PodIP, Status: &pod.Status,
	}
	if pod.DeletionTimestamp != nil {
		d.GoneBy, d.Finalizers = pod.DeletionTimestamp.Time, pod.Finalizers
	}

	if d.Phase == DriverSucceeded || d.Phase == DriverFailed {
		d.Lingering = runningContainer(pod)
	}

	if d.Phase == DriverUnknown && markedUnready(pod) {
		d.NodeLostSince = podCondition(pod, corev1.PodReady).LastTransitionTime.Time
	}

	if ready := podCondition(pod, corev1.PodReady); ready != nil && ready.Status == corev1.ConditionTrue {
		d.Ready, d.ReadyAt = true, ready.LastTransitionTime.Time
	}

	d.StartedAt = startedAt(status)
	if end := ended(status); end != nil {
		d.EndedAt, d.ExitCode, d.HasExit = end.FinishedAt.Time, end.ExitCode, true
	}

	if c := sparkContainer(pod, container); c != nil {
		d.Image = c.Image
	}

	if status != nil {
		d.ImageID = status.ImageID
	}

	taken := disruption(pod)
	d.Evicted = taken.Reason != ""
	d.UnresponsiveScheduler = UnresponsiveScheduler(pod)
	d.Gated, d.ScheduledAt, d.Use = len(pod.Spec.SchedulingGates) > 0, scheduledAt(pod), Use(pod)

	role := roleDriver
	if pod.Labels[roleLabel] == connectServer {
		role = roleServer
	}

	d.Why = podCause(pod, status, role, d.Phase, taken)
	return d
}

// SubmitterFacts returns the facts of a submitter, which is a pod that runs spark-submit to create a driver pod. The
// parameter `container` is the name of the container that runs spark-submit.
func SubmitterFacts(pod *corev1.Pod, container string) Submitter {
	status := containerStatus(pod, container)

	s := Submitter{
		Name: pod.Name, UID: string(pod.UID), Attempt: attemptOf(pod), Phase: podPhase(pod, status), Deleting: pod.DeletionTimestamp != nil,
		CreatedAt: pod.CreationTimestamp.Time, SpecHash: pod.Annotations[SpecHashAnnotation], RestartRequest: pod.Annotations[RestartRequestAnnotation],
	}
	if pod.DeletionTimestamp != nil {
		s.GoneBy = pod.DeletionTimestamp.Time
	}

	if end := ended(status); end != nil {
		s.EndedAt = end.FinishedAt.Time
	}

	s.Why = podCause(pod, status, container, s.Phase, disruption(pod))
	if end := ended(status); end != nil && end.Reason == "Error" && s.Why.Reason != ReasonEvicted && s.Why.Reason != ReasonPreempted && pod.Status.Reason == "" {
		s.Why.Reason = end.Reason // the submission failed, whatever the log names as its cause
	}
	return s
}

// ExecutorFacts returns the facts of an executor pod. If the pod was deleted and its container was then stopped by a
// signal, the executor counts as succeeded, because Spark and the operator delete executors this way. It counts as
// failed if Kubernetes evicted or preempted the pod.
func ExecutorFacts(pod *corev1.Pod) Executor {
	status := containerStatus(pod, executorContainer)
	e := Executor{
		Name: pod.Name, ID: pod.Labels[executorIDLabel], Attempt: attemptOf(pod), AppID: pod.Labels[appIDLabel],
		Phase: podPhase(pod, status), CreatedAt: pod.CreationTimestamp.Time, StartedAt: startedAt(status),
		SparkVersion: pod.Labels[versionLabel], Use: Use(pod),
	}

	taken := disruption(pod)
	if end := ended(status); e.Phase == DriverFailed && pod.DeletionTimestamp != nil && taken.Reason == "" && end != nil && stopSignal(end) {
		e.Phase = DriverSucceeded
	}

	if ready := podCondition(pod, corev1.PodReady); e.Phase == DriverRunning && ready != nil {
		e.Unready = ready.Status == corev1.ConditionFalse
	}

	if e.Phase == DriverSucceeded || e.Phase == DriverFailed {
		e.Lingers = runningContainer(pod) != ""
	}

	e.UnresponsiveScheduler = UnresponsiveScheduler(pod)
	e.Why = podCause(pod, status, roleExecutor, e.Phase, taken)
	return e
}

// DeletedWhileRunning reports whether somebody deleted an executor pod without a grace period while the executor ran.
// The pod no longer exists, so the parameter `pod` contains its last state.
//
// If a pod exits by itself or is deleted with a grace period, the kubelet reports the end of its containers before the
// pod disappears. The garbage collector of Kubernetes uses the grace period, and so does Spark. Spark deletes an
// executor if dynamic allocation releases it, if it ended (spark.kubernetes.executor.deleteOnTermination), or if the
// application ends. If a container still runs in the last state of its pod, somebody else must therefore have deleted
// the pod without a grace period.
//
// Three sorts of pods are exempt. If the pod's own grace period is 0, its container still runs in the last state after
// every deletion. If its node is lost, or if Kubernetes evicts or preempts the pod, the facts of the executor already
// report the failure.
func DeletedWhileRunning(pod *corev1.Pod) bool {
	own := pod.Spec.TerminationGracePeriodSeconds
	return (own == nil || *own > 0) && podPhase(pod, containerStatus(pod, executorContainer)) == DriverRunning && disruption(pod) == Cause{}
}

// AsDeleted returns a copy of the executor that counts as failed because somebody deleted its pod.
func (e Executor) AsDeleted() Executor {
	e.Phase, e.Why = DriverFailed, Cause{Reason: ReasonExecutorDeleted, Message: "the executor pod was deleted without a grace period while it ran; " +
		"Spark runs its tasks again on other executors. The audit log of the API server shows who deleted the pod"}
	return e
}

// MemberFacts returns the facts of a pod of a standalone cluster. The name of its Spark container is the pod's role.
// This container restarts when it ends, so an ended container only means that the pod is not ready.
func MemberFacts(pod *corev1.Pod) Member {
	role := pod.Labels[roleLabel]
	status := containerStatus(pod, role)

	m := Member{
		Name: pod.Name, Role: Role(role), Phase: podPhase(pod, status), Deleting: pod.DeletionTimestamp != nil, CreatedAt: pod.CreationTimestamp.Time,
		Generation: pod.Annotations[SpecHashAnnotation], Use: Use(pod),
	}
	if ready := podCondition(pod, corev1.PodReady); ready != nil && ready.Status == corev1.ConditionTrue {
		m.Ready = true
	}

	m.Gated, m.ScheduledAt = len(pod.Spec.SchedulingGates) > 0, scheduledAt(pod)

	m.Why = podCause(pod, status, role, m.Phase, disruption(pod))
	if status != nil && status.LastTerminationState.Terminated != nil && status.State.Waiting != nil {
		reason, how := exitReason(role+" container", status.LastTerminationState.Terminated, "")
		last := explained(reason, how, status.LastTerminationState.Terminated.Message, role)
		m.Why.Message, m.Why.Advice, m.Why.Log = sentence(m.Why.Message, last.Message), last.Advice, last.Log
	}
	return m
}

// stopSignal reports whether a container ended because somebody stopped it. In this case SIGTERM ended it or, after the
// grace period, SIGKILL.
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

// sparkContainer returns the Spark container of a pod. This is the container with the given name. If there is none, it
// is the last container of the pod's spec. The name has priority, because a webhook may have appended a sidecar. The
// result is nil if the pod has no containers.
func sparkContainer(pod *corev1.Pod, name string) *corev1.Container {
	all := pod.Spec.Containers
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}

	if len(all) == 0 {
		return nil
	}
	return &all[len(all)-1]
}

// containerStatus returns the status of the Spark container. The order of the statuses is of no use, because the
// kubelet sorts them by name.
func containerStatus(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	if c := sparkContainer(pod, name); c != nil {
		name = c.Name
	}

	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == name {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

// runningContainer returns the name of the first container of a pod that runs, or "" if none does.
func runningContainer(pod *corev1.Pod) string {
	for _, status := range slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses) {
		if status.State.Running != nil {
			return status.Name
		}
	}
	return ""
}

// startedAt returns when a container started, or the zero time if it has not started yet.
func startedAt(status *corev1.ContainerStatus) time.Time {
	switch {
	case status == nil:
		return time.Time{}
	case status.State.Terminated != nil:
		return status.State.Terminated.StartedAt.Time
	case status.State.Running != nil:
		return status.State.Running.StartedAt.Time
	}
	return time.Time{}
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

// podPhase returns the state of the Spark container. It may differ from the state of the pod, because a sidecar may run
// for longer than the Spark container, or fail before it.
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
	case status != nil && status.State.Running != nil:
		return DriverRunning // the kubelet reports Pending while any container waits, such as a sidecar for its image
	case pod.Status.Phase != corev1.PodRunning, status != nil && status.State.Waiting != nil:
		return DriverPending // sidecars may make a pod Running while the Spark container still waits for its image
	}
	return DriverRunning
}

// nodeLost reports whether Kubernetes found that the pod's node does not respond. The pod may still run there. A taint
// of the node does not count: anybody may set a taint, and a node that responds carries out the eviction that the taint
// causes.
func nodeLost(pod *corev1.Pod) bool {
	// Kubernetes before 1.13 wrote the first two values, and other components still may.
	return pod.Status.Phase == corev1.PodUnknown || pod.Status.Reason == ReasonNodeLost || markedUnready(pod)
}

// markedUnready reports whether the node controller set the condition Ready of a pod to False.
//
// The node controller does so for the pods of a node that has not responded for a while (node-monitor-grace-period, 50
// s by default; MarkPodsNotReady). It changes only the status of the condition. A kubelet that sets Ready to False
// always gives a reason. It also sets ContainersReady to False, unless the reason is a readiness gate.
func markedUnready(pod *corev1.Pod) bool {
	ready, containers := podCondition(pod, corev1.PodReady), podCondition(pod, corev1.ContainersReady)
	return ready != nil && ready.Status == corev1.ConditionFalse && ready.Reason == "" &&
		containers != nil && containers.Status == corev1.ConditionTrue
}

// disruption returns why Kubernetes evicted or preempted the pod, or the zero Cause if it did neither.
func disruption(pod *corev1.Pod) Cause {
	message := pod.Status.Message

	target := podCondition(pod, corev1.DisruptionTarget)
	if target != nil && target.Status == corev1.ConditionTrue {
		if message == "" {
			message = target.Message
		}

		if target.Reason == corev1.PodReasonPreemptionByScheduler {
			return Cause{Reason: ReasonPreempted, Message: message}
		}
		return Cause{Reason: ReasonEvicted, Message: message}
	}

	switch pod.Status.Reason {
	case "Preempting":
		return Cause{Reason: ReasonPreempted, Message: message}
	case "Evicted", "Shutdown", "NodeShutdown", "Terminated":
		return Cause{Reason: ReasonEvicted, Message: message}
	}
	return Cause{}
}

// podCause returns the best explanation of a pod's failure or wait. If several reasons apply, it returns the one that
// explains the others. For an evicted pod, for example, this is the reason of the eviction, not the exit of the
// container.
func podCause(pod *corev1.Pod, status *corev1.ContainerStatus, role string, phase DriverPhase, taken Cause) Cause {
	switch phase {
	case DriverSucceeded:
		return Cause{}
	case DriverUnknown:
		return Cause{Reason: ReasonNodeLost, Message: fmt.Sprintf("node %s of %s pod %s does not answer; the operator waits until the node answers or the pod is gone",
			pod.Spec.NodeName, role, pod.Name)}

	case DriverFailed:
		return failure(pod, status, role, taken)
	}

	if taken.Reason != "" {
		return Cause{Reason: taken.Reason, Message: sentence(role+" pod "+pod.Name+" is being taken from its node", taken.Message)}
	}

	if phase == DriverPending || pod.Status.Phase == corev1.PodPending {
		return waitCause(pod)
	}
	return Cause{}
}

// waitCause returns the wait reason of a pod, as far as the pod's status contains it. If the pod already runs but one
// of its containers waits, the result is the wait reason of that container. The result is the zero Cause if the pod
// starts normally.
func waitCause(pod *corev1.Pod) Cause {
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
				return Cause{Reason: waiting.Reason, Message: sentence("container "+statuses[i].Name, waiting.Message)}
			}
		}
	}

	if len(pod.Spec.SchedulingGates) > 0 {
		return gatedCause(pod.Spec.SchedulingGates)
	}

	if c := podCondition(pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse {
		return Cause{Reason: firstOf(c.Reason, corev1.PodReasonUnschedulable), Message: c.Message}
	}
	return Cause{}
}

// gatedCause returns the wait reason of a pod with scheduling gates.
func gatedCause(gates []corev1.PodSchedulingGate) Cause {
	names := make([]string, 0, len(gates))
	for _, gate := range gates {
		names = append(names, gate.Name)
	}
	return Cause{Reason: ReasonSchedulingGated,
		Message: "the pod is not scheduled until the components that set its scheduling gates remove them: " + strings.Join(names, ", ")}
}

// scheduledAt returns when a pod was assigned to a node, or the zero time if it has no node yet.
func scheduledAt(pod *corev1.Pod) time.Time {
	if c := podCondition(pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionTrue {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

// UnresponsiveScheduler returns the name of the pod's scheduler if that scheduler has not handled the pod. A scheduler
// that has handled a pod has chosen a node or has written the condition PodScheduled.
//
// The result is "" if the scheduler has handled the pod. It is also "" for the default scheduler of Kubernetes, because
// a failure of that scheduler is visible in the whole cluster. The age of the pod does not matter here, because a
// scheduler that queues whole applications may need a long time.
func UnresponsiveScheduler(pod *corev1.Pod) string {
	if pod.Spec.SchedulerName == corev1.DefaultSchedulerName || pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil ||
		pod.Status.Phase != corev1.PodPending && pod.Status.Phase != "" || podCondition(pod, corev1.PodScheduled) != nil {
		return ""
	}
	return pod.Spec.SchedulerName
}

// UnresponsiveSchedulerCause returns the wait reason of a pod whose scheduler is unresponsive (UnresponsiveScheduler).
// The caller must first wait for as long as a running scheduler may need. The parameter `pod` is the pod's name.
func UnresponsiveSchedulerCause(pod, scheduler string) Cause {
	return Cause{Reason: ReasonSchedulerSilent, Message: fmt.Sprintf("scheduler %q has not handled pod %s yet; check that a scheduler of that name is installed and runs", scheduler, pod)}
}

// imagePull returns the wait reason of a container whose image cannot be pulled. The kubelet alternates between
// ErrImagePull and ImagePullBackOff with every try, and each change would cause a status write. imagePull therefore
// always returns the same reason and, as far as Kubernetes allows, the same message.
func imagePull(status *corev1.ContainerStatus, waiting *corev1.ContainerStateWaiting) Cause {
	message := waiting.Message
	if _, why, ok := strings.Cut(message, "ErrImagePull: "); ok {
		message = why
	}
	return Cause{Reason: "ImagePullBackOff", Message: sentence(fmt.Sprintf("image %q of container %s cannot be pulled", status.Image, status.Name), message)}
}

// sentence joins a statement and a detail from Kubernetes or the container. The detail may be empty.
func sentence(what, detail string) string {
	if detail = strings.TrimSpace(detail); detail == "" {
		return what
	}
	return what + ": " + detail
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
