package main

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/bench/plain"
	"github.com/sparkoperator/spark-operator/bench/report"
)

// TestMain makes the test's binary the plain program, as the bench's is.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == plain.Command {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestQuick runs the quick plan and holds it to bounds with wide margins: ratios within the run, and counts. It holds no
// duration, as this machine does other things too.
func TestQuick(t *testing.T) { plan(t, "quick", true) }

// TestTiny runs every scenario at a tiny size: every figure that full.yaml speaks of is measured, so that no bound lacks
// its figure after an hour. Spark-submit needs images and root; its figures are not expected.
func TestTiny(t *testing.T) {
	run := plan(t, "tiny", false)
	spec, err := report.Bounds("full")
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range report.Check(run, spec) {
		for _, v := range of {
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
		t.Skip("-short: starts a control plane")
	}
	var out strings.Builder
	run, err := options{plan: name, check: check, root: ".."}.measure(t.Context(), &out)
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
	return run
}
