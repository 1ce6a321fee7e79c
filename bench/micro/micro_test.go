package micro

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/ranges"
)

const printed = `goos: linux
pkg: github.com/sparkoperator/spark-operator/lifecycle/application
cpu: AMD EPYC
BenchmarkStep
BenchmarkStep/5-executors
BenchmarkStep/5-executors-2         	     100	       301.2 ns/op	       0 B/op	       1 allocs/op
BenchmarkStep/1000-executors        	     100	      6764 ns/op	       0.5 MB/s	       0 B/op	       0 allocs/op
PASS
ok  	github.com/sparkoperator/spark-operator/lifecycle/application	0.036s
pkg: github.com/sparkoperator/spark-operator/dialect/apache/application
BenchmarkRender-16     	     100	    202993 ns/op
`

func TestParse(t *testing.T) {
	row := func(name, column string, value float64, unit string) figure.Figure {
		return figure.Figure{Scenario: "micro", Case: column, Name: name, Value: value, Unit: unit}
	}
	want := []figure.Figure{
		row("lifecycle/application Step 5-executors", Time, 301.2, "ns"), row("lifecycle/application Step 5-executors", Memory, 0, "B"),
		row("lifecycle/application Step 5-executors", Allocations, 1, ""),
		row("lifecycle/application Step 1000-executors", Time, 6764, "ns"), row("lifecycle/application Step 1000-executors", Memory, 0, "B"),
		row("lifecycle/application Step 1000-executors", Allocations, 0, ""),
		row("dialect/apache Render", Time, 202993, "ns"),
	}
	got, err := Parse(strings.NewReader(printed))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseRefuses(t *testing.T) {
	if _, err := Parse(strings.NewReader("BenchmarkStep-2 100 many ns/op\n")); err == nil || !strings.Contains(err.Error(), "many ns/op") {
		t.Errorf("the error is %v, and does not show the line", err)
	}
	if got, err := Parse(strings.NewReader("FAIL\nBenchmarks are nice\n")); err != nil || len(got) > 0 {
		t.Errorf("%v, %v of text that is no benchmark's", got, err)
	}
}

// TestRun runs every benchmark once, so that none is broken; and none is forgotten: the ranges of a full run demand exactly those.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles five test binaries")
	}
	got, err := Run(t.Context(), "../..", "1x")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range got {
		if f.Case == Time && f.Value <= 0 {
			t.Errorf("%s takes %v %s", f.Name, f.Value, f.Unit)
		}
		seen[f.ID()] = true
	}
	spec, err := ranges.Of("full")
	if err != nil {
		t.Fatal(err)
	}
	demanded := map[string]bool{}
	for _, r := range spec.Ranges {
		for _, id := range r.IDs() {
			if strings.HasPrefix(id, figure.Micro+"/") {
				demanded[id] = true
			}
		}
	}
	if diff := cmp.Diff(demanded, seen); diff != "" {
		t.Errorf("what is measured is not what is demanded (-demanded +measured):\n%s", diff)
	}
}
