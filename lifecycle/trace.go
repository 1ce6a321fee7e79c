package lifecycle

import "strings"

// A tenant chooses what a container says last, and every event of its pod is read for the whole cluster by one goroutine. A
// regular expression takes 9 ms for the 18 KiB that the cache keeps. These functions take a hundredth of that.

// blanks are what a regular expression calls a space.
const blanks = " \t\n\f\r"

// isTraceFrame reports whether a line belongs to a JVM's stack trace: a frame, the end of a frame (a log that was cut may
// begin in the middle of a line), or the line that stands for frames that were left out.
func isTraceFrame(line string) bool {
	begun := strings.TrimLeft(line, blanks)
	if strings.HasPrefix(begun, "at ") || endsInSource(line) {
		return true
	}
	count, found := strings.CutPrefix(begun, "... ")
	what := strings.TrimLeft(count, "0123456789")
	return found && len(what) < len(count) && (what == " more" || what == " common frames omitted")
}

// endsInSource reports whether a line ends as a frame does: (Main.scala:42).
func endsInSource(line string) bool {
	place, found := strings.CutSuffix(strings.TrimRight(line, blanks), ")")
	open := strings.LastIndexByte(place, '(')
	if !found || open < 0 {
		return false
	}
	file, number, found := strings.Cut(place[open+1:], ":")
	if !found || number == "" || strings.Trim(number, "0123456789") != "" {
		return false
	}
	dot := strings.LastIndexByte(file, '.')
	if dot < 1 || strings.Trim(file, fileLetters) != "" {
		return false
	}
	switch file[dot+1:] {
	case "java", "scala", "kt":
		return true
	}
	return false
}

// fileLetters are what the name of a source file is made of.
const fileLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$."

// isChatter reports whether a line of Spark's log, in its default layout, tells of no trouble.
func isChatter(line string) bool {
	const layout = "00/00/00 00:00:00 "
	if len(line) < len(layout) {
		return false
	}
	for i, want := range []byte(layout) {
		if is := line[i]; want == '0' && (is < '0' || is > '9') || want != '0' && is != want {
			return false
		}
	}
	level, _, found := strings.Cut(line[len(layout):], " ")
	return found && (level == "INFO" || level == "DEBUG" || level == "TRACE")
}
