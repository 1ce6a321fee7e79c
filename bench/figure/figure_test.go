package figure

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestRunReadsBack(t *testing.T) {
	r := &Run{Began: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), Plan: "quick", Setting: "bare", Worlds: [][]string{{"a", "b"}}, Machine: map[string]string{"cores": "2"}, Versions: map[string]string{"Spark": "4.1.4"}}
	r.Add(Figure{Scenario: "lives", Case: "operator", Name: "rate", Value: 1.5, Unit: "1/s"}, Figure{Scenario: "burst", Name: "CPU", Value: 2, Unit: "ms"})
	r.Plot(Series{Scenario: "standing", Title: "memory", Name: "resident", X: "live", Y: "MB", Points: [][2]float64{{1, 2}}})
	r.Say("lives", "%d at once", 3)
	r.Name(Outlier{Scenario: "lives", Case: "operator", Application: "a/x", Why: "5 status writes", Story: []string{"0.1 s: a write"}})
	r.Fail("standing")
	path := filepath.Join(t.TempDir(), "run.json")
	if err := r.Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, got, cmpopts.IgnoreUnexported(Run{})); diff != "" {
		t.Error(diff)
	}
	for id, want := range map[string]float64{"lives/operator/rate": 1.5, "burst//CPU": 2} {
		if f, ok := got.Value(id); !ok || f.Value != want {
			t.Errorf("%s is %v, %t", id, f.Value, ok)
		}
	}
	if _, ok := got.Value("lives//rate"); ok {
		t.Error("a figure was found that nobody took")
	}
}

// TestRunLeavesOutWhatIsNoNumber: one division by nothing must not cost the whole run, which JSON could not hold.
func TestRunLeavesOutWhatIsNoNumber(t *testing.T) {
	var r Run
	r.Add(Figure{Name: "a", Value: math.NaN()}, Figure{Name: "b", Value: math.Inf(1)}, Figure{Name: "c", Value: 1})
	points := [][2]float64{{1, math.Inf(-1)}, {math.NaN(), 1}, {2, 3}}
	r.Plot(Series{Points: points})
	if err := r.Save(filepath.Join(t.TempDir(), "run.json")); err != nil {
		t.Fatal(err)
	}
	if len(r.Figures) != 1 || r.Figures[0].Name != "c" {
		t.Errorf("the figures are %v", r.Figures)
	}
	if diff := cmp.Diff([][2]float64{{2, 3}}, r.Series[0].Points); diff != "" || points[2] != [2]float64{2, 3} {
		t.Errorf("the points are (-want +got), and the caller's %v:\n%s", points, diff)
	}
}

// TestRunRefusesAFigureTwice: a range would be held against one of them, and a table show the other.
func TestRunRefusesAFigureTwice(t *testing.T) {
	var r Run
	r.Add(Figure{Scenario: "a", Name: "n", Value: math.NaN()}, Figure{Scenario: "a", Name: "n", Value: 1}, Figure{Scenario: "a", Case: "c", Name: "n", Value: 2})
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	r.Add(Figure{Scenario: "a", Case: "c", Name: "n", Value: 3}, Figure{Scenario: "b", Name: "n", Value: 4})
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "a/c/n") || strings.Contains(err.Error(), "b//n") {
		t.Errorf("the error is %v", err)
	}
	if f, _ := r.Value("a/c/n"); f.Value != 2 || len(r.Figures) != 3 {
		t.Errorf("the figure is %v, of %v", f, r.Figures)
	}
}

func TestQuantile(t *testing.T) {
	values := []time.Duration{3, 1, 2}
	for share, want := range map[float64]time.Duration{0: 1, 0.5: 2, 0.99: 3, 1: 3} {
		if got := Quantile(values, share); got != want {
			t.Errorf("quantile %v is %d, want %d", share, got, want)
		}
	}
	if got := Quantile(nil, 0.5); got != 0 {
		t.Errorf("of nothing it is %d", got)
	}
}
