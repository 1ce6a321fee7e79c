// Package cause derives why a container ended from the end of its log: in one line that quotes the program, with a
// reason for programs and a way out for people. The rules are a table (Rules). Most of them look for texts that
// Python, a JVM, Spark, Hadoop or Kubernetes write.
package cause

import (
	"slices"
	"strings"
)

// Found is the cause that a rule or the last exception in a log gives.
type Found struct {
	Reason string // of the rule; empty if no rule knows the error
	Line   string // a line of the log, or the rule's own words; empty if the log shows no error
	Advice string // what to do
}

// Unknown is the advice if no rule knows the error.
const Unknown = "the whole log shows more: sparkctl log NAME"

// Unread is the advice if the end of the log has only frames of a stack trace, and not the exception.
const Unread = "the exception is further up in the log: sparkctl log NAME"

// Of returns the cause of a container's end. The argument how describes the end in words, with the exit code and its
// meaning. The argument log is the end of the container's log.
//
// A rule that comes earlier in the table has priority, wherever its text is, because wrappers and innermost exceptions
// often say less than the line between them. The exception that ends a Python program has priority over earlier lines.
// Without a rule, the innermost exception with a message is the cause. Without an exception, the frames of its stack
// trace show at least what failed (Places).
//
// Of reads only the beginning and the end of a long log.
func Of(how, log string) Found { return Search(how, bounded(log)) }

// Search is Of for a whole log.
func Search(how, log string) Found {
	lines, python, worker := candidates(log)
	for _, known := range thrown {
		if at := strings.LastIndex(log, known.exception); at >= 0 && strings.Contains(log[max(0, at-nearby):], known.frame) {
			lines = append(lines, known.line)
		}
	}

	if first := &Rules[0]; first.isAbout(how) {
		return Found{first.Reason, first.Line, first.Advice}
	}

	if python >= 0 && !isWrapper(lines[python]) {
		lines = lines[python : python+1]
	}

	for _, group := range [][]string{lines, {how}} {
		all := strings.Join(group, "\n")
		for i := range Rules {
			rule := &Rules[i]

			line := match(group, all, rule)
			switch {
			case line == "":
				continue
			case rule.Line != "":
				line = rule.Line
			case line == how:
				line = innermost(lines)
			}
			return Found{rule.Reason, line, withAccount(rule.Advice, line)}
		}
	}
	return unruled(lines, log, python >= 0, worker)
}

// unruled returns the cause that no rule recognizes. The argument python reports whether an exception ended a Python
// program, and worker is the last exception of a Python function in a task.
func unruled(lines []string, log string, python bool, worker string) Found {
	line := innermost(lines)
	switch {
	case python, line != "" && line == worker:
		return Found{pythonReason, line, Advice(pythonReason, line)}
	case line != "" && !isWrapper(line):
		return Found{Line: line, Advice: Unknown}
	}

	if place := placeOf(log); place.Line != "" {
		return place
	}
	return Found{Line: line, Advice: Unknown}
}

// nearby is the number of bytes before an exception in which a frame of its stack trace may be.
const nearby = 2048

// thrown are lines for exceptions that say what failed only by their stack trace, of which the kept log has the end.
var thrown = []struct{ exception, frame, line string }{
	{"EOFException", "PythonRunner", "Python worker exited unexpectedly"},
	{"java.net.ConnectException", "io.fabric8.kubernetes", "the API server cannot be reached: java.net.ConnectException: Connection refused"},
}

// match returns the last line that contains the first of the rule's texts that any line contains, or "". The argument
// all has all lines, so that most rules take one search.
func match(lines []string, all string, rule *Rule) string {
	if !rule.isAbout(all) {
		return ""
	}

	for _, text := range rule.Has {
		for _, line := range slices.Backward(lines) {
			if strings.Contains(line, text) {
				return line
			}
		}
	}
	return ""
}

