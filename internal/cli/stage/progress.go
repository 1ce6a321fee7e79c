package stage

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// progressBar shows the progress of uploads with one line for each file. On a terminal, it redraws the line during the
// upload. Otherwise, it prints the line after the upload.
type progressBar struct {
	streams terminal.Streams
	// current is the file whose line is drawn and not finished; drawn is its percentage.
	current *localFile
	drawn   int
}

// barWidth is the number of columns of the bar.
const barWidth = 20

// show draws the line of a file. Its signature is that of a progressFunc, so that objectStore.Upload can call it.
func (b *progressBar) show(f *localFile, stored int64, existed bool) {
	out, label := b.streams.Err, fmt.Sprintf("%s (%s)", f.Name(), sizeText(f.Size))
	switch {
	case existed:
		fmt.Fprintf(out, "%s is in the store\n", label)
	case b.streams.Width == 0 || !drawsOn(out):
		if stored == f.Size {
			fmt.Fprintf(out, "%s stored\n", label)
		}
	default:
		percent := 100
		if f.Size > 0 {
			percent = int(100 * stored / f.Size)
		}

		if b.current == f && percent == b.drawn && stored < f.Size {
			return
		}

		b.current, b.drawn = f, percent
		full := barWidth * percent / 100
		line := fmt.Sprintf("%s%s %3d%% ", strings.Repeat("#", full), strings.Repeat("-", barWidth-full), percent)
		// The last column stays empty, because some terminals break the line there.
		terminal.Send(out, terminal.LineStart)
		fmt.Fprint(out, line+shortened(label, b.streams.Width-len(line)-1))

		if stored == f.Size {
			b.end()
		}
	}
}

// end finishes the current line with a line break. It does nothing if there is no current line. If an upload fails, its
// line would otherwise run into the error message.
func (b *progressBar) end() {
	if b.current != nil {
		fmt.Fprintln(b.streams.Err)
		b.current = nil
	}
}

// drawsOn reports whether an output can redraw a line. A plain file cannot. The standard error can be a file even if
// the standard output is a terminal.
func drawsOn(out io.Writer) bool {
	file, ok := terminal.Direct(out).(*os.File)
	return !ok || term.IsTerminal(int(file.Fd()))
}

// shortened cuts the beginning of a text so that it fits a number of columns.
func shortened(text string, columns int) string {
	if over := utf8.RuneCountInString(text) - columns; over > 0 {
		runes := []rune(text)
		return "…" + string(runes[min(over+1, len(runes)):])
	}
	return text
}
