package terminal

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A screen of a page is a block of text behind a comment with the screen's name.
func marker(name string) string { return "<!-- screen: " + name + " -->\n\n```text\n" }

const end = "\n```\n"

// Shown returns the screen with a name from the text of a page.
func Shown(page, name string) (string, error) {
	_, rest, found := strings.Cut(page, marker(name))
	screen, _, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("the page has no block of text behind the comment <!-- screen: %s -->", name)
	}
	return screen, nil
}

// WithScreen returns the text of a page with another screen in the place of the one with this name.
func WithScreen(page, name, screen string) (string, error) {
	old, err := Shown(page, name)
	if err != nil {
		return "", err
	}
	return strings.Replace(page, marker(name)+old+end, marker(name)+screen+end, 1), nil
}

// Condense replaces each run of lines that the expression does not match by a line with three points. The log of Spark
// differs in each run.
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

// The parts of a screen that differ between runs.
var (
	states    = regexp.MustCompile(`(?ms)^SparkApplication \S+: .*?^(\^C|Pi |\.\.\.|\$)`)
	causes    = regexp.MustCompile(`(?ms)^(why|pod): .*?^(why|pod|do|next):`)
	events    = regexp.MustCompile(`(?m)^events:\n(  .*\n?)+`)
	generated = regexp.MustCompile(`[0-9a-f]{12,}`)
	numbers   = regexp.MustCompile(`[0-9]+`)
	durations = regexp.MustCompile(`\b0[smhd](0[smh])?\b`)
)

// Stable returns the words of a screen without what differs between runs: numbers, durations, generated names, the
// states that a verb saw while it waited, the kubelet's words for a cause, Events, whose order is that of seconds, and
// the places at which lines are broken. Lines that are then equal to the line before are left out.
func Stable(screen string) string {
	screen = states.ReplaceAllString(screen, "$1")
	for causes.MatchString(screen) {
		screen = causes.ReplaceAllString(screen, "$1=CAUSE\n$2:")
	}
	screen = events.ReplaceAllString(screen, "events:\n")
	screen = generated.ReplaceAllString(screen, "ID")
	screen = numbers.ReplaceAllString(screen, "0")
	screen = durations.ReplaceAllString(screen, "DURATION")
	lines := slices.Compact(strings.Split(screen, "\n")) // the number of rounds depends on the time
	return strings.Join(strings.Fields(strings.Join(lines, "\n")), "\n")
}
