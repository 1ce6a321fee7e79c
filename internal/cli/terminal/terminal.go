// Package terminal writes sparkctl's output: tables and texts that fit the width of a terminal, and plain lines if the
// output does not go to a terminal.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/sparkoperator/spark-operator/api/bounds"
)

// minWidth is the smallest width to which the output adapts. A narrower terminal breaks the lines itself.
const minWidth = 40

// Streams are the input and the outputs of a process.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Width is the number of columns of the terminal that Out writes to, or 0 if Out is not a terminal.
	Width int
	// Height is the number of lines of the terminal, or 0 if Out is not a terminal.
	Height int
	// Interactive is true if In is a terminal, so that the program can request a confirmation.
	Interactive bool
}

// Warn prints warnings.
func (s Streams) Warn(warnings ...string) {
	for _, warning := range warnings {
		fmt.Fprintln(s.Err, Wrap("warning: ", warning, s.Width))
	}
}

// Standard returns the streams of this process.
func Standard() Streams {
	s := Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Interactive: term.IsTerminal(int(os.Stdin.Fd()))}
	if fd := int(os.Stdout.Fd()); term.IsTerminal(fd) {
		s.Width, s.Height = 80, 24
		if width, height, err := term.GetSize(fd); err == nil && width > 0 {
			s.Width, s.Height = width, height
		}

		if width, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && width > 0 {
			s.Width = width
		}

		s.Width = max(s.Width, minWidth)
	}
	return s.Safe()
}

// Wrap breaks a text into lines of at most the given width, at blanks. The first line begins with the given prefix, and
// each further line is indented by the length of the prefix. A word that is longer than a line gets its own line. A
// width of 0 means no limit. Line breaks and other characters that cannot be printed are shown as escapes.
func Wrap(first, text string, width int) string {
	first, text = bounds.Line(first), bounds.Line(text)
	if width == 0 || utf8.RuneCountInString(first)+utf8.RuneCountInString(text) <= width {
		return first + text
	}

	indent := strings.Repeat(" ", utf8.RuneCountInString(first))
	var b strings.Builder
	b.WriteString(first)

	column, begin := len(indent), true
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case begin:
		case column+1+n > width:
			b.WriteString("\n" + indent)
			column = len(indent)
		default:
			b.WriteByte(' ')
			column++
		}

		b.WriteString(word)

		column, begin = column+n, false
	}
	return b.String()
}
