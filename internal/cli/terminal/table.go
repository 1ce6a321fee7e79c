package terminal

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sparkoperator/spark-operator/api/bounds"
)

// Column describes a column of a table.
type Column struct {
	Header string
	// Drop determines which columns are left out first on a narrow terminal: the columns with the highest number.
	// Columns with 0 are never left out.
	Drop int
	// Max is the largest width of a text that may be cut, such as a message; 0 means no limit. On a narrow terminal such
	// a column is cut before other columns are left out.
	Max int
}

// minText is the width that a text of a column with a Max keeps while other columns are left out.
const minText = 30

// gap separates two columns.
const gap = "   "

// Table is a table with one line for each row. Characters that cannot be printed are shown as escapes.
type Table struct {
	Columns []Column
	Rows    [][]string
}

// String returns the table for a terminal of the given width. Columns are left out until the table fits. If it still
// does not fit, the longest cells of the widest column are cut. A width of 0 means no limit.
func (t Table) String(width int) string {
	l := t.Layout(width)
	var b strings.Builder

	header := make([]string, len(t.Columns))
	for i, column := range t.Columns {
		header[i] = column.Header
	}

	for _, row := range append([][]string{header}, t.Rows...) {
		b.WriteString(line(printable(row), l.kept, l.widths) + "\n")
	}
	return b.String()
}

// Layout holds the columns that a table shows, and their widths. Rows that are printed later use the same Layout, so
// that their cells stand below those of the table.
type Layout struct {
	width        int
	columns      []Column
	kept, widths []int
}

// Layout returns the layout of the table for a terminal of the given width.
func (t Table) Layout(width int) *Layout {
	l := &Layout{width: width, columns: t.Columns, kept: make([]int, len(t.Columns)), widths: t.widths()}
	for i := range l.kept {
		l.kept[i] = i
	}

	least := slices.Clone(l.widths)
	for i, column := range t.Columns {
		if column.Max > 0 {
			least[i] = min(least[i], minText)
		}
	}

	for width > 0 && total(least, l.kept) > width {
		worst := slices.MaxFunc(l.kept, func(a, b int) int { return t.Columns[a].Drop - t.Columns[b].Drop })
		if t.Columns[worst].Drop == 0 {
			break
		}

		l.kept = slices.DeleteFunc(l.kept, func(i int) bool { return i == worst })
	}

	l.shrink()
	return l
}

// shrink makes the widest column narrower if the columns do not fit the terminal.
func (l *Layout) shrink() {
	if over := total(l.widths, l.kept) - l.width; l.width > 0 && over > 0 && len(l.kept) > 0 {
		widest := slices.MaxFunc(l.kept, func(a, b int) int { return l.widths[a] - l.widths[b] })
		l.widths[widest] = max(l.widths[widest]-over, 8)
	}
}

// Line returns one more row of the table. A longer cell widens its column, if the terminal has the space.
func (l *Layout) Line(row []string) string {
	row = printable(row)
	for _, i := range l.kept {
		l.widths[i] = l.columns[i].bounded(max(l.widths[i], utf8.RuneCountInString(row[i])))
	}

	l.shrink()
	return line(row, l.kept, l.widths) + "\n"
}

func (t Table) widths() []int {
	widths := make([]int, len(t.Columns))
	for i, column := range t.Columns {
		widths[i] = utf8.RuneCountInString(column.Header)
		for _, row := range t.Rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(bounds.Line(row[i])))
		}

		widths[i] = column.bounded(widths[i])
	}
	return widths
}

// bounded returns the given width, or Max if the width is larger.
func (c Column) bounded(width int) int {
	if c.Max > 0 {
		return min(width, c.Max)
	}
	return width
}

func printable(row []string) []string {
	shown := make([]string, len(row))
	for i, cell := range row {
		shown[i] = bounds.Line(cell)
	}
	return shown
}

func total(widths, kept []int) int {
	sum := len(gap) * max(len(kept)-1, 0)
	for _, i := range kept {
		sum += widths[i]
	}
	return sum
}

func line(row []string, kept, widths []int) string {
	var b strings.Builder
	for n, i := range kept {
		cell := cut(row[i], widths[i])
		b.WriteString(cell)

		if n < len(kept)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)) + gap)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// cut shortens a cell in the middle, because the end of a cell often distinguishes it from other cells, for example by
// a number.
func cut(cell string, width int) string {
	letters := []rune(cell)
	if len(letters) <= width {
		return cell
	}

	head := (width - 2) / 2
	return string(letters[:head]) + ".." + string(letters[len(letters)-(width-2-head):])
}
