package lifecycle

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/cause"
)

// These are the roles of pods in messages.
const (
	roleDriver   = "driver"
	roleServer   = "server" // a server is a driver too
	roleExecutor = "executor"
)

// isDriverRole reports whether a pod with the given role runs Spark's driver.
func isDriverRole(role string) bool { return role == roleDriver || role == roleServer }

// failure returns why a pod failed. If Kubernetes ended the whole pod, for example by an eviction, the result is that
// reason, because it explains the end of the container.
func failure(pod *corev1.Pod, status *corev1.ContainerStatus, role string, taken Cause) Cause {
	end := ended(status)
	if end == nil {
		return notStarted(pod, role, taken)
	}

	reason, how := exitReason(role+" container", end, sparkExit(end.ExitCode, role))
	switch {
	case taken.Reason != "":
		return ending(taken.Reason, sentence(sentence(how, "the pod was taken from its node"), taken.Message))
	case pod.Status.Reason == ReasonDeadlineExceeded:
		return ending(ReasonDeadlineExceeded, sentence(sentence(how, "the pod's own activeDeadlineSeconds passed"), pod.Status.Message))
	case isDriverRole(role) && pod.DeletionTimestamp != nil && stopSignal(end):
		return ending(ReasonDriverDeleted, sentence(how, "the "+role+" pod was deleted before it ended"))
	}

	output := lastOutput(pod, end)
	// This exception of the Kubernetes client in the driver has no message. It comes from
	// io.fabric8.kubernetes.client.utils.AsyncUtils.withTimeout.
	if isDriverRole(role) && strings.Contains(output, "TimeoutException") && strings.Contains(output, "AsyncUtils") {
		how += "; the " + role + " got no answer from the API server in time (10 s by default)"
	}

	if reason == ReasonOOMKilled && status.Resources != nil && !status.Resources.Limits.Memory().IsZero() {
		return outOfMemory(how, output, role, status.Resources.Limits)
	}
	return explained(reason, how, output, role)
}

// lastOutput returns the last output of a container.
//
// The exception in the driver pod's annotation is the most precise source, because the last lines of the log may
// contain only the end of its stack trace. For a Python or R program, the exception adds nothing to the exit code. The
// program's own output is in the log, unless the log is cut.
func lastOutput(pod *corev1.Pod, end *corev1.ContainerStateTerminated) string {
	output := firstOf(end.Message, pod.Status.Message)
	if left := pod.Annotations[ExitExceptionAnnotation]; left != "" && (cause.Excerpt(output) == "" || !strings.HasPrefix(left, userAppException)) {
		return left
	}
	return output
}

// outOfMemory returns the cause of a container that was killed at its memory limit. It advises half as much again.
func outOfMemory(how, output, role string, limits corev1.ResourceList) Cause {
	limit := limits.Memory()

	c := explained(ReasonOOMKilled, how+" at "+limit.String(), output, role)
	if more := limit.Value() / 2 >> 20; more > 0 {
		raised := limit.DeepCopy()
		raised.Set(limit.Value() + more<<20)
		c.Advice += fmt.Sprintf("; try %dm more, for a limit of %s instead of %s", more, raised.String(), limit.String())
	}
	return c
}

// explained returns the cause of a container's end that its last output explains.
func explained(reason, how, output, role string) Cause {
	found := cause.Of(how, output)
	if reason == "Error" {
		reason = firstOf(found.Reason, reason)
	}

	c := ending(reason, sentence(how, found.Line))
	if log := cause.Excerpt(output); !strings.HasSuffix(c.Message, log) {
		c.Log = log
	}

	c.Advice = firstOf(found.Advice, c.Advice)
	switch {
	case isDriverRole(role):
		c.Advice = strings.ReplaceAll(c.Advice, "ROLE", roleDriver)
	case role == roleExecutor:
		c.Advice = strings.ReplaceAll(c.Advice, "ROLE", roleExecutor)
	case strings.Contains(c.Advice, "ROLE"): // Spark has no such setting for other pods
		c.Advice = "raise the memory limit of the " + role + " pod"
	}
	return c
}

// IsVague reports whether the whole log may show more about an end than the cause.
func (c Cause) IsVague() bool { return c.Advice == cause.Unknown || c.Advice == cause.Unread }

// Searched returns the cause of a driver's end that its whole log shows, or a vague cause unchanged.
func (c Cause) Searched(log string) Cause {
	found := cause.Search("", log)
	how, line, _ := strings.Cut(c.Message, ": ")

	known := c.Advice == cause.Unknown && line != "" // only a rule says more
	if found.Line == "" || found.Advice == cause.Unread || known && found.Reason == "" {
		return c
	}

	better := ending(firstOf(found.Reason, c.Reason), how+": "+found.Line)
	better.Advice, better.Log = strings.ReplaceAll(found.Advice, "ROLE", roleDriver), c.Log
	return better
}

