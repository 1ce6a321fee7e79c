package lifecycle

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// maxExcerpt is the maximum length, in bytes, of the excerpt of a container's last output in a failure message. The pod
// itself contains the rest.
const maxExcerpt = 1024

// headRead and tailRead are the numbers of bytes that excerpt reads at the beginning and at the end of a long text.
// They bound the cost, because the text may come from an annotation of a pod, which may have a quarter of a megabyte.
const headRead, tailRead = 16 << 10, 4 << 10

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
func failure(pod *corev1.Pod, end *corev1.ContainerStateTerminated, role string, taken Cause) Cause {
	if end == nil {
		return notStarted(pod, role, taken)
	}
	reason, how := exitReason(role+" container", end, sparkExit(end.ExitCode, role))
	switch {
	case taken.Reason != "":
		return Cause{taken.Reason, sentence(sentence(how, "the pod was taken from its node"), taken.Message)}
	case pod.Status.Reason == ReasonDeadlineExceeded:
		return Cause{ReasonDeadlineExceeded, sentence(sentence(how, "the pod's own activeDeadlineSeconds passed"), pod.Status.Message)}
	case isDriverRole(role) && pod.DeletionTimestamp != nil && stopSignal(end):
		return Cause{ReasonDriverDeleted, sentence(how, "the "+role+" pod was deleted before it ended")}
	}
	// The exception in the driver pod's annotation is the most precise source, because the last lines of the log may
	// contain only the end of its stack trace. For a Python or R program, the exception adds nothing to the exit code.
	// The program's own output is in the log, unless the log is cut.
	output := excerpt(firstOf(end.Message, pod.Status.Message))
	if left := excerpt(pod.Annotations[ExitExceptionAnnotation]); left != "" && (output == "" || !strings.HasPrefix(left, userAppException)) {
		output = left
	}
	if isDriverRole(role) && strings.Contains(output, "TimeoutException") && strings.Contains(output, "AsyncUtils") {
		how += "; the " + role + " " + apiServerTimeout
	}
	return Cause{reason, sentence(how, output)}
}

// apiServerTimeout is the text that explains a timeout of the Kubernetes client in the driver. The exception itself (a
// java.util.concurrent.TimeoutException from io.fabric8.kubernetes.client.utils.AsyncUtils.withTimeout) has no message.
const apiServerTimeout = "got no answer from the API server in time (10 s by default); check NetworkPolicies, " +
	"DNS and the load of the API server, or raise spark.kubernetes.driver.requestTimeout and " +
	"spark.kubernetes.driver.connectionTimeout (milliseconds)"

// notStarted returns why a pod failed before its Spark container ran. If the whole pod has a reason for its failure,
// the result has that reason. Otherwise it has the reason of the first init container that failed.
func notStarted(pod *corev1.Pod, role string, taken Cause) Cause {
	if taken.Reason == "" && pod.Status.Reason == "" {
		for i := range pod.Status.InitContainerStatuses {
			status := &pod.Status.InitContainerStatuses[i]
			if end := ended(status); end != nil && end.ExitCode != 0 {
				reason, how := exitReason(fmt.Sprintf("init container %s of the %s pod", status.Name, role), end, "")
				return Cause{reason, sentence(how, excerpt(end.Message))}
			}
		}
	}
	return Cause{firstOf(taken.Reason, pod.Status.Reason, "PodFailed"),
		sentence(role+" pod failed; the status of its container is missing", firstOf(taken.Message, pod.Status.Message))}
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
	11:  "more executors failed than spark.executor.maxNumFailures",
	101: "class not found",
	124: "the driver ran longer than spark.driver.timeout",
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

// fromFirstError returns the text from its first line that contains an error, or "" if there is no such line. Frames of
// a stack trace are ignored, even if the names of their classes contain "Exception" or "Error".
func fromFirstError(output string) string {
	for rest := output; rest != ""; {
		line, after, _ := strings.Cut(rest, "\n")
		if (strings.Contains(line, "Exception") || strings.Contains(line, "Error")) && !isTraceFrame(line) {
			return rest
		}
		rest = after
	}
	return ""
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

// excerpt returns at most maxExcerpt bytes of a container's last output, from the first error on.
//
// Kubernetes provides the last lines of the log. The first exception in these lines explains more than the end of its
// stack trace. To leave room for the causes of the exception, excerpt keeps only one frame of each stack trace. It also
// drops the lines that Spark logs while it stops. If the text contains no error, excerpt returns the end of the text
// without frames, which may be "".
func excerpt(output string) string {
	if len(output) > headRead+tailRead {
		output = output[:headRead] + "\n...\n" + output[len(output)-tailRead:]
	}
	output = strings.TrimSpace(strings.ToValidUTF8(output, "?"))
	if telling := fromFirstError(output); telling != "" {
		return Cut(dropLines(telling, func(before, line string) bool {
			return isTraceFrame(line) && isTraceFrame(before) || isChatter(line)
		}), maxExcerpt)
	}
	output = dropLines(output, func(_, line string) bool { return isTraceFrame(line) })
	if len(output) > maxExcerpt {
		output = strings.ToValidUTF8(output[len(output)-maxExcerpt:], "")
		if _, whole, ok := strings.Cut(output, "\n"); ok {
			output = whole
		}
	}
	return output
}

// dropLines returns the text without some lines. It calls the given function for each line, with the preceding line and
// the line itself, and removes the line if the result is true.
func dropLines(text string, drop func(before, line string) bool) string {
	var kept strings.Builder
	before := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !drop(before, line) {
			kept.WriteString(line + "\n")
		}
		before = line
	}
	return strings.TrimSpace(kept.String())
}
