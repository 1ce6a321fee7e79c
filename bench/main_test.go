package main

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/bench/plain"
	"github.com/sparkoperator/spark-operator/bench/report"
)

// TestMain lets the test binary act as the plain program if its first argument is plain.Command, as the bench's binary
// does. Otherwise it runs the tests.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == plain.Command {
		main()
		return
	}

	os.Exit(m.Run())
}

// TestQuickPlanHoldsItsBounds runs the quick plan and checks its bounds. Each bound limits a ratio of two measurements
// of the run, or a count, with a wide margin. No bound limits a duration, because other programs may use the machine.
func TestQuickPlanHoldsItsBounds(t *testing.T) { plan(t, "quick", true) }

// TestTinyPlanMeasuresEveryBound runs every scenario at a tiny size, and checks that every bound in full.yaml has a
// measurement. Without this test, a full run would need an hour to show that a measurement is missing. The measurements
// of spark-submit are not expected, because they need images and root.
func TestTinyPlanMeasuresEveryBound(t *testing.T) {
	run := plan(t, "tiny", false)

	spec, err := report.Bounds("full")
	if err != nil {
		t.Fatal(err)
	}

	for _, verdicts := range report.Check(run, spec) {
		for _, v := range verdicts {
			if v.Missing && !strings.Contains(v.ID, "spark-submit") {
				t.Errorf("%s is not measured", v.ID)
			}
		}
	}
}

func plan(t *testing.T, name string, check bool) *report.Run {
	t.Helper()

	if runtime.GOOS != "linux" {
		t.Skip("the embedded control plane and /proc need Linux")
	}

	if testing.Short() {
		t.Skip("starts a control plane: skipped with -short")
	}
	var out strings.Builder
	run, err := options{plan: name, check: check, root: ".."}.measure(t.Context(), &out)
	t.Log(out.String())

	if err != nil {
		t.Fatal(err)
	}
	return run
}
