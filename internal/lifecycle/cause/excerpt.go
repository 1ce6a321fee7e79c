package cause

import "strings"

// MaxExcerpt is the maximum length, in bytes, of the end of a container's log that a status keeps. The log itself
// contains the rest.
const MaxExcerpt = 1024

// headRead and tailRead are the numbers of bytes that are read at the beginning and at the end of a long text. They
// bound the cost, because the text may come from an annotation of a pod, which may have a quarter of a megabyte.
const headRead, tailRead = 16 << 10, 4 << 10

// bounded returns the parts of a container's last output that are read, as UTF-8.
func bounded(output string) string {
	if len(output) > headRead+tailRead {
		output = output[:headRead] + "\n...\n" + output[len(output)-tailRead:]
	}
	return strings.TrimSpace(strings.ToValidUTF8(output, "?"))
}

// visible returns a line without its end, and without text that a carriage return overwrites in a terminal. Spark shows
// the progress of a stage in this way, if it does not log entries with the level INFO.
func visible(line string) string {
	line = strings.TrimRight(line, blanks)
	return line[strings.LastIndexByte(line, '\r')+1:]
}

// Excerpt returns the last MaxExcerpt bytes of a container's last output, in whole lines if possible. It leaves out
// frames of stack traces, and the lines that Spark logs below the level WARN, for example while it stops. It also
// leaves out a first line whose beginning the kubelet cut off, unless the line has an error.
func Excerpt(output string) string {
	var kept strings.Builder

	cut := isCut(output)
	for line := range linesOf(bounded(output)) {
		if line != "" && !isTraceFrame(line) && !isChatter(line) && (!cut || isEntry(line) || hasError(line)) {
			kept.WriteString(line + "\n")
		}

		cut = false
	}

	text := strings.TrimSpace(kept.String())
	if len(text) > MaxExcerpt {
		text = strings.ToValidUTF8(text[len(text)-MaxExcerpt:], "")
		if _, whole, found := strings.Cut(text, "\n"); found {
			text = whole
		}
	}
	return text
}
