package audit

import (
	"maps"
	"net/http"
	"slices"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

// Count is what was written in one way by one actor.
type Count struct {
	// Writes are the requests that were carried out, and Bytes what they sent, as JSON: the audit log does not tell what protobuf was, which is smaller. Bytes is
	// 0 where the log has no bodies.
	Writes int
	Bytes  int64
	// Conflicts were answered 409: what exists already, or was changed meanwhile. Refused were answered with another 4xx, and Failed otherwise.
	Conflicts, Refused, Failed int
}

func (c *Count) add(o Count) {
	c.Writes += o.Writes
	c.Bytes += o.Bytes
	c.Conflicts += o.Conflicts
	c.Refused += o.Refused
	c.Failed += o.Failed
}

// Tally is what was written, by actor and then by Event.Kind.
type Tally map[Actor]map[string]Count

// Add counts an event if it is a write.
func (t Tally) Add(e *Event) {
	if !e.Write() {
		return
	}
	kinds := t[e.Actor()]
	if kinds == nil {
		kinds = map[string]Count{}
		t[e.Actor()] = kinds
	}
	c := kinds[e.Kind()]
	switch {
	case e.OK():
		c.Writes++
		c.Bytes += int64(len(e.Body))
	case e.Status.Code == http.StatusConflict:
		c.Conflicts++
	case e.Status.Code < http.StatusInternalServerError:
		c.Refused++
	default:
		c.Failed++
	}
	kinds[e.Kind()] = c
}

// Kinds are what an actor wrote, in order.
func (t Tally) Kinds(a Actor) []string { return slices.Sorted(maps.Keys(t[a])) }

// Sum is what some actors wrote in all, of the kinds that are asked for; of all kinds when want is nil.
func (t Tally) Sum(want func(kind string) bool, actors ...Actor) (sum Count) {
	for _, a := range actors {
		for kind, c := range t[a] {
			if want == nil || want(kind) {
				sum.add(c)
			}
		}
	}
	return sum
}

// Everybody are all actors.
func Everybody() []Actor { return []Actor{Load, Node, Operator, Controllers, Scheduler, Other} }

// class is the figure that an operator's write counts to; empty for none.
func class(kind string) string {
	switch kind {
	case "create pods", "create configmaps", "create services":
		return figure.Objects
	case "patch sparkapplications/status", "update sparkapplications/status":
		return figure.StatusWrites
	case "create events", "patch events":
		return figure.EventWrites
	case "create leases", "update leases", "patch leases":
		return ""
	}
	return figure.OtherWrites
}

// Figures are the tally as figures of a scenario and case, an application: those that ranges speak of, then every kind of write of every actor as
// "ACTOR: VERB RESOURCE", its bytes as "ACTOR: VERB RESOURCE, bytes", and what failed, where something did, as "..., conflicts", "..., refused" and "..., failed".
func (t Tally) Figures(scenario, of string, applications int) []figure.Figure {
	var out []figure.Figure
	add := func(name string, value float64, unit string) {
		out = append(out, figure.Figure{Scenario: scenario, Case: of, Name: name, Value: value / float64(applications), Unit: unit})
	}
	for _, name := range []string{figure.Objects, figure.StatusWrites, figure.EventWrites, figure.OtherWrites} {
		add(name, float64(t.Sum(func(kind string) bool { return class(kind) == name }, Operator).Writes), "")
	}
	of4xx := t.Sum(func(kind string) bool { return class(kind) != "" }, Operator)
	add(figure.Conflicts, float64(of4xx.Conflicts+of4xx.Refused), "")
	all := t.Sum(nil, Everybody()...)
	add(figure.Writes, float64(all.Writes), "")
	add(figure.WriteBytes, float64(all.Bytes), "B")
	for _, actor := range Everybody() {
		for _, kind := range t.Kinds(actor) {
			c, name := t[actor][kind], string(actor)+": "+kind
			add(name, float64(c.Writes), "")
			for _, also := range []struct {
				what, unit string
				value      int64
			}{{"bytes", "B", c.Bytes}, {"conflicts", "", int64(c.Conflicts)}, {"refused", "", int64(c.Refused)}, {"failed", "", int64(c.Failed)}} {
				if also.value > 0 {
					add(name+", "+also.what, float64(also.value), also.unit)
				}
			}
		}
	}
	return out
}
