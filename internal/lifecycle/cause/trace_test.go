package cause

import (
	"regexp"
	"testing"
)

// These regular expressions define which lines isTraceFrame and isChatter must recognize.
var (
	framePattern   = regexp.MustCompile(`^\s*at |\([\w$.]+\.(java|scala|kt):\d+\)\s*$|^\s*\.\.\. \d+ (more|common frames omitted)$`)
	chatterPattern = regexp.MustCompile(`^\d\d/\d\d/\d\d \d\d:\d\d:\d\d (INFO|DEBUG|TRACE) `)
)

func FuzzTraceLines(f *testing.F) {
	for _, seed := range []string{
		"\tat org.apache.spark.Main.run(Main.scala:42)", "in.run(Main.java:1) ", "(.java:1)", "(a.java:1:2)",
		"(a(b.kt:12)", "(a b.kt:1)", "(ä.kt:1)",
		"... 12 more", "  ... 3 common frames omitted", "...  more", "... 12 more ", "at", "at ",
		"26/01/31 00:00:00 INFO X: y", "26/01/31 00:00:00 WARN X",
		"26/01/31 00:00:00 INFO", "26-01-31 00:00:00 DEBUG x", "\v at x", "\u00a0at x", "(a.java:)", "(java:1)",
		"(a.scala:9)\r", ")", "(", "",
	} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, line string) {
		if got, want := isTraceFrame(line), framePattern.MatchString(line); got != want {
			t.Errorf("isTraceFrame(%q) = %t", line, got)
		}

		if got, want := isChatter(line), chatterPattern.MatchString(line); got != want {
			t.Errorf("isChatter(%q) = %t", line, got)
		}
	})
}

// TestFramesAreLinesOfAJVM checks which lines belong to the stack trace of a JVM. A line about a file of another
// language does not, because it may contain the only error of a Python program.
func TestFramesAreLinesOfAJVM(t *testing.T) {
	for line, want := range map[string]bool{
		"\tat org.apache.spark.Main.run(Main.scala:42)": true, "at a": true, "run(Main.java:1)": true,
		"x (Main.kt:12) ": true, "\t... 12 more": true,
		"... 3 common frames omitted": true, "... more": false, "... 12 more frames": false, "12 more": false,
		"": false, "at": false, "attack": false,
		"ValueError (main.py:3)": false, "Error (Main.groovy:3)": false, "Error (Main.java)": false,
		"Error (Main.java:x)": false, "Error (.java:3)": false,
		"Error (a b.java:3)": false, "Main.java:3)": false, "(Main.java:3": false, "(Main.java:3) is wrong": false,
	} {
		if got := isTraceFrame(line); got != want {
			t.Errorf("isTraceFrame(%q) = %t", line, got)
		}
	}
}
