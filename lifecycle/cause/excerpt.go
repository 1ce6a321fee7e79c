package cause

import "strings"

// MaxExcerpt is the maximum length, in bytes, of the end of a container's log that a status keeps. The log itself
// contains the rest.
const MaxExcerpt = 1024

// headRead and tailRead are the numbers of bytes that Excerpt reads at the beginning and at the end of a long text.
// They bound the cost, because the text may come from an annotation of a pod, which may have a quarter of a megabyte.
const headRead, tailRead = 16 << 10, 4 << 10

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

// Excerpt returns a part of a container's last output, from the first error on. The caller cuts it to MaxExcerpt.
//
// Kubernetes provides the last lines of the log. The first exception in these lines explains more than the end of its
// stack trace. To leave room for the causes of the exception, Excerpt keeps only one frame of each stack trace. It also
// drops the lines that Spark logs while it stops. If the text contains no error, Excerpt returns the end of the text
// without frames, which may be "".
func Excerpt(output string) string {
	output = bounded(output)
	if telling := fromFirstError(output); telling != "" {
		return dropLines(telling, func(before, line string) bool {
			return isTraceFrame(line) && isTraceFrame(before) || isChatter(line)
		})
	}
	output = dropLines(output, func(_, line string) bool { return isTraceFrame(line) })
	if len(output) > MaxExcerpt {
		output = strings.ToValidUTF8(output[len(output)-MaxExcerpt:], "")
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

// bounded returns the parts of a container's last output that are read, as UTF-8.
func bounded(output string) string {
	if len(output) > headRead+tailRead {
		output = output[:headRead] + "\n...\n" + output[len(output)-tailRead:]
	}
	return strings.TrimSpace(strings.ToValidUTF8(output, "?"))
}
