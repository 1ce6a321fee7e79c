package report

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParseRejectsInvalidBounds(t *testing.T) {
	for name, text := range map[string]string{
		"an unknown field":            "bounds: [{figure: a//b, why: x, most: 3}]",
		"no why":                      "bounds: [{figure: a//b}]",
		"a * without a set":           "bounds: [{figure: a/*/b, why: x}]",
		"a set without a *":           "sets: {s: [x]}\nbounds: [{figure: a//b, each: s, why: x}]",
		"an unknown set":              "bounds: [{figure: a/*/b, each: s, why: x}]",
		"a minimum above the maximum": "bounds: [{figure: a//b, min: 2, max: 1, why: x}]",
	} {
		if _, err := parse([]byte(text)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestCheckComparesWithBounds(t *testing.T) {
	s, err := parse([]byte(`
sets: {cases: [p, q]}
bounds:
- {figure: a//n, min: 1, max: 2, why: inside}
- {figure: a//n, max: 1, why: outside}
- {figure: a//none, why: missing}
- {figure: a//cpu, per: a//ms, min: 500, why: "units of a ratio"}
- {figure: a//n, per: a//zero, max: 1, why: "a ratio with nothing"}
- {figure: b/*/n, each: cases, max: 3, why: each}
- {figure: c//n, why: another scenario}
`))
	if err != nil {
		t.Fatal(err)
	}

	run := &Run{Measurements: []Measurement{
		{ID: "a//n", Value: 1.5}, {ID: "a//cpu", Value: 8, Unit: "s"}, {ID: "a//ms", Value: 10, Unit: "ms"},
		{ID: "a//zero"},
		{ID: "b/p/n", Value: 1}, {ID: "b/q/n", Value: 2},
	}}
	all := Check(run, s.Select([]string{"a", "b"}))

	want := []string{"1.5 holds", "1.5 **missed**", "missing **not measured**", "800 holds", "missing **not measured**",
		"2 holds"}
	if len(all) != len(want) {
		t.Fatalf("%d bounds", len(all))
	}

	for i, verdicts := range all {
		if v := Worst(verdicts); v.Measured()+" "+v.Verdict() != want[i] {
			t.Errorf("%s: %s %s, want %s", v.Why, v.Measured(), v.Verdict(), want[i])
		}
	}

	var out strings.Builder
	if failed := Print(&out, all); failed != 3 || !strings.Contains(out.String(), "a//none") {
		t.Errorf("%d failed:\n%s", failed, &out)
	}

	for want, b := range map[string]Bound{
		"exactly 2": bound(2, 2), "1 to 2": bound(1, 2), "at least 1": {Min: new(1.0)}, "at most 2": {Max: new(2.0)},
		"measured": {},
	} {
		if b.Range() != want {
			t.Errorf("%q, want %q", b.Range(), want)
		}
	}
}

func bound(low, high float64) Bound { return Bound{Min: &low, Max: &high} }

func TestLoadReturnsTheSavedRun(t *testing.T) {
	r := &Run{Plan: "full", Steps: []Step{{Name: "a"}}}
	r.Add("a", "c", "n", 1, "s")
	r.Add("a", "", "nothing", math.NaN(), "")
	r.Add("a", "", "endless", math.Inf(1), "")

	file := filepath.Join(t.TempDir(), "run.json")
	if err := r.Save(file); err != nil {
		t.Fatal(err)
	}

	got, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}

	want := []Measurement{{ID: "a/c/n", Value: 1, Unit: "s"}}
	if diff := cmp.Diff(want, got.Measurements); diff != "" {
		t.Error(diff)
	}
	defer func() {
		if got := recover(); !strings.Contains(fmt.Sprint(got), "a/c/n") {
			t.Errorf("a measurement that was added twice: %v", got)
		}
	}()

	r.Add("a", "c", "n", 2, "s")
}

func TestNewestTakesCompleteScenarios(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC) }
	runs := []*Run{
		{Plan: "full", Began: at(1), Steps: []Step{{Name: "a"}, {Name: "b"}, {Name: "c", Error: "x"}},
			Measurements: []Measurement{{ID: "a//n", Value: 1}, {ID: "b//n", Value: 1}, {ID: "c//n", Value: 1}}},
		{Plan: "full", Began: at(2), Steps: []Step{{Name: "a"}, {Name: "b", Error: "x"}},
			Measurements: []Measurement{{ID: "a//n", Value: 2}, {ID: "b//n", Value: 2}}},
	}
	got := Newest(runs)
	want := []Measurement{{ID: "a//n", Value: 2}, {ID: "b//n", Value: 1}}

	less := cmpopts.SortSlices(func(a, b Measurement) bool { return a.ID < b.ID })
	if diff := cmp.Diff(want, got.Measurements, less); diff != "" || len(got.Steps) != 2 || !got.Began.Equal(at(2)) {
		t.Errorf("%+v\n%s", got, diff)
	}
}

func TestFormatKeepsThreeDigits(t *testing.T) {
	for want, got := range map[string]string{
		"0": Format(0, ""), "0 ms": Format(0, "ms"), "4.57 ms": Format(4.567, "ms"), "45.7": Format(45.67, ""),
		"4,570 B": Format(4567.2, "B"), "0.0457": Format(0.04567, ""), "100": Format(100, ""),
		"17.5/s": Format(17.5, "1/s"),
		"-1,230": Format(-1234.9, ""), "1,230,000": Format(1234567, ""), "0.000015 s": Format(0.000015, "s"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestQuantileAndRateOfSamples(t *testing.T) {
	values := []time.Duration{3, 1, 2}
	for share, want := range map[float64]time.Duration{0: 1, 0.5: 2, 0.99: 3, 1: 3} {
		if got := Quantile(values, share); got != want {
			t.Errorf("quantile %v is %d, want %d", share, got, want)
		}
	}

	steady := []time.Time{time.Unix(-1000, 0)} // one in two seconds, except for the first and the last
	for i := range 18 {
		steady = append(steady, time.Unix(int64(2*i), 0))
	}

	steady = append(steady, time.Unix(1000, 0))
	if got := Rate(steady); got != 0.5 {
		t.Errorf("the rate is %v", got)
	}

	if got := Rate(nil); !math.IsNaN(got) || Quantile(nil, 0.5) != 0 {
		t.Errorf("of nothing the rate is %v", got)
	}
}

// TestPageMatchesTheRuns checks that the committed pages and plots match the committed runs, and that each file has at
// most 150 lines.
func TestPageMatchesTheRuns(t *testing.T) {
	root := t.TempDir()
	if err := errors.Join(os.CopyFS(filepath.Join(root, "bench/runs"), os.DirFS("../runs")),
		os.MkdirAll(filepath.Join(root, "docs/performance"), 0o755)); err != nil {
		t.Fatal(err)
	}

	if err := Write(root); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"performance.md", "performance/runs.md", "performance/memory.svg", "performance/cpu.svg",
		"performance/latency.svg"} {
		got, err := os.ReadFile(filepath.Join(root, "docs", name))
		if err != nil {
			t.Fatal(err)
		}

		want, err := os.ReadFile(filepath.Join("../../docs", name))
		if diff := cmp.Diff(string(want), string(got)); diff != "" || err != nil {
			t.Errorf("%s does not match the runs: write it with go run . -plan '' -page (%v)\n%s", name, err, diff)
		}

		if lines := strings.Count(string(got), "\n"); lines > 150 {
			t.Errorf("%s has %d lines", name, lines)
		}
	}
}
