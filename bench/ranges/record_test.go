package ranges

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

var record = flag.String("record", "", "a run's file: add what it measured to the ranges of its plan")

// recordRun adds a run to the ranges of its plan.
func recordRun(t *testing.T, name string) {
	t.Helper()
	run, err := figure.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	file := run.Plan + ".yaml"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text, err = Record(text, run); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestRecord(t *testing.T) {
	const before = `# A comment.
ranges:
- figure: a/b/c
  per: a//c
  min: 0.5
  why: because
# Another.
- figure: a/*/d
  max: 2
  why: w
  from:
  - {date: 2025-12-31, machine: old, value: 3}
- figure: a/b/c
  why: it is there
- figure: a/b/none
  max: 1
  why: it is not
`
	const after = `# A comment.
ranges:
- figure: a/b/c
  per: a//c
  min: 0.5
  why: because
  from:
  - {date: 2026-01-02, machine: "2 cores, 24 GiB", value: 0.75}
# Another.
- figure: a/*/d
  max: 2
  why: w
  from:
  - {date: 2026-01-02, machine: "2 cores, 24 GiB", value: 12345}
  - {date: 2025-12-31, machine: old, value: 3}
- figure: a/b/c
  why: it is there
- figure: a/b/none
  max: 1
  why: it is not
`
	run := &figure.Run{Began: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Machine: map[string]string{"memory": "24 GiB", "cores": "2"}}
	run.Add(figure.Figure{Scenario: "a", Case: "b", Name: "c", Value: 3}, figure.Figure{Scenario: "a", Name: "c", Value: 4},
		figure.Figure{Scenario: "a", Case: "x", Name: "d", Value: 1}, figure.Figure{Scenario: "a", Case: "y", Name: "d", Value: 12345.4})
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

func TestMachine(t *testing.T) {
	for want, facts := range map[string]map[string]string{"unknown": nil, "4 cores, EPYC": {"cores": "4", "processor": "EPYC", "kernel": "6"}} {
		if got := Machine(&figure.Run{Machine: facts}); got != want {
			t.Errorf("%v is %q, want %q", facts, got, want)
		}
	}
}
