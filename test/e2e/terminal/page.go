package terminal

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// marker returns the text that precedes a screen in a Markdown page: a comment with the screen's name, and the
// beginning of a code block. The code block contains the screen.
func marker(name string) string { return "<!-- screen: " + name + " -->\n\n```text\n" }

const end = "\n```\n"

// Shown returns the screen with the given name from the text of a Markdown page.
func Shown(page, name string) (string, error) {
	_, rest, found := strings.Cut(page, marker(name))

	screen, _, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("the page has no block of text behind the comment <!-- screen: %s -->", name)
	}
	return screen, nil
}

// WithScreen replaces the screen with the given name in the text of a Markdown page, and returns the new text.
func WithScreen(page, name, screen string) (string, error) {
	old, err := Shown(page, name)
	if err != nil {
		return "", err
	}
	return strings.Replace(page, marker(name)+old+end, marker(name)+screen+end, 1), nil
}

// Condense replaces consecutive lines that the expression does not match by one line with three dots. Tests use it for
// Spark's log, which differs in each run.
func Condense(screen string, keep *regexp.Regexp) string {
	var lines []string
	for line := range strings.SplitSeq(screen, "\n") {
		switch {
		case keep.MatchString(line):
			lines = append(lines, line)
		case len(lines) == 0 || lines[len(lines)-1] != "...":
			lines = append(lines, "...")
		}
	}
	return strings.Join(lines, "\n")
}

// These expressions match the parts of a screen that differ between runs.
var (
	states    = regexp.MustCompile(`(?ms)^SparkApplication \S+: .*?^(\^C|Pi |\.\.\.|\$)`)
	causes    = regexp.MustCompile(`(?ms)^(why|pod): .*?^(why|pod|do|next):`)
	events    = regexp.MustCompile(`(?m)^events.*:\n(  .*\n?)+`)
	logs      = regexp.MustCompile(`(?m)^log of the container.*:\n(  .*\n?)+`)
	answers   = regexp.MustCompile(`,\s+executor's\s+JVM\s+\S+(\s+first\s+task\s+\S+)?`)
	waits     = regexp.MustCompile(`,\s+waited\s+\S+\s+for\s+a\s+node`)
	condensed = regexp.MustCompile(`(?m)^\.\.\.$\n?`)
	generated = regexp.MustCompile(`[0-9a-f]{8,}`)
	numbers   = regexp.MustCompile(`[0-9]+`)
	stages    = regexp.MustCompile(`(?m)^stage .*\n`)
	peaks     = regexp.MustCompile(`,\s+at\s+most\s+[0-9]+\s+executors?\s+at\s+once`)
	durations = regexp.MustCompile(`\b0[smhd](0[smh])?\b`)
)

// Stable returns a form of a screen that is the same in every run of the same commands. It removes or replaces numbers,
// durations, generated names, events, peaks of executors, waits for a node, the ends of logs and what Condense omitted.
// It removes the states that a command printed while it waited, the active stages of Spark and the steps of the start
// for which sparkctl reads Spark's REST API, and replaces the kubelet's message about a problem. It then omits repeated
// lines. The result has one word per line, so the line breaks of the screen have no effect.
func Stable(screen string) string {
	screen = states.ReplaceAllString(screen, "$1")
	for causes.MatchString(screen) {
		screen = causes.ReplaceAllString(screen, "$1=CAUSE\n$2:")
	}

	screen = logs.ReplaceAllString(screen, "")
	screen = events.ReplaceAllString(screen, "") // a long log leaves no room for them
	screen = stages.ReplaceAllString(screen, "")
	screen = peaks.ReplaceAllString(screen, "")     // a short run ends before its executors get a node, or after it
	screen = waits.ReplaceAllString(screen, "")     // for other tests, which fill the node
	screen = answers.ReplaceAllString(screen, "")   // a busy driver answers later than sparkctl waits for it
	screen = condensed.ReplaceAllString(screen, "") // Spark may log an error at any time on a busy machine
	screen = generated.ReplaceAllString(screen, "ID")
	screen = numbers.ReplaceAllString(screen, "0")
	screen = durations.ReplaceAllString(screen, "DURATION")
	lines := slices.Compact(strings.Split(screen, "\n")) // the number of repeated lines depends on the speed of the run
	return strings.Join(strings.Fields(strings.Join(lines, "\n")), "\n")
}
