package figure

import (
	"slices"
	"strings"
	"time"
)

// Again puts what a later run measured of steps in the place of what this one has of them, and says so beside their figures: a step that failed costs itself and not
// the hour of all the others.
func (r *Run) Again(steps []string, later *Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := func(scenario, in string) bool {
		return slices.ContainsFunc(steps, func(step string) bool { return measuredBy(step, scenario, in) })
	}
	r.Figures = append(slices.DeleteFunc(r.Figures, func(f Figure) bool { return of(f.Scenario, f.Case) }), later.Figures...)
	r.Series = append(slices.DeleteFunc(r.Series, func(s Series) bool { return slices.Contains(steps, s.Scenario) }), later.Series...)
	r.Notes = append(slices.DeleteFunc(r.Notes, func(n Note) bool { return slices.Contains(steps, n.Scenario) }), later.Notes...)
	r.Outliers = append(slices.DeleteFunc(r.Outliers, func(o Outlier) bool { return of(o.Scenario, o.Case) }), later.Outliers...)
	r.Failed = append(slices.DeleteFunc(r.Failed, func(step string) bool { return slices.Contains(steps, step) }), later.Failed...)
	for _, step := range steps {
		scenario, part, _ := strings.Cut(step, "-")
		text := "Measured in a run of its own, of " + later.Began.UTC().Format(time.DateTime) + " and commit " + later.Commit + "."
		if part != "" {
			text = "What is " + part + ": m" + text[1:]
		}
		r.Notes = append(r.Notes, Note{scenario, text})
	}
}

// measuredBy reports whether a step measures a case of a scenario: it is named as the scenario, or so with a word of its cases after a dash.
func measuredBy(step, scenario, in string) bool {
	name, part, several := strings.Cut(step, "-")
	return step == scenario || several && name == scenario && strings.Contains(in, part)
}