// candidates returns the lines of a log that may contain a cause, without their prefixes. It leaves out frames of stack
// traces, lines that Spark logs below the level WARN, and what a JVM and the image's entry point print at their start.
// The result python is the index of the exception that ends a Python program, or -1. The result worker is the last
// exception of a Python function that is part of an exception of the JVM.
func candidates(log string) (lines []string, python int, worker string) {
	python = -1
	frame := false // the last line belongs to a Python traceback

	cut := isCut(log)
	for line := range linesOf(log) {
		switch {
		case isNoise(line), cut && !hasError(line):
		case isTraceFrame(line):
			if python >= 0 { // the traceback is part of a Java exception
				worker = lines[python]
			}

			frame, python = false, -1
		case strings.HasPrefix(line, "\t"): // Suppressed: ...
		case strings.HasPrefix(line, " "), strings.HasPrefix(line, traceback):
			frame = true
		case len(lines) > 0 && strings.HasSuffix(lines[len(lines)-1], ":") && !isWrapper(lines[len(lines)-1]):
			lines[len(lines)-1] += " " + line
		default:
			if lines = append(lines, essence(line)); frame {
				frame, python = false, len(lines)-1
			}
		}

		cut = false
	}
	return lines, python, worker
}

// isCut reports whether a kubelet cut the beginning of a log's first line off.
func isCut(log string) bool { return len(log) >= keptLog && strings.Contains(log, "\n") }

func hasError(line string) bool {
	return strings.Contains(line, "xception") || strings.Contains(line, "rror")
}

// keptLog is a little less than the 2048 bytes of a log that a kubelet keeps.
const keptLog = 1900

const traceback = "Traceback (most recent call last)"

// isNoise reports whether a line never says why a program ended.
func isNoise(line string) bool {
	if isEntry(line) {
		warns := strings.HasPrefix(line[len(layout):], "WARN ") && !strings.Contains(line, "xception") && !strings.Contains(line, "does not exist")
		return isChatter(line) || warns
	}
	return line == "" || slices.ContainsFunc(noise, func(prefix string) bool { return strings.HasPrefix(line, prefix) })
}

// noise are beginnings of lines that a JVM or a script prints although nothing is wrong, or between two exceptions.
var noise = []string{
	"Picked up ", "+ ", "++ ", "WARNING: ", "log4j:", "SLF4J:", "Setting default log level", "To adjust logging level", "Using Spark's default log4j",
	"OpenJDK 64-Bit Server VM warning: ", "Java HotSpot(TM) 64-Bit Server VM warning: ", "[Stage ",
	"Error occurred during initialization of VM", "Driver stacktrace:", "During handling of the above exception", "The above exception was the direct cause", "...",
	"=== Streaming Query ===", "Identifier: ", "Current Committed Offsets:", "Current Available Offsets:", "Current State: ", "Thread State: ",
	"Logical Plan:", "+- ", ":- ", "~", "WriteToMicroBatchDataSource",
}

// wrappers are texts of exceptions that only report that something else failed.
var wrappers = []string{
	"Job aborted", "An error occurred while calling", "SparkUserAppException", "InvocationTargetException", "UndeclaredThrowableException",
	"Exception thrown in awaitResult", traceback, "An exception was thrown from the Python worker", "ExecutionException: ", "aborted due to stage failure",
}

func isWrapper(line string) bool {
	return slices.ContainsFunc(wrappers, func(text string) bool { return strings.Contains(line, text) })
}

// innermost returns the last exception with a message that is not a wrapper. Without one, it returns the last
// exception, or the last line of all.
func innermost(lines []string) string {
	var second, third string
	for _, line := range slices.Backward(lines) {
		name, message, _ := strings.Cut(line, ": ")
		switch kind := strings.HasSuffix(name, "Exception") || strings.HasSuffix(name, "Error"); {
		case kind && message != "" && !isWrapper(line):
			return line
		case second == "" && (kind || strings.Contains(line, "rror")):
			second = line
		case third == "":
			third = line
		}
	}

	if second != "" {
		return second
	}
	return third
}

// essence returns the part of a line that says what failed. It cuts off the time, level and logger of a log entry, the
// words with which a JVM introduces an exception, and the task or the streaming query that failed.
func essence(line string) string {
	if isEntry(line) {
		if _, message, found := strings.Cut(line[len(layout):], ": "); found {
			line = message
		}
	}

	if _, task, found := strings.Cut(line, ": Lost task "); found {
		if _, message, found := strings.Cut(task, "): "); found {
			line = message
		}
	}

	if _, message, found := strings.Cut(line, "] terminated with exception: "); found {
		line = message
	}

	line = strings.TrimPrefix(strings.TrimPrefix(line, "Caused by: "), ": ")
	if thread, found := strings.CutPrefix(line, `Exception in thread "`); found {
		if _, exception, found := strings.Cut(thread, `" `); found {
			line = exception
		}
	}
	return strings.TrimPrefix(line, "pyspark.errors.exceptions.captured.")
}
