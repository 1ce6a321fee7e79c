package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

// table is a scenario's figures: a row for each name, a column for each case, both in the order in which they were measured.
type table struct {
	scenario      string
	rows, columns []string
	cells         map[[2]string]figure.Figure
}

// tables are those of a run, in the order in which its scenarios were done.
func tables(run *figure.Run) (all []*table) {
	for _, f := range run.Figures {
		i := slices.IndexFunc(all, func(t *table) bool { return t.scenario == f.Scenario })
		if i < 0 {
			i = len(all)
			all = append(all, &table{scenario: f.Scenario, cells: map[[2]string]figure.Figure{}})
		}
		all[i].add(f)
	}
	return all
}

// add takes the first figure of an identity, as figure.Run.Value does.
func (t *table) add(f figure.Figure) {
	at := [2]string{f.Name, f.Case}
	if _, there := t.cells[at]; there {
		return
	}
	t.cells[at] = f
	if !slices.Contains(t.rows, f.Name) {
		t.rows = append(t.rows, f.Name)
	}
	if !slices.Contains(t.columns, f.Case) {
		t.columns = append(t.columns, f.Case)
	}
}

// cell is a figure as text; empty where it was not measured.
func (t *table) cell(row, column string) string {
	f, there := t.cells[[2]string{row, column}]
	if !there {
		return ""
	}
	return figure.Format(f.Value, f.Unit)
}

// The columns of a terminal, and the most that a row's name or a case may have of them.
const (
	terminal = 120
	longest  = 48
)

// Print writes a run's tables for a terminal of 120 columns. What does not fit beside each other stands below each other. Details are shown of whole lives
// alone.
func Print(out io.Writer, run *figure.Run) error {
	var text strings.Builder
	for _, t := range tables(run) {
		if t.scenario != figure.Lives { // of one of them all is shown that was written
			t, _ = t.parts()
		}
		t.print(&text)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// print writes one table, in as many blocks as its columns need.
func (t *table) print(text *strings.Builder) {
	names := utf8.RuneCountInString(t.scenario)
	for _, row := range t.rows {
		names = max(names, min(utf8.RuneCountInString(row), longest))
	}
	title := t.scenario
	for columns := t.columns; len(columns) > 0; title = "" {
		used, n := names, 0
		var widths []int
		for _, column := range columns {
			w := t.width(column)
			if n > 0 && used+2+w > terminal {
				break
			}
			used, n, widths = used+2+w, n+1, append(widths, w)
		}
		t.block(text, title, names, columns[:n], widths)
		columns = columns[n:]
	}
}

// width is what a column needs.
func (t *table) width(column string) int {
	w := min(utf8.RuneCountInString(column), longest)
	for _, row := range t.rows {
		w = max(w, utf8.RuneCountInString(t.cell(row, column)))
	}
	return w
}

// block writes some columns, and the rows that have something in them.
func (t *table) block(text *strings.Builder, title string, names int, columns []string, widths []int) {
	line := func(name string, cells func(i int) string) {
		var l strings.Builder
		fmt.Fprintf(&l, "%-*s", names, cut(name, longest))
		for i, w := range widths {
			fmt.Fprintf(&l, "  %*s", w, cells(i))
		}
		text.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	text.WriteString("\n")
	line(title, func(i int) string { return cut(columns[i], longest) })
	for _, row := range t.rows {
		if slices.ContainsFunc(columns, func(column string) bool { return t.cell(row, column) != "" }) {
			line(row, func(i int) string { return t.cell(row, columns[i]) })
		}
	}
}

// cut shortens text to so many columns.
func cut(text string, columns int) string {
	if utf8.RuneCountInString(text) <= columns {
		return text
	}
	return string([]rune(text)[:columns-3]) + "..."
}

// parts splits the table: what is read first, and the details of it, which are rows that say of whom they are ("operator: create pods", "CPU of etcd").
func (t *table) parts() (main, details *table) {
	main, details = &table{scenario: t.scenario, cells: t.cells}, &table{scenario: t.scenario, cells: t.cells}
	for _, row := range t.rows {
		to := main
		if strings.Contains(row, ": ") || strings.HasPrefix(row, "CPU of ") {
			to = details
		}
		to.rows = append(to.rows, row)
	}
	for _, part := range []*table{main, details} {
		part.columns = slices.DeleteFunc(slices.Clone(t.columns), func(column string) bool {
			return !slices.ContainsFunc(part.rows, func(row string) bool { return t.cell(row, column) != "" })
		})
	}
	return main, details
}

// markdown writes the table for a page, with its details below it, where they can be unfolded.
func (t *table) markdown(text *strings.Builder) {
	main, details := t.parts()
	if len(main.rows) > 0 {
		main.grid(text)
	}
	if len(details.rows) > 0 {
		text.WriteString("<details><summary>Who took the CPU in all, and who wrote what for an application</summary>\n\n")
		details.grid(text)
		text.WriteString("</details>\n\n")
	}
}

// grid writes rows and columns in markdown.
func (t *table) grid(text *strings.Builder) {
	cells := []string{""}
	align := []string{"---"}
	for _, column := range t.columns {
		if column == "" && len(t.columns) == 1 {
			column = "value"
		}
		cells, align = append(cells, column), append(align, "---:")
	}
	markdownRow(text, cells)
	markdownRow(text, align)
	for _, row := range t.rows {
		cells = []string{row}
		for _, column := range t.columns {
			cells = append(cells, t.cell(row, column))
		}
		markdownRow(text, cells)
	}
	text.WriteString("\n")
}

// markdownRow writes one row; a bar in a cell would end it.
func markdownRow(text *strings.Builder, cells []string) {
	for _, cell := range cells {
		text.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
	}
	text.WriteString("|\n")
}
