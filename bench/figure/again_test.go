package figure

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestAgain holds that a step that was measured again leaves nothing of what was measured before, and all of the others'.
func TestAgain(t *testing.T) {
	at := time.Date(2026, 11, 22, 4, 5, 6, 0, time.UTC)
	run := &Run{
		Figures: []Figure{{Scenario: "lives", Name: "a", Value: 1}, {Scenario: "coldstart", Case: "about 9 live", Name: "a", Value: 2},
			{Scenario: "coldstart", Case: "about 0 finished", Name: "a", Value: 3}, {Scenario: "finished", Name: "b", Value: 4}},
		Series:   []Series{{Scenario: "lives", Title: "l"}, {Scenario: "finished", Title: "f"}},
		Notes:    []Note{{"finished", "before"}, {"lives", "stays"}},
		Outliers: []Outlier{{Scenario: "coldstart", Case: "about 0 finished", Why: "before"}, {Scenario: "lives", Why: "stays"}},
		Failed:   []string{"finished", "deletion"},
	}
	run.Again([]string{"finished", "coldstart-finished"}, &Run{
		Began: at, Commit: "abc",
		Figures:  []Figure{{Scenario: "finished", Name: "b", Value: 5}, {Scenario: "coldstart", Case: "about 9 finished", Name: "a", Value: 6}},
		Series:   []Series{{Scenario: "finished", Title: "g"}},
		Notes:    []Note{{"finished", "after"}},
		Outliers: []Outlier{{Scenario: "finished", Why: "after"}},
	})
	want := &Run{
		Figures: []Figure{{Scenario: "lives", Name: "a", Value: 1}, {Scenario: "coldstart", Case: "about 9 live", Name: "a", Value: 2},
			{Scenario: "finished", Name: "b", Value: 5}, {Scenario: "coldstart", Case: "about 9 finished", Name: "a", Value: 6}},
		Series: []Series{{Scenario: "lives", Title: "l"}, {Scenario: "finished", Title: "g"}},
		Notes: []Note{{"lives", "stays"}, {"finished", "after"}, {"finished", "Measured in a run of its own, of 2026-11-22 04:05:06 and commit abc."},
			{"coldstart", "What is finished: measured in a run of its own, of 2026-11-22 04:05:06 and commit abc."}},
		Outliers: []Outlier{{Scenario: "lives", Why: "stays"}, {Scenario: "finished", Why: "after"}},
		Failed:   []string{"deletion"},
	}
	for _, part := range []struct {
		name      string
		want, got any
	}{{"figures", want.Figures, run.Figures}, {"series", want.Series, run.Series}, {"notes", want.Notes, run.Notes}, {"outliers", want.Outliers, run.Outliers},
		{"failed", want.Failed, run.Failed}} {
		if diff := cmp.Diff(part.want, part.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", part.name, diff)
		}
	}
}