// maxLine is the maximum length of a cause's message about an end, in bytes, without the CutMark of a cut message.
const maxLine = 200 - len(CutMark)

// ending returns the cause of an end with a text in one line. A text that was cut is also the cause's log.
func ending(reason, text string) Cause {
	line := bounds.Line(text)

	c := Cause{Reason: reason, Message: Cut(line, maxLine), Advice: cause.Advice(reason, line)}
	if len(line) > maxLine {
		c.Log = Cut(text, cause.MaxExcerpt)
	}
	return c
}

// notStarted returns why a pod failed before its Spark container ran. If the whole pod has a reason for its failure,
// the result has that reason. Otherwise it has the reason of the first init container that failed.
func notStarted(pod *corev1.Pod, role string, taken Cause) Cause {
	if taken.Reason == "" && pod.Status.Reason == "" {
		for i := range pod.Status.InitContainerStatuses {
			status := &pod.Status.InitContainerStatuses[i]
			if end := ended(status); end != nil && end.ExitCode != 0 {
				reason, how := exitReason(fmt.Sprintf("init container %s of the %s pod", status.Name, role), end, "")
				return explained(reason, how, end.Message, role)
			}
		}
	}
	return ending(firstOf(taken.Reason, pod.Status.Reason, "PodFailed"),
		sentence(role+" pod failed; the status of its container is missing", firstOf(taken.Message, pod.Status.Message)))
}

// exitReason returns the reason for the end of a container, and a text that describes the end. The parameter `known` is
// Spark's name of the exit code, or "" if Spark does not define the code.
func exitReason(what string, end *corev1.ContainerStateTerminated, known string) (reason, how string) {
	how = fmt.Sprintf("%s failed with exit code %d", what, end.ExitCode)
	if name := firstOf(signalName(end), known); name != "" {
		how += " (" + name + ")"
	}

	reason = firstOf(end.Reason, "Error")
	if reason != "Error" {
		how += ", " + reason
	}
	return reason, how
}

// exitExecutorsFailed is the exit code of a driver that too many executors ended (ExecutorFailureTracker).
const exitExecutorsFailed = 11

// ExecutorsFailed returns why a driver failed. This is the given cause, unless the driver ended because too many
// executors failed. The result then has the last executor's cause, because the driver's log has only their number.
func ExecutorsFailed(d *Driver, why, last Cause) Cause {
	if !d.HasExit || d.ExitCode != exitExecutorsFailed || last.Message == "" {
		return why
	}

	c := ending("ExecutorsFailed", fmt.Sprintf("the driver ended with exit code %d: too many executors failed, last: %s", exitExecutorsFailed, last.Message))
	c.Log, c.Advice = why.Log, firstOf(last.Advice, c.Advice)
	return c
}

// sparkExits maps exit codes with which Spark itself ends a JVM to their names (org.apache.spark.util.SparkExitCode and
// org.apache.spark.executor.ExecutorExitCode, 3.5 to 4.3). It leaves out codes below 10, because any program may use
// them.
var sparkExits = map[int32]string{
	50:  "uncaught exception",
	51:  "uncaught exception, and a second exception while the first was logged",
	52:  "java.lang.OutOfMemoryError",
	53:  "no local directory could be created, see spark.local.dir",
	54:  "the external block store did not start",
	55:  "no local directory could be created for the external block store",
	56:  "the driver could not be reached by heartbeats",
	57:  "killed by the task reaper: a task could not be cancelled",
	58:  "the block manager could not register again",
	127: "command not found",
}

// driverExits maps the exit codes that only a driver uses to their names.
var driverExits = map[int32]string{
	exitExecutorsFailed: "more executors failed than spark.executor.maxNumFailures",
	101:                 "class not found",
	124:                 "the driver ran longer than spark.driver.timeout",
}

// sparkExit returns the name of an exit code that Spark uses, or "" for other codes. A user's program may use the same
// codes. Therefore messages show both the code and the name, and the name is never the reason of a Cause.
func sparkExit(code int32, role string) string {
	if !isDriverRole(role) && role != roleExecutor {
		return ""
	}

	if name := driverExits[code]; isDriverRole(role) && name != "" {
		return name
	}
	return sparkExits[code]
}

// signalName returns the name of the signal that ended a container, or "" if no signal did. A container runtime reports
// either the signal itself or, like a shell, 128 plus the number of the signal as the exit code.
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
