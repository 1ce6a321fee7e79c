package main

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/bench/world"
)

// TestQuick runs the quick plan and holds it to ranges with wide margins: ratios within the run, and counts. It holds no duration: this machine does other
// things too.
func TestQuick(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the embedded control plane and /proc need Linux")
	}
	if testing.Short() {
		t.Skip("-short: starts a control plane")
	}
	var out strings.Builder
	err := start(t.Context(), options{plan: "quick", check: true, world: world.Options{Root: "..", Operator: os.Getenv("SPARK_OPERATOR"), Local: os.Getenv("SPARKLOCAL")}}, &out)
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
}
