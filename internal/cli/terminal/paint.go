package terminal

import "os"

// Paint colours words. The zero value colours nothing.
type Paint bool

// Colours returns the Paint for the output: it colours words only on a terminal, and not if the environment variable
// NO_COLOR is set to any text (no-color.org) or if the terminal cannot show colours.
func (s Streams) Colours() Paint {
	return Paint(s.Width > 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

// colours are the colours of results and levels.
var colours = map[string]string{
	"failed": red, "error": red, "running": green, "ok": green, "warning": yellow, "suspended": yellow, "pending": yellow,
}

// Level returns a word in the colour of the result or level that it names. Other words have no colour.
func (p Paint) Level(word string) string { return p.As(word, word) }

// As returns a text in the colour of a result or level.
func (p Paint) As(word, text string) string {
	colour, known := colours[word]
	if !bool(p) || !known {
		return text
	}
	return colour + text + reset
}
