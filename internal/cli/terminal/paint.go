package terminal

import (
	"fmt"
	"os"
	"strings"
)

// colours reports whether the output goes to a terminal that can show colours. If the environment variable NO_COLOR has
// a value, it does not (no-color.org).
func (s Streams) colours() bool {
	return s.Width > 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

const (
	red    Control = "\x1b[31m"
	green  Control = "\x1b[32m"
	yellow Control = "\x1b[33m"
	reset  Control = "\x1b[0m"
)

// colours maps words to colours. The words are results of objects (package cluster) and levels of findings (package
// doctor).
var colours = map[string]Control{
	"failed": red, "error": red, "running": green, "ok": green, "warning": yellow, "unknown": yellow, "suspended": yellow, "pending": yellow,
}

// Paint prints a text to the output. If the output shows colours, the first occurrence of the given part has the colour
// of the given word. Without an entry in the map colours, a word has no colour.
func (s Streams) Paint(text, part, word string) {
	colour, known := colours[word]

	before, after, found := strings.Cut(text, part)
	if !known || !found || !s.colours() {
		fmt.Fprint(s.Out, text)
		return
	}

	fmt.Fprint(s.Out, before)
	Send(s.Out, colour)
	fmt.Fprint(s.Out, part)
	Send(s.Out, reset)
	fmt.Fprint(s.Out, after)
}
