package scenario

import (
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
		after: world.Usage{Resident: 20e6, Peak: 30e6},
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
		figure.Taken: 0.5 / float64(runtime.NumCPU()), figure.Rate: 25, "applications a minute": 1500,
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

func TestSettleWaitsForWork(t *testing.T) {
	began := time.Now()
	busyUntil := began.Add(300 * time.Millisecond)
	since, err := settle(t.Context(), func() (world.Usage, error) {
		return world.Usage{CPU: min(time.Since(began), busyUntil.Sub(began))}, nil
	})
	if err != nil || since.Before(busyUntil.Add(-2*rest)) || time.Since(since) < calm {
		t.Errorf("quiet since %s after the begin, known %s after that, %v", since.Sub(began), time.Since(since), err)
	}
}

func TestCourses(t *testing.T) {
	samples := []world.Sample{
		{At: 0, Usage: world.Usage{CPU: time.Second, Resident: 1e6}, Depth: 1},
		{At: 2 * time.Second, Usage: world.Usage{CPU: 2 * time.Second, Resident: 2e6}, Depth: 7},
	}
	if got := deepest(samples); got != 7 {
		t.Errorf("the deepest is %v", got)
	}
	got := map[string][][2]float64{}
	for _, s := range courses("s", samples) {
		got[s.Title] = s.Points
	}
	want := map[string][][2]float64{"Queue depth": {{0, 1}, {2, 7}}, "Resident memory": {{0, 1}, {2, 2}}, "Operator CPU": {{0, 0}, {2, 0.5}}}
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
