package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// cpuOf begins the names of figures that say what CPU somebody took.
const cpuOf = "CPU of "

// binds says of each case whose CPU is known by who took it, what the machine was busy with: what has the most of it binds.
func (t *table) binds(text *strings.Builder) {
	said := false
	for _, column := range t.columns {
		shares := t.shares(column)
		if len(shares) == 0 {
			continue
		}
		of := ""
		if column != "" && len(t.columns) > 1 {
			of = " (" + column + ")"
		}
		fmt.Fprintf(text, "Of the CPU that was taken%s: %s.\n", of, strings.Join(shares, ", "))
		said = true
	}
	if said {
		text.WriteString("\n")
	}
}

// shares are who took CPU in a case, the greatest first, in whole percents.
func (t *table) shares(column string) (out []string) {
	type part struct {
		who  string
		took float64
	}
	var parts []part
	var sum float64
	for _, row := range t.rows {
		who, is := strings.CutPrefix(row, cpuOf)
		f, there := t.cells[[2]string{row, column}]
		if is && there {
			parts, sum = append(parts, part{who, f.Value}), sum+f.Value
		}
	}
	if sum <= 0 {
		return nil
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.took, a.took) })
	for _, p := range parts {
		out = append(out, fmt.Sprintf("%s %.0f %%", p.who, 100*p.took/sum))
	}
	return out
}
