package terminal

import "os"

// Paint colours words. The zero value colours nothing.
type Paint bool

// Colours returns a Paint that colours words if the output goes to a terminal that can show colours. If the environment
// variable NO_COLOR has a value, the Paint uses no colours (no-color.org).
func (s Streams) Colours() Paint {
	return Paint(s.Width > 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

// colours maps words to colours. The words are results of objects (package cluster) and levels of findings (package
// doctor).
var colours = map[string]string{
	"failed": red, "error": red, "running": green, "ok": green, "warning": yellow, "suspended": yellow, "pending": yellow,
}

// Level returns a word in the colour that the map colours gives it. A word without an entry stays as it is.
func (p Paint) Level(word string) string { return p.As(word, word) }

// As returns a text in the colour of the given word.
func (p Paint) As(word, text string) string {
	colour, known := colours[word]
	if !bool(p) || !known {
		return text
	}
	return colour + text + reset
}
