// Package ranges holds the figures of a run to what is demanded of them: specifications in YAML, each range with why it is and with the runs that it
// came from.
package ranges

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

// The specifications, by the plan of the run that they are for.
var (
	// Full has every bar that the operator is measured by.
	//
	//go:embed full.yaml
	Full []byte
	// Quick has ratios within one run alone, with wide margins: it runs on whatever machine, beside whatever else.
	//
	//go:embed quick.yaml
	Quick []byte
)

// Of returns the specification for runs of a plan, "full" or "quick".
func Of(plan string) (Spec, error) {
	switch plan {
	case "full":
		return Parse(Full)
	case "quick":
		return Parse(Quick)
	}
	return Spec{}, fmt.Errorf("there are no ranges for a plan %q: full and quick have some", plan)
}

// Spec is what is demanded of a run.
type Spec struct {
	Ranges []Range `json:"ranges"`
}

// Range bounds one figure, or how many times another it is; with Each, several in the same way.
type Range struct {
	// Figure is the identity of a figure (figure.Figure.ID). With Each it has one "*", for which each of those stands: every figure that comes of it has to be
	// there and is held to the range.
	Figure string   `json:"figure"`
	Each   []string `json:"each,omitempty"`
	// Per is the identity of another figure of the same run, without "*": what is bounded is Figure divided by it. Times may have different units, and so may
	// sizes. Empty bounds the figure itself.
	Per string `json:"per,omitempty"`
	// Min and Max are in the figure's unit, or a ratio, and may be reached. With neither the figure has to be there and nothing else.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	// Why says where the range is from, in a sentence.
	Why string `json:"why"`
	// From are the runs in which it was seen how much room there is; none before the first.
	From []Origin `json:"from,omitempty"`
}

// Origin is what was bounded by a range in one run.
type Origin struct {
	Date    string  `json:"date"` // as 2026-11-21
	Run     string  `json:"run"`  // its name, as RunName has it
	Machine string  `json:"machine"`
	Value   float64 `json:"value"`
}

// RunName names a run by when it began and its plan. A file of it is called so.
func RunName(run *figure.Run) string {
	return run.Began.UTC().Format("2006-01-02T150405Z") + "-" + run.Plan
}

// IDs are the identities of the figures that are held to the range.
func (r Range) IDs() []string {
	if len(r.Each) == 0 {
		return []string{r.Figure}
	}
	ids := make([]string, len(r.Each))
	for i, one := range r.Each {
		ids[i] = strings.Replace(r.Figure, "*", one, 1)
	}
	return ids
}

// IDs are the identities of all figures that are demanded.
func (s Spec) IDs() map[string]bool {
	all := map[string]bool{}
	for _, r := range s.Ranges {
		for _, id := range r.IDs() {
			all[id] = true
		}
	}
	return all
}

// Only leaves what speaks of figures that are measured alone.
func (s Spec) Only(measured func(id string) bool) Spec {
	var kept []Range
	for _, r := range s.Ranges {
		if r.Per != "" && !measured(r.Per) {
			continue
		}
		ids, each := r.IDs(), r.Each
		r.Each = nil
		for i := range each {
			if measured(ids[i]) {
				r.Each = append(r.Each, each[i])
			}
		}
		if len(r.Each) > 0 || len(each) == 0 && measured(r.Figure) {
			kept = append(kept, r)
		}
	}
	return Spec{Ranges: kept}
}

// Parse reads a specification strictly: keys that are not known, ranges without a reason, of the same thing twice, or that nothing can be in are errors
// that name the range.
func Parse(text []byte) (Spec, error) {
	var s Spec
	if err := yaml.UnmarshalStrict(text, &s); err != nil {
		return Spec{}, err
	}
	if len(s.Ranges) == 0 {
		return Spec{}, errors.New("ranges: there are none, and nothing would ever fail")
	}
	seen := map[[2]string]bool{}
	for i, r := range s.Ranges {
		err := r.check()
		for _, id := range r.IDs() {
			key := [2]string{id, r.Per}
			if err == nil && seen[key] {
				err = fmt.Errorf("figure: %s has a range already", id)
			}
			seen[key] = true
		}
		if err != nil {
			return Spec{}, fmt.Errorf("ranges[%d] (%s): %w", i, r.Figure, err)
		}
	}
	return s, nil
}

func (r Range) check() error {
	switch {
	case slices.ContainsFunc(r.IDs(), func(id string) bool { return strings.Count(id, "/") < 2 }):
		return errors.New("figure: want SCENARIO/CASE/NAME, of which the case may be empty")
	case strings.Count(r.Figure, "*") != min(1, len(r.Each)):
		return errors.New("each: want what the one * of figure stands for, and neither without the other")
	case r.Per != "" && (strings.Count(r.Per, "/") < 2 || strings.Contains(r.Per, "*")):
		return errors.New("per: want SCENARIO/CASE/NAME of one figure")
	case r.Min != nil && r.Max != nil && *r.Min > *r.Max:
		return fmt.Errorf("min: %v is more than max, %v", *r.Min, *r.Max)
	case strings.TrimSpace(r.Why) == "":
		return errors.New("why: it is missing")
	}
	for i, o := range r.From {
		if _, err := time.Parse(time.DateOnly, o.Date); err != nil {
			return fmt.Errorf("from[%d].date: want a day as 2026-11-21, not %q", i, o.Date)
		}
		if o.Run == "" || o.Machine == "" {
			return fmt.Errorf("from[%d]: run or machine is missing", i)
		}
	}
	return nil
}

// holds reports whether a value is in the range.
func (r Range) holds(value float64) bool {
	return (r.Min == nil || value >= *r.Min) && (r.Max == nil || value <= *r.Max)
}

// Wanted says what is demanded, for people: "at most 8", "0.8 to 1.2", "be there".
func (r Range) Wanted() string {
	switch {
	case r.Min != nil && r.Max != nil && *r.Min == *r.Max:
		return fmt.Sprintf("exactly %v", *r.Min)
	case r.Min != nil && r.Max != nil:
		return fmt.Sprintf("%v to %v", *r.Min, *r.Max)
	case r.Min != nil:
		return fmt.Sprintf("at least %v", *r.Min)
	case r.Max != nil:
		return fmt.Sprintf("at most %v", *r.Max)
	}
	return "be there"
}
