// Package ranges holds the figures of a run to what is demanded of them: specifications in YAML, each range with why it is and with the runs that it
// came from.
package ranges

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
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

// Range bounds one figure, or how many times another it is.
type Range struct {
	// Figure is the identity of a figure (figure.Figure.ID). A "*" in it stands for any text: all that it fits are held to the range, and at least one has
	// to be there.
	Figure string `json:"figure"`
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
	Machine string  `json:"machine"`
	Value   float64 `json:"value"`
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
		if key := [2]string{r.Figure, r.Per}; err == nil && seen[key] {
			err = errors.New("figure: it has a range already")
		} else {
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
	case strings.Count(r.Figure, "/") < 2:
		return errors.New("figure: want SCENARIO/CASE/NAME, of which the case may be empty")
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
		if o.Machine == "" {
			return fmt.Errorf("from[%d].machine: it is missing", i)
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

// fits reports whether an identity is one that a pattern stands for.
func fits(pattern, id string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == id
	}
	last := len(parts) - 1
	id, is := strings.CutPrefix(id, parts[0])
	if !is {
		return false
	}
	for _, part := range parts[1:last] {
		if _, id, is = strings.Cut(id, part); !is {
			return false
		}
	}
	return strings.HasSuffix(id, parts[last])
}
