package scenario

import (
	"context"
	"errors"
	"os"
	"regexp"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/bench/world"
)

func TestBill(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	b := bill{
		began: at, ended: at.Add(4 * time.Second), quiet: at.Add(10 * time.Second),
		cpu:   map[string]time.Duration{theOperator: 2 * time.Second, "etcd": 3 * time.Second},
		after: world.Usage{Resident: 20e6, Peak: 30e6}, work: 1500 * time.Microsecond,
	}
	got := map[string]float64{}
	for _, f := range append(b.figures("s", "c", 100), b.rate("s", "c", 100)...) {
		if f.Scenario != "s" || f.Case != "c" {
			t.Errorf("%+v", f)
		}
		got[f.Name] = f.Value
	}
	want := map[string]float64{
		figure.CPU: 20, figure.Resident: 20, figure.Peak: 30, "CPU of operator": 2, "CPU of etcd": 3,
		figure.Work: 1.5, figure.Taken: 1.25 / float64(runtime.NumCPU()), figure.Rate: 25, "applications a minute": 1500,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBinds(t *testing.T) {
	got := binds(map[string]time.Duration{"a": time.Second, "b": 3 * time.Second}, 4*time.Second, 2)
	if want := "50 % of the cores were taken; of that b 75 %, a 25 %."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestStillness has a process take CPU at moments: a trickle within what is idle does not end its rest, more does, and so does work that it had put off.
func TestStillness(t *testing.T) {
	begin := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	type reading struct{ at, cpu int } // milliseconds
	for name, tc := range map[string]struct {
		readings []reading
		since    int
	}{
		"nothing at all":                 {[]reading{{20, 0}, {900, 0}, {5000, 0}}, 0},
		"a trickle, for long":            {[]reading{{500, 10}, {1000, 20}, {2000, 40}, {3000, 60}, {4000, 80}}, 0},
		"work":                           {[]reading{{20, 30}, {40, 60}, {60, 60}, {1060, 70}}, 40},
		"work that comes late":           {[]reading{{500, 0}, {1000, 0}, {9000, 0}, {9020, 40}, {9900, 50}}, 9020},
		"little by little in one second": {[]reading{{300, 10}, {600, 20}, {900, 30}, {2000, 30}}, 900},
	} {
		s := stillness{since: begin, from: begin}
		for _, r := range tc.readings {
			s.see(begin.Add(time.Duration(r.at)*time.Millisecond), time.Duration(r.cpu)*time.Millisecond)
		}
		if got := s.since.Sub(begin); got != time.Duration(tc.since)*time.Millisecond {
			t.Errorf("%s: still since %s, want %d ms", name, got, tc.since)
		}
	}
}

func TestSettleEnds(t *testing.T) {
	bad := errors.New("bad")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(bad)
	still := func() (world.Usage, error) { return world.Usage{}, nil }
	if _, err := settleFor(ctx, calm, still); !errors.Is(err, bad) {
		t.Errorf("with the context: %v", err)
	}
	if _, err := settleFor(t.Context(), calm, func() (world.Usage, error) { return world.Usage{}, bad }); !errors.Is(err, bad) {
		t.Errorf("with what it reads: %v", err)
	}
	if _, err := settleFor(t.Context(), -1, still); err != nil {
		t.Errorf("when it is still: %v", err)
	}
}

// TestCalmIsLongerThanWhatIsPutOff reads how long the operator puts a status off: were it more, the bench would look away before it is written.
func TestCalmIsLongerThanWhatIsPutOff(t *testing.T) {
	text, err := os.ReadFile("../../internal/controller/pace.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^\s*patience\s*=\s*(\d+) \* time\.Second$`).FindSubmatch(text)
	if found == nil {
		t.Fatal("pace.go does not say what patience is: see what the operator puts off, and that calm is longer")
	}
	if patience, err := time.ParseDuration(string(found[1]) + "s"); err != nil || patience >= calm {
		t.Errorf("the operator puts off for %s, and is called calm after %s (%v)", patience, calm, err)
	}
}

func TestCourses(t *testing.T) {
	samples := []world.Sample{
		{At: 0, Usage: world.Usage{CPU: time.Second, Resident: 1e6}},
		{At: 2 * time.Second, Usage: world.Usage{CPU: 2 * time.Second, Resident: 2e6}, Depth: 7, Looked: true},
		{At: 3 * time.Second, Usage: world.Usage{CPU: 2 * time.Second, Resident: 2e6}},
		{At: 4 * time.Second, Usage: world.Usage{CPU: 2 * time.Second, Resident: 2e6}, Depth: 1, Looked: true},
	}
	if got, looked := deepest(samples); got != 7 || !looked {
		t.Errorf("the deepest is %v, %t", got, looked)
	}
	if got, looked := deepest(samples[:1]); looked {
		t.Errorf("where nobody looked the deepest is %v", got)
	}
	got := map[string][][2]float64{}
	for _, s := range courses("s", samples) {
		got[s.Title] = s.Points
	}
	want := map[string][][2]float64{
		"Queue depth": {{2, 7}, {4, 1}}, "Resident memory": {{0, 1}, {2, 2}, {3, 2}, {4, 2}}, "Operator CPU": {{0, 0}, {2, 0.5}, {3, 0}, {4, 0}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAtRate(t *testing.T) {
	spec := load.Spec{Seed: 3, Classes: []load.Class{{Name: "a", Namespace: "b", Namespaces: 10, Count: 1000, Executors: 5}, {Name: "c"}}}
	got := atRate(spec, 2.5, 2*time.Second)
	want := load.Spec{Seed: 3, Classes: []load.Class{{Name: "paced", Namespace: "paced", Namespaces: 5, Count: 5, Rate: 2.5, Executors: 5}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
