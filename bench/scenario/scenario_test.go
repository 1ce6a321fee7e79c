package scenario

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBenchmarksParsesGoOutput(t *testing.T) {
	got := benchmarks(`goos: linux
pkg: github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application
BenchmarkStep
BenchmarkStep/5-executors-2   	     100	       301.2 ns/op	      16 B/op	       2 allocs/op
BenchmarkRender 	     100	      1000 ns/op	 0 B/op	       0 allocs/op
PASS
`)

	want := map[string][3]float64{"dialect/sparkoperator Step 5-executors": {301.2, 16, 2},
		"dialect/sparkoperator Render": {1000, 0, 0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestPlansAreComplete checks that the full and the tiny plan have all scenarios, and that the full plan sets all
// sizes.
func TestPlansAreComplete(t *testing.T) {
	if len(Plans["full"].Scenarios)+len(Plans["tiny"].Scenarios) != 0 {
		t.Error("a plan leaves out scenarios")
	}

	full := reflect.ValueOf(Plans["full"])
	for i := range full.NumField() {
		if name := full.Type().Field(i).Name; name != "Scenarios" && full.Field(i).IsZero() {
			t.Errorf("the full plan has no %s", name)
		}
	}

	lives := completeLives("team", Plans["full"].Lives)
	if n := lives.Count(); n != 400 || len(lives.Namespaces()) != 10 {
		t.Errorf("%d applications in the namespaces %v", n, lives.Namespaces())
	}

	if len(completeLives("few", 5).Applications()) != 5 {
		t.Error("a load of 5 applications does not have 5")
	}
}
