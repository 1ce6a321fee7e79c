package lifecycle

import (
	"fmt"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
)

// maxExcerpt bounds, in bytes, what a failure's message quotes of a container's last words. The whole of it is in the pod.
const maxExcerpt = 1024

// headRead and tailRead are how much of a longer text is read for an excerpt, in bytes: its beginning and its end. A pod that
// was read live may have a quarter of a megabyte in an annotation.
const headRead, tailRead = 16 << 10, 4 << 10

// What messages call a driver and an executor.
const (
	roleDriver   = "driver"
	roleServer   = "server" // a driver, too
	roleExecutor = "executor"
)

// drives reports whether a pod of a role is what Spark's driver runs in.
func drives(role string) bool { return role == roleDriver || role == roleServer }

// failure tells how a pod failed. What befell the pod as a whole explains how its container ended, and comes first.
func failure(pod *corev1.Pod, end *corev1.ContainerStateTerminated, role string, taken Cause) Cause {
	if end == nil {
		return unstarted(pod, role, taken)
	}
	reason, how := exit(role+" container", end, sparkExit(end.ExitCode, role))
	switch {
	case taken.Reason != "":
		return Cause{taken.Reason, sentence(sentence(how, "the pod was taken from its node"), taken.Message)}
	case pod.Status.Reason == ReasonDeadlineExceeded:
		return Cause{ReasonDeadlineExceeded, sentence(sentence(how, "the pod's own activeDeadlineSeconds passed"), pod.Status.Message)}
	case drives(role) && pod.DeletionTimestamp != nil && stopSignal(end):
		return Cause{ReasonDriverDeleted, sentence(how, "the "+role+" pod was deleted before it ended")}
	}
	// The exception that the driver left on its pod tells most, since the log's last lines may be the end of its stack trace only. Of a
	// Python or R program it tells no more than the exit code, and what the program said itself is in the log, unless that is cut away.
	said := excerpt(firstOf(end.Message, pod.Status.Message))
	if left := excerpt(pod.Annotations[exitExceptionAnnotation]); left != "" && (said == "" || !strings.HasPrefix(left, userAppException)) {
		said = left
	}
	if drives(role) && strings.Contains(said, "TimeoutException") && strings.Contains(said, "AsyncUtils") {
		how += "; " + apiServerTimeout
	}
	return Cause{reason, sentence(how, said)}
}

// apiServerTimeout explains a time-out of the Kubernetes client in the driver. Its exception has no message: it is a
// java.util.concurrent.TimeoutException from io.fabric8.kubernetes.client.utils.AsyncUtils.withTimeout.
const apiServerTimeout = "the driver got no answer from the API server in time (10 s by default); check NetworkPolicies, " +
	"DNS and the load of the API server, or raise spark.kubernetes.driver.requestTimeout and " +
	"spark.kubernetes.driver.connectionTimeout (milliseconds)"

// unstarted tells how a pod failed whose Spark container never ran: by what was done to the pod, else by the first of its init containers that
// failed.
func unstarted(pod *corev1.Pod, role string, taken Cause) Cause {
	if taken.Reason == "" && pod.Status.Reason == "" {
		for i := range pod.Status.InitContainerStatuses {
			status := &pod.Status.InitContainerStatuses[i]
			if end := ended(status); end != nil && end.ExitCode != 0 {
				reason, how := exit(fmt.Sprintf("init container %s of the %s pod", status.Name, role), end, "")
				return Cause{reason, sentence(how, excerpt(end.Message))}
			}
		}
	}
	return Cause{firstOf(taken.Reason, pod.Status.Reason, "PodFailed"),
		sentence(role+" pod failed; the status of its container is missing", firstOf(taken.Message, pod.Status.Message))}
}

// exit tells how a container ended, and by which reason. Known is a name of its exit code, where it has one that is no signal's.
func exit(what string, end *corev1.ContainerStateTerminated, known string) (reason, how string) {
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

// sparkExits are the codes by which Spark itself ends a JVM (org.apache.spark.util.SparkExitCode and org.apache.spark.executor.ExecutorExitCode,
// 3.5 to 4.3). Those below 10 are left out: they are anybody's.
var sparkExits = map[int32]string{
	50:  "uncaught exception",
	51:  "uncaught exception, and another one while it was logged",
	52:  "java.lang.OutOfMemoryError",
	53:  "no local directory could be made, see spark.local.dir",
	54:  "the external block store did not start",
	55:  "no local directory could be made for the external block store",
	56:  "the driver could not be reached by heartbeats",
	57:  "killed by the task reaper: a task could not be cancelled",
	58:  "the block manager could not register again",
	127: "command not found",
}

// driverExits are those that only a driver ends by.
var driverExits = map[int32]string{
	11:  "more executors failed than spark.executor.maxNumFailures",
	101: "class not found",
	124: "it ran longer than spark.driver.timeout",
}

// sparkExit names an exit code that Spark uses; "" for others. A program of the user's may use the same, so a name stands beside its code and
// is no reason.
func sparkExit(code int32, role string) string {
	if !drives(role) && role != roleExecutor {
		return ""
	}
	if name := driverExits[code]; drives(role) && name != "" {
		return name
	}
	return sparkExits[code]
}

// fromTrouble returns a text from the first line on that tells of an error, or "". The frames of a stack trace do not, whatever the names
// of their classes.
func fromTrouble(said string) string {
	for rest := said; rest != ""; {
		line, after, _ := strings.Cut(rest, "\n")
		if (strings.Contains(line, "Exception") || strings.Contains(line, "Error")) && !isTraceFrame(line) {
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

// excerpt cuts what a container said last to maxExcerpt bytes, from where it begins to tell of an error: Kubernetes hands over the last
// lines of the log, and the first exception among them says more than the end of its stack trace. Of each stack trace one frame is kept, so that
// there is room for what caused it, and of what Spark logs while it stops nothing. Where nothing tells of an error it is the end, without frames:
// "" where there is nothing else.
func excerpt(said string) string {
	if len(said) > headRead+tailRead {
		said = said[:headRead] + "\n...\n" + said[len(said)-tailRead:]
	}
	said = strings.TrimSpace(strings.ToValidUTF8(said, "?"))
	if telling := fromTrouble(said); telling != "" {
		return cut(without(telling, func(before, line string) bool {
			return isTraceFrame(line) && isTraceFrame(before) || isChatter(line)
		}))
	}
	said = without(said, func(_, line string) bool { return isTraceFrame(line) })
	if len(said) > maxExcerpt {
		said = strings.ToValidUTF8(said[len(said)-maxExcerpt:], "")
		if _, whole, ok := strings.Cut(said, "\n"); ok {
			said = whole
		}
	}
	return said
}

// without is a text without some of its lines; drop is told the line before as well.
func without(text string, drop func(before, line string) bool) string {
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
