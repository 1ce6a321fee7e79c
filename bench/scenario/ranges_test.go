package scenario

import (
	"testing"

	"github.com/sparkoperator/spark-operator/bench/audit"
	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/ranges"
)

// TestEveryLevelIsHeld: what is demanded of the operator beside many applications is demanded beside each number of them that the full plan measures, so that a level
// that was not reached is missed.
func TestEveryLevelIsHeld(t *testing.T) {
	spec, err := ranges.Of("full")
	if err != nil {
		t.Fatal(err)
	}
	held := spec.IDs()
	cases := [][2]string{{figure.Finished, FinishedCase(large.finished)}}
	for _, n := range large.levels {
		cases = append(cases, [2]string{figure.Standing, figure.LiveCase(n)})
	}
	for _, in := range cases {
		for _, name := range []string{
			figure.Rate, figure.CPU, figure.Launch50, figure.Launch99, figure.DriverLag50, figure.DriverLag99, figure.ExecutorLag50, figure.ExecutorLag99, figure.Writes,
			figure.WriteBytes, figure.QueueDepth, figure.Peak, figure.NoDriver, figure.NoStatus,
		} {
			if id := (figure.Figure{Scenario: in[0], Case: in[1], Name: name}).ID(); !held[id] {
				t.Errorf("no range demands %s", id)
			}
		}
	}
	for _, in := range cases {
		for _, name := range []string{figure.CPU, figure.Launch99, figure.DriverLag99, figure.ExecutorLag99, figure.NoDriver, figure.NoStatus} {
			if id := (figure.Figure{Scenario: in[0], Case: pressed(in[1]), Name: name}).ID(); !held[id] {
				t.Errorf("no range demands %s", id)
			}
		}
	}
	for _, in := range []string{figure.LiveCase(large.levels[len(large.levels)-1]), FinishedCase(large.finished)} {
		for _, name := range []string{figure.FirstDecision, figure.Peak, figure.Resident} {
			if id := (figure.Figure{Scenario: figure.ColdStart, Case: "about " + in, Name: name}).ID(); !held[id] {
				t.Errorf("no range demands %s", id)
			}
		}
	}
}

// TestOutliersAreThoseOfTheRanges: what is past a bar of the ranges is named, and nothing that is not.
func TestOutliersAreThoseOfTheRanges(t *testing.T) {
	spec, err := ranges.Of("full")
	if err != nil {
		t.Fatal(err)
	}
	most := map[string]float64{}
	for _, r := range spec.Ranges {
		for _, id := range r.IDs() {
			if r.Max != nil && r.Per == "" {
				most[id] = *r.Max
			}
		}
	}
	for name, bar := range map[string]float64{
		figure.MostStatusWrites: audit.MostWrites, figure.MostEventWrites: audit.MostWrites, figure.DriverLag99: audit.MostLag.Seconds(),
	} {
		id := figure.Figure{Scenario: figure.Lives, Case: figure.Operator, Name: name}.ID()
		if got, held := most[id]; !held || got != bar {
			t.Errorf("%s is held to %v, and what has more than %v is named", id, got, bar)
		}
	}
}
