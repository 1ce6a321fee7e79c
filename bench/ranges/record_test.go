package ranges

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

// Ranges before a run is recorded in them, and after.
const (
	before = `# A comment.
ranges:
- figure: a/b/c
  per: a//c
  min: 0.5
  why: because
# Another.
- figure: "a/*/d"
  each: [v, w]
  max: 2
  why: w
  from:
  - {date: 2025-12-31, run: r, machine: old, value: 3}
- figure: a/b/c
  why: it is there
- figure: a/b/none
  max: 1
  why: it is not
`
	after = `# A comment.
ranges:
- figure: a/b/c
  per: a//c
  min: 0.5
  why: because
  from:
  - {date: 2026-01-02, run: 2026-01-02T030405Z-quick, machine: "2 cores, 24 GiB", value: 0.75}
# Another.
- figure: "a/*/d"
  each: [v, w]
  max: 2
  why: w
  from:
  - {date: 2026-01-02, run: 2026-01-02T030405Z-quick, machine: "2 cores, 24 GiB", value: 12345}
  - {date: 2025-12-31, run: r, machine: old, value: 3}
- figure: a/b/c
  why: it is there
- figure: a/b/none
  max: 1
  why: it is not
`
)

func TestRecord(t *testing.T) {
	run := &figure.Run{Plan: "quick", Began: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Machine: map[string]string{"memory": "24 GiB", "cores": "2"}}
	run.Add(figure.Figure{Scenario: "a", Case: "b", Name: "c", Value: 3}, figure.Figure{Scenario: "a", Name: "c", Value: 4},
		figure.Figure{Scenario: "a", Case: "v", Name: "d", Value: 1}, figure.Figure{Scenario: "a", Case: "w", Name: "d", Value: 12345.4})
	once, err := Record([]byte(before), run)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(after, string(once)); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	twice, err := Record(once, run)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(once), string(twice)); diff != "" {
		t.Errorf("recorded twice (-once +twice):\n%s", diff)
	}
	if _, err := Record([]byte("ranges: []"), run); err == nil {
		t.Error("a text that is no specification was recorded into")
	}
}

// TestRecordIn: the ranges of the run's plan are written, and nothing where there are none.
func TestRecordIn(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "bench", "ranges")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	ranges := filepath.Join(dir, "quick.yaml")
	if err := os.WriteFile(ranges, []byte("ranges:\n- figure: a/b/c\n  max: 1\n  why: w\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	keep := func(plan string) string {
		run := &figure.Run{Plan: plan}
		run.Add(figure.Figure{Scenario: "a", Case: "b", Name: "c", Value: 0.5})
		file := filepath.Join(root, plan+".json")
		if err := run.Save(file); err != nil {
			t.Fatal(err)
		}
		return file
	}
	got, err := RecordIn(root, keep("quick"))
	if err != nil || got != ranges {
		t.Errorf("%s, %v", got, err)
	}
	text, err := os.ReadFile(ranges)
	if err != nil || !strings.Contains(string(text), "run: 0001-01-01T000000Z-quick, machine: \"unknown\", value: 0.5") {
		t.Errorf("%s, %v", text, err)
	}
	for name, file := range map[string]string{"a plan without ranges": keep("tiny"), "no run": filepath.Join(root, "none.json"), "no such file of ranges": keep("full")} {
		if got, err := RecordIn(root, file); err == nil {
			t.Errorf("%s was recorded in %s", name, got)
		}
	}
}

func TestMachine(t *testing.T) {
	for want, facts := range map[string]map[string]string{"unknown": nil, "4 cores, EPYC": {"cores": "4", "processor": "EPYC", "kernel": "6"}} {
		if got := Machine(&figure.Run{Machine: facts}); got != want {
			t.Errorf("%v is %q, want %q", facts, got, want)
		}
	}
}
