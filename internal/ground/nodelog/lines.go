package nodelog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// ErrNoTimes is the error of a log whose lines have no times although they were requested.
var ErrNoTimes = errors.New("the node returns the log without the times of its lines")

// Cursor is a position in the log of a container, which has the times that the node gives its lines. The position is
// after the number Lines of lines with the time Time, then After whole lines with earlier times, which two streams of
// output can cause, and then Cut bytes of a line. The zero Cursor is the beginning of the log.
type Cursor struct {
	Time  time.Time `json:"time,omitzero"`
	Lines int       `json:"lines,omitempty"`
	After int       `json:"after,omitempty"`
	Cut   int64     `json:"cut,omitempty"`
}

// Since returns the time from which the log has to be requested to continue at the cursor; zero for the whole log.
// Lines of two streams of output can have times in another order than they are written, so it is a second earlier than
// needed.
func (c Cursor) Since() time.Time {
	if c.Time.IsZero() {
		return c.Time
	}
	return c.Time.Truncate(time.Second).Add(-time.Second)
}

// Lines reads a log whose lines begin with times, and passes the text after a position without the times.
//
// A request for a log can name only a second, and the node returns all lines from this second on. So the position is
// found by the line before it. If this line is not there, the node has rotated the log.
type Lines struct {
	// Partial is true if the log may begin within a line, which has no time and is then not passed. A node that selects
	// lines by their times does so with the parts of a long line. It is true for a cursor that is not zero.
	Partial bool

	from Cursor // where the new text begins
	at   Cursor // the end of the last whole line that was passed
	lost bool   // the line before the position is not there

	found       bool // the line before the position was there, or there is none
	seen, after int  // lines with the time of the position so far, and lines after the last of them
	resumed     bool // the line in which the position is was reached
	any         bool // text was passed

	time   time.Time // of the present line
	length int64     // bytes of the present line so far
	skip   int64     // bytes of the present line that are not passed; negative: all
}

// After returns the lines of a log after a cursor.
func After(from Cursor) *Lines {
	l := &Lines{Partial: !from.Time.IsZero(), from: from, at: from, found: from.Time.IsZero()}
	l.at.Cut = 0
	return l
}

var buffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 64<<10) }}

// Copy reads a log to its end. It passes whole lines, and pieces of lines that are longer than 64 KiB. It returns the
// error of the log or of the function, or ErrNoTimes.
func (l *Lines) Copy(log io.Reader, pass func(text []byte) error) error {
	in := buffers.Get().(*bufio.Reader)
	defer buffers.Put(in)

	in.Reset(log)

	for begins := true; ; {
		piece, err := in.ReadSlice('\n')
		whole := bytes.HasSuffix(piece, []byte("\n"))

		if begins && len(piece) > 0 {
			text, failed := l.start(piece, err, pass)
			if failed != nil || text == nil {
				return failed
			}

			piece = text
		}

		if failed := l.line(piece, whole, pass); failed != nil {
			return failed
		}

		begins = whole || begins && len(piece) == 0

		if endOf(err) {
			return ignoreEnd(err)
		}
	}
}

// endOf reports whether nothing follows in the log.
func endOf(err error) bool { return err != nil && !errors.Is(err, bufio.ErrBufferFull) }

// start receives the first piece of a line, with the error of the log after it. It returns the text of the piece, or
// nil if the log ends there.
func (l *Lines) start(piece []byte, err error, pass func(text []byte) error) ([]byte, error) {
	at, text, valid := splitTime(piece)
	switch {
	case valid:
		return text, l.begins(at, pass)
	case l.Partial && l.time.IsZero() && !endOf(err):
		l.Partial, l.skip = false, -1
		return piece, nil
	case err == nil:
		return nil, ErrNoTimes
	}
	return nil, ignoreEnd(err) // an unfinished line, of which not even the time is there
}

// begins receives the time of a line that begins, and passes the mark if lines are missing before it.
func (l *Lines) begins(at time.Time, pass func(text []byte) error) error {
	lost := l.lost
	l.begin(at)

	if l.lost && !lost {
		return pass(l.mark())
	}
	return nil
}

func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// splitTime returns the time of a line, and its text.
func splitTime(line []byte) (time.Time, []byte, bool) {
	before, text, ok := bytes.Cut(line, []byte(" "))
	if !ok || len(before) > len(time.RFC3339Nano) {
		return time.Time{}, nil, false
	}

	at, err := time.Parse(time.RFC3339Nano, string(before))
	return at, text, err == nil
}

// begin decides how much of a line that begins is passed.
func (l *Lines) begin(at time.Time) {
	l.time, l.length, l.skip = at, 0, -1

	switch {
	case !l.found && at.After(l.from.Time):
		l.lost, l.found, l.resumed, l.skip = true, true, true, 0
	case !l.found:
		if at.Equal(l.from.Time) {
			l.seen++
		}

		l.found = l.seen >= l.from.Lines && l.seen > 0
	case l.lost || l.resumed:
		l.skip = 0
	case l.after < l.from.After:
		l.after++
	default:
		l.resumed, l.skip = true, l.from.Cut
	}
}

// line passes a piece of the present line.
func (l *Lines) line(piece []byte, whole bool, pass func(text []byte) error) error {
	if l.skip < 0 {
		return nil
	}

	l.length += int64(len(piece))
	hidden := min(l.skip, int64(len(piece)))
	l.skip -= hidden

	if whole {
		l.length = 0
		l.passed()
	}

	if piece = piece[hidden:]; len(piece) == 0 {
		return nil
	}

	l.any = true
	return pass(piece)
}

// passed moves the position behind the present line.
func (l *Lines) passed() {
	switch {
	case l.time.After(l.at.Time):
		l.at = Cursor{Time: l.time, Lines: 1}
	case l.time.Equal(l.at.Time) && l.at.After == 0:
		l.at.Lines++
	default:
		l.at.After++
	}
}

// Lost reports whether the node has removed lines after the cursor before they were read. The text has a line about it.
func (l *Lines) Lost() bool { return l.lost }

// Time returns the time of the line whose text was passed last.
func (l *Lines) Time() time.Time { return l.time }

// Position returns the cursor before the last bytes of the text that was passed. They are at most the present line.
func (l *Lines) Position(pending int) Cursor {
	if !l.any {
		return l.from
	}

	at := l.at
	at.Cut = max(0, l.length-int64(pending))
	return at
}

// mark returns the text that stands where the node has removed lines.
func (l *Lines) mark() []byte {
	line := ""
	if l.from.Cut > 0 {
		line = "\n"
	}
	return fmt.Appendf(nil, "%s[... the node has rotated the log: lines between %s and %s may be missing here ...]\n",
		line, l.from.Time.UTC().Format(time.RFC3339), l.time.UTC().Format(time.RFC3339))
}
