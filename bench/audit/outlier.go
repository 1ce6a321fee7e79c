package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

// The bars that make an outlier, which are those of ranges/full.yaml.
const (
	MostWrites = 4               // status writes of a life that ends well, and events
	MostLag    = 2 * time.Second // from a driver's event to its status
)

// So many outliers of a load are told of at most: the first few of hundreds show why there are any.
const (
	mostBusy = 10 // for what was written of them
	mostLate = 3
)

// chapter is a write that tells something of an application.
type chapter struct {
	received, done time.Time
	what           string
}

// chapterOf is what a write tells of an application, for people; empty for nothing. What drivers and nodes do with its pods is told, and what the operator makes of
// that: its pod, its status, its Events, and all that was refused.
func chapterOf(e *Event, of owned) string {
	kind := e.Kind()
	switch counts := class(kind); {
	case e.Actor() == Node && kind == "create pods":
		return fmt.Sprintf("%s %s: created", of.role, e.Object.Name)
	case e.Actor() == Node && kind == "patch pods/status":
		return fmt.Sprintf("%s %s: %s", of.role, e.Object.Name, phaseOf(e.Body))
	case e.Actor() == Operator && (counts == figure.StatusWrites || counts == figure.EventWrites || kind == "create pods" || !e.OK()):
		return fmt.Sprintf("%s, %d: %s", kind, e.Status.Code, content(e))
	}
	return ""
}

// longest is how much is told of what a write sent: of a status so much that it is known for what it was written.
const longest = 500

// content is what a write says: of a status what becomes another, of an Event its reason; of everything else the name is enough.
func content(e *Event) string {
	var body struct {
		Reason string
		Status json.RawMessage
	}
	_ = json.Unmarshal(e.Body, &body) // it says nothing
	said := e.Object.Name
	switch class(e.Kind()) {
	case figure.EventWrites:
		said = cmp.Or(body.Reason, said)
	case figure.StatusWrites:
		said = string(body.Status)
	}
	if len(said) > longest {
		said = strings.ToValidUTF8(said[:longest], "") + "..."
	}
	return said
}

// slow is how long an answer takes that is told of.
const slow = 100 * time.Millisecond

// story is what is told of a life, in the order of the answers.
func (l *life) story() (lines []string) {
	for _, c := range slices.SortedStableFunc(slices.Values(l.chapters), func(a, b chapter) int { return a.done.Compare(b.done) }) {
		line := fmt.Sprintf("%.3f s", c.done.Sub(l.since).Seconds())
		if took := c.done.Sub(c.received); took >= slow {
			line += fmt.Sprintf(" (answered after %.3f s)", took.Seconds())
		}
		lines = append(lines, line+" "+c.what)
	}
	return lines
}

// Outliers are the applications of a scenario and case that are past a bar, the farthest first, and of each bar a few.
func (a Account) Outliers(scenario, of string) (out []figure.Outlier) {
	name := func(apps []key, most int, why func(app key) string) {
		for _, app := range apps[:min(most, len(apps))] {
			out = append(out, figure.Outlier{
				Scenario: scenario, Case: of, Application: app.namespace + "/" + app.name, Why: why(app), Story: a.Lives[app].story(),
			})
		}
	}
	busy := a.Lives.busy()
	name(busy, mostBusy, func(app key) string {
		is := a.Lives[app].writes
		return fmt.Sprintf("%d status writes and %d events, one of %s lives with more than %d of either",
			is[figure.StatusWrites], is[figure.EventWrites], figure.Count(len(busy)), MostWrites)
	})
	late := slices.SortedFunc(maps.Keys(a.late), func(x, y key) int { return cmp.Or(cmp.Compare(a.late[y], a.late[x]), x.compare(y)) })
	name(late, mostLate, func(app key) string {
		return fmt.Sprintf("a status that lags %.3f s behind the driver, one of %s applications of which one lags more than %s",
			a.late[app].Seconds(), figure.Count(len(late)), MostLag)
	})
	return out
}

// busy are the lives that ended well of which more is written than the bar, those with the most first.
func (l Lives) busy() []key {
	most := func(app key) int { return max(l[app].writes[figure.StatusWrites], l[app].writes[figure.EventWrites]) }
	apps := slices.DeleteFunc(slices.Collect(maps.Keys(l)), func(app key) bool { return !l[app].created || !l[app].good || most(app) <= MostWrites })
	slices.SortFunc(apps, func(x, y key) int { return cmp.Or(cmp.Compare(most(y), most(x)), x.compare(y)) })
	return apps
}

func (k key) compare(o key) int {
	return cmp.Or(cmp.Compare(k.namespace, o.namespace), cmp.Compare(k.name, o.name))
}
