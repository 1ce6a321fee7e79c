package ranges

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

// Verdict is what became of a range in a run.
type Verdict struct {
	Range Range
	// ID of the figure, also where the run does not have it.
	ID string
	// Value is what is bounded: the figure, or the ratio, whose Unit is empty. It means something where it is Known.
	Value float64
	Unit  string
	Known bool
	// Problem is what is wrong; empty where the range holds.
	Problem string
}

// Missing is the Problem of a range whose figure the run does not have.
const Missing = "figure is missing"

// OK reports whether the range holds.
func (v Verdict) OK() bool { return v.Problem == "" }

// What is bounded, for people.
func (v Verdict) What() string {
	if v.Range.Per == "" {
		return v.ID
	}
	return v.ID + ", over " + v.Range.Per
}

// Check holds a run to a specification. A figure that is missing fails its range.
func Check(run *figure.Run, s Spec) []Verdict {
	var all []Verdict
	for _, r := range s.Ranges {
		for _, id := range r.IDs() {
			if f, found := run.Value(id); found {
				all = append(all, r.judge(run, f))
			} else {
				all = append(all, Verdict{Range: r, ID: id, Problem: Missing})
			}
		}
	}
	return all
}

// judge holds one figure to the range.
func (r Range) judge(run *figure.Run, f figure.Figure) Verdict {
	v := Verdict{Range: r, ID: f.ID(), Value: f.Value, Unit: f.Unit}
	if r.Per != "" {
		other, found := run.Value(r.Per)
		if !found {
			v.Problem = Missing + ": " + r.Per
			return v
		}
		ratio, err := over(f, other)
		if err != nil {
			v.Problem = err.Error()
			return v
		}
		v.Value, v.Unit = ratio, ""
	}
	v.Known = true
	if !r.holds(v.Value) {
		v.Problem = "out of range"
	}
	return v
}

// scale is a unit in terms of the first of its kind.
var scale = map[string]struct {
	kind   string
	factor float64
}{
	"ns": {"time", 1e-9}, "us": {"time", 1e-6}, "ms": {"time", 1e-3}, "s": {"time", 1},
	"B": {"size", 1}, "kB": {"size", 1e3}, "MB": {"size", 1e6}, "GB": {"size", 1e9},
}

// over divides two figures of one kind.
func over(f, other figure.Figure) (float64, error) {
	a, b := 1.0, 1.0
	if f.Unit != other.Unit {
		one, two := scale[f.Unit], scale[other.Unit]
		if one.kind == "" || one.kind != two.kind {
			return 0, fmt.Errorf("%q is in %q and %q in %q: they have no ratio", f.ID(), f.Unit, other.ID(), other.Unit)
		}
		a, b = one.factor, two.factor
	}
	if other.Value == 0 {
		return 0, fmt.Errorf("%s is 0, and nothing can be told in its terms", other.ID())
	}
	return f.Value * a / (other.Value * b), nil
}

// Failed counts the ranges that do not hold.
func Failed(verdicts []Verdict) (n int) {
	for _, v := range verdicts {
		if !v.OK() {
			n++
		}
	}
	return n
}

// width is how many columns a printed table may have.
const width = 120

// Print writes verdicts as a table of at most 120 columns, those that fail last, where they are seen.
func Print(out io.Writer, verdicts []Verdict) error {
	const value, wanted = 14, 16
	what := width - 2 - 2 - value - 2 - wanted
	var text strings.Builder
	fmt.Fprintf(&text, "%-4s%-*s%*s  %s\n", "", what, "figure", value, "value", "wanted")
	for _, failing := range []bool{false, true} {
		for _, v := range verdicts {
			if v.OK() == failing {
				continue
			}
			mark, is := "ok", "-"
			if failing {
				mark = "NO"
			}
			if v.Known {
				is = figure.Format(v.Value, v.Unit)
			}
			fmt.Fprintf(&text, "%-4s%-*s%*s  %s\n", mark, what, cut(v.What(), what), value, is, v.Range.Wanted())
			if failing {
				fmt.Fprintf(&text, "    %s\n", cut(v.Problem+"; demanded: "+v.Range.Why, width-4))
			}
		}
	}
	fmt.Fprintf(&text, "%d of %d ranges hold\n", len(verdicts)-Failed(verdicts), len(verdicts))
	_, err := io.WriteString(out, text.String())
	return err
}

// cut shortens text to so many columns.
func cut(text string, columns int) string {
	if utf8.RuneCountInString(text) <= columns {
		return text
	}
	return string([]rune(text)[:columns-3]) + "..."
}
