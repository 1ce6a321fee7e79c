package scenario

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/internal/ground/goruntime"
)

// TestUsageOfThisProcess checks that the usage contains CPU time and memory in the expected units.
func TestUsageOfThisProcess(t *testing.T) {
	u := usageOf(os.Getpid())
	for ; u.cpu < 10*time.Millisecond && t.Context().Err() == nil; u = usageOf(os.Getpid()) {
		_ = strings.Repeat("x", 1<<20) // uses CPU
	}

	if u.cpu < 10*time.Millisecond || u.cpu > time.Hour || u.resident < 1<<20 || u.peak < u.resident {
		t.Errorf("%+v", u)
	}
}

// TestGoRuntimeMatchesTheChart checks that the measured programs have exactly the settings of Go's runtime that the
// chart installs.
func TestGoRuntimeMatchesTheChart(t *testing.T) {
	text, err := os.ReadFile("../../charts/spark-operator/values.yaml")
	if err != nil {
		t.Fatal(err)
	}

	var values struct {
		Controller struct {
			Go struct{ MaxProcs, GCPercent, HeapReserveMiB int }
		}
	}
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}

	installed := values.Controller.Go

	if diff := cmp.Diff(goruntime.Settings(installed), goruntime.Default); diff != "" {
		t.Errorf("(-chart +programs):\n%s", diff)
	}

	given := []string{"PATH=/bin", "GOGC=10", "GOMEMLIMIT=1GiB", "GOGCX=1", "GODEBUG=x=1", "GOMAXPROCS=1",
		"HEAP_RESERVE_MIB=1"}
	if diff := cmp.Diff([]string{"PATH=/bin", "GOGCX=1"}, environment(given)); diff != "" {
		t.Error(diff)
	}
}

// TestEndOfAProgramEndsTheScenario checks that a scenario ends if the measured program ends by itself. The error of the
// scenario names the reason.
func TestEndOfAProgramEndsTheScenario(t *testing.T) {
	p := &program{cmd: exec.Command("true"), ended: make(chan struct{})}
	if err := p.run(); err != nil {
		t.Fatal(err)
	}

	<-p.ended

	err := (&rig{}).play(t.Context(), time.Minute, true, Binaries{}, func(*rig) { p.stop() }, nil)
	if err == nil || !strings.Contains(err.Error(), "ended") {
		t.Error(err)
	}
}
