package ranges

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

// Record adds to the text of a specification what a run measured of each bounded range, before what earlier runs did; comments and all else stay as they are.
// Of several figures it is the value that lies nearest to the range's end, or farthest beyond it. Ranges whose figures the run does not have are left as they are,
// and so is one that has the run already.
func Record(text []byte, run *figure.Run) ([]byte, error) {
	spec, err := Parse(text)
	if err != nil {
		return nil, err
	}
	origins := map[[2]string]string{}
	for _, r := range spec.Ranges {
		if value, found := r.worst(run); found {
			origins[[2]string{r.Figure, r.Per}] = fmt.Sprintf("  - {date: %s, run: %s, machine: %q, value: %s}",
				run.Began.UTC().Format(time.DateOnly), RunName(run), Machine(run), short(value))
		}
	}
	lines := strings.Split(string(text), "\n")
	var out []string
	for i := 0; i < len(lines); {
		end := i + 1
		for end < len(lines) && strings.HasPrefix(lines[end], "  ") { // the rest of one range
			end++
		}
		out = append(out, withOrigin(lines[i:end], origins)...)
		i = end
	}
	recorded := []byte(strings.Join(out, "\n"))
	_, err = Parse(recorded)
	return recorded, err
}

// RecordIn adds what the run of a file measured to the ranges of its plan, in the repository at root, and returns the file of those.
func RecordIn(root, file string) (string, error) {
	run, err := figure.Load(file)
	if err != nil {
		return "", err
	}
	if _, err := Of(run.Plan); err != nil {
		return "", err
	}
	spec := filepath.Join(root, "bench", "ranges", run.Plan+".yaml")
	text, err := os.ReadFile(spec)
	if err != nil {
		return "", err
	}
	if text, err = Record(text, run); err != nil {
		return "", fmt.Errorf("%s: %w", spec, err)
	}
	return spec, os.WriteFile(spec, text, 0o644)
}

// withOrigin adds what was measured to the lines of one range.
func withOrigin(lines []string, origins map[[2]string]string) []string {
	name, is := strings.CutPrefix(lines[0], "- figure: ")
	if !is {
		return lines
	}
	key, from := [2]string{strings.Trim(name, `"`), ""}, len(lines)
	for i, line := range lines {
		if per, is := strings.CutPrefix(line, "  per: "); is {
			key[1] = per
		}
		if line == "  from:" {
			from = i
		}
	}
	origin, found := origins[key]
	if !found {
		return lines
	}
	if from == len(lines) {
		return append(append([]string{}, lines...), "  from:", origin)
	}
	same, _, _ := strings.Cut(origin, ", machine:")
	if from+1 < len(lines) && strings.HasPrefix(lines[from+1], same) {
		return lines
	}
	return append(append(append([]string{}, lines[:from+1]...), origin), lines[from+1:]...)
}

// worst is the value of the range's figures that says least for it.
func (r Range) worst(run *figure.Run) (worst float64, found bool) {
	if r.Min == nil && r.Max == nil {
		return 0, false
	}
	for _, v := range Check(run, Spec{Ranges: []Range{r}}) {
		switch {
		case !v.Known:
		case !found, r.Max != nil && v.Value > worst, r.Max == nil && v.Value < worst:
			worst, found = v.Value, true
		}
	}
	return worst, found
}

// short is a value with three digits that count, as YAML has numbers.
func short(v float64) string { return strings.ReplaceAll(figure.Format(v, ""), ",", "") }

// Machine is what a run was measured on, in a few words.
func Machine(run *figure.Run) string {
	var words []string
	for _, name := range []string{"cores", "memory", "processor"} {
		value := run.Machine[name]
		switch {
		case value == "":
		case name == "cores":
			words = append(words, value+" cores")
		default:
			words = append(words, value)
		}
	}
	if len(words) == 0 {
		return "unknown"
	}
	return strings.Join(words, ", ")
}
