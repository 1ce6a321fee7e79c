package audit

import (
	"time"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

// life is what the operator wrote for one application, by the figure that it counts to, and whether it ended well.
type life struct {
	writes  map[string]int
	created bool // within what is looked at
	since   time.Time
	good    bool

	chapters []chapter
}

// Lives are what the operator wrote for each application. A mean hides that some write twice as much while others, which are over sooner, write less.
type Lives map[key]*life

// add counts a write of an application.
func (l Lives) add(e *Event, of owned) {
	is := l[of.app]
	if is == nil {
		is = &life{writes: map[string]int{}, since: e.Done}
		l[of.app] = is
	}
	if what := chapterOf(e, of); what != "" {
		is.chapters = append(is.chapters, chapter{e.Received, e.Done, what})
	}
	switch {
	case !e.OK():
	case e.Kind() == "create sparkapplications":
		is.created, is.since = true, e.Done
	case e.Actor() == Operator:
		is.writes[class(e.Kind())]++
		if e.Object.Resource == "sparkapplications" && e.Object.Subresource == "status" && goodEnds[statusOf(e.Body).state()] {
			is.good = true
		}
	}
}

// goodEnds are the states of success, of either API.
var goodEnds = map[string]bool{"COMPLETED": true, "Succeeded": true}

// most is the most writes that count to a figure over the applications that ended well, from their creation on; how many these are comes with it.
func (l Lives) most(name string) (most, of int) {
	for _, is := range l {
		if is.created && is.good {
			most, of = max(most, is.writes[name]), of+1
		}
	}
	return most, of
}

// Figures are the most of one life, as figures of a scenario and case; none where no application ended well.
func (l Lives) Figures(scenario, of string) (out []figure.Figure) {
	for _, f := range [...]struct{ most, mean string }{
		{figure.MostObjects, figure.Objects}, {figure.MostStatusWrites, figure.StatusWrites}, {figure.MostEventWrites, figure.EventWrites},
		{figure.MostOtherWrites, figure.OtherWrites},
	} {
		if most, lives := l.most(f.mean); lives > 0 {
			out = append(out, figure.Figure{Scenario: scenario, Case: of, Name: f.most, Value: float64(most)})
		}
	}
	return out
}
