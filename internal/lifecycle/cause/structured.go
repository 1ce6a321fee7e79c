package cause

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"
)

// structured is an entry of Spark's log in JSON, which spark.log.structuredLogging.enabled switches on
// (org/apache/spark/SparkLayout.json in Spark's jar).
type structured struct {
	Time      string `json:"ts"`
	Level     string `json:"level"`
	Message   string `json:"msg"`
	Logger    string `json:"logger"`
	Exception struct {
		Class   string          `json:"class"`
		Message string          `json:"msg"`
		Trace   json.RawMessage `json:"stacktrace"`
	} `json:"exception"`
}

// linesOf returns the visible lines of a log. An entry in JSON becomes the lines of the same entry in the default
// layout, so that the rest of this package reads only one layout.
func linesOf(log string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(log) {
			for part := range strings.SplitSeq(inDefaultLayout(visible(line)), "\n") {
				if !yield(visible(part)) {
					return
				}
			}
		}
	}
}

// inDefaultLayout returns an entry in JSON as text in the default layout, and any other line unchanged.
func inDefaultLayout(line string) string {
	if !strings.HasPrefix(line, `{"ts":"`) {
		return line
	}

	var entry structured
	if json.Unmarshal([]byte(line), &entry) != nil || entry.Level == "" {
		return line
	}

	text := fmt.Sprintf("%s %s %s: %s", shortTime(entry.Time), entry.Level, entry.Logger[strings.LastIndexByte(entry.Logger, '.')+1:], entry.Message)
	if thrown := entry.Exception; thrown.Class != "" {
		text += "\n" + thrown.Class
		if thrown.Message != "" {
			text += ": " + thrown.Message
		}

		text += frames(thrown.Trace)
	}
	return text
}

// shortTime returns a time such as 2026-01-31T23:59:00.000Z as the default layout has it. A time in another form
// becomes zero, because nobody reads it here.
func shortTime(at string) string {
	if len(at) < len("2026-01-31T23:59:00") || !isEntry(at[2:4]+"/"+at[5:7]+"/"+at[8:10]+" "+at[11:19]+" ") {
		return strings.TrimSpace(layout)
	}
	return at[2:4] + "/" + at[5:7] + "/" + at[8:10] + " " + at[11:19]
}

// frames returns the frames of a stack trace as a JVM prints them. A trace is a list of frames, or a text with the
// exception in its first line.
func frames(trace json.RawMessage) string {
	var text string
	if json.Unmarshal(trace, &text) == nil {
		_, rest, _ := strings.Cut(strings.TrimRight(text, blanks), "\n")
		return strings.TrimRight("\n"+rest, blanks)
	}

	var list []struct {
		Class, Method, File string
		Line                int
	}
	if json.Unmarshal(trace, &list) != nil {
		return ""
	}

	var all strings.Builder
	for _, f := range list {
		fmt.Fprintf(&all, "\n\tat %s.%s(%s:%d)", f.Class, f.Method, f.File, f.Line)
	}
	return all.String()
}
