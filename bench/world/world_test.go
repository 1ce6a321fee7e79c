package world

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestParseUsage(t *testing.T) {
	stat := "12 (a (b) c) S 1 12 12 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 8 0 100 1000 200 18446744073709551615"
	got, err := parseUsage([]byte(stat), []byte("Name:\ta\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Usage{CPU: 3 * time.Second, Resident: 1 << 20, Peak: 2 << 20}, got); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct{ stat, status, want string }{
		{"12 (a) S 1", "", "proc(5)"},
		{strings.Replace(stat, "250", "x", 1), "", "parsing"},
		{stat, "VmRSS:\tmuch\n", "VmRSS"},
	} {
		if _, err := parseUsage([]byte(c.stat), []byte(c.status)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, %q: %v, want %q in it", c.stat, c.status, err, c.want)
		}
	}
}

func TestUsageOfItself(t *testing.T) {
	got, err := UsageOf(os.Getpid())
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("there is no /proc")
	}
	if err != nil || got.Resident <= 0 || got.Peak < got.Resident {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSum(t *testing.T) {
	text := "# HELP workqueue_depth keys\n# TYPE workqueue_depth gauge\n" +
		"workqueue_depth{name=\"a b\"} 2\nworkqueue_depth{name=\"c\"} 3e0\nworkqueue_depth_max{name=\"c\"} 7\nup 1\nbad x\n"
	for name, want := range map[string]float64{"workqueue_depth": 5, "workqueue_depth_max": 7, "up": 1} {
		if got, err := sum(strings.NewReader(text), name); err != nil || got != want {
			t.Errorf("%s is %v, %v, want %v", name, got, err, want)
		}
	}
	for _, name := range []string{"workqueue", "bad"} {
		if got, err := sum(strings.NewReader(text), name); err == nil {
			t.Errorf("%s is %v", name, got)
		}
	}
}

// TestSettings: the bench says where the operator listens and where its lease is, and leaves all else at what is installed.
func TestSettings(t *testing.T) {
	op := &Operator{metrics: "127.0.0.1:1", health: "127.0.0.1:2", pprof: "127.0.0.1:3"}
	for more, lease := range map[string]string{"": "default", "leaderElection: {namespace: a}\n": "a", "controller: {workers: 3}\nleaderElection:\n  namespace: a\n": "a"} {
		var got map[string]any
		if err := yaml.UnmarshalStrict([]byte(settings(op, more)), &got); err != nil {
			t.Errorf("%q: %v", more, err)
			continue
		}
		delete(got, "controller")
		want := map[string]any{
			"apiVersion": configAPIVersion, "kind": configKind, "leaderElection": map[string]any{"namespace": lease}, "metrics": map[string]any{"bindAddress": "127.0.0.1:1"},
			"health": map[string]any{"bindAddress": "127.0.0.1:2"}, "pprof": map[string]any{"bindAddress": "127.0.0.1:3"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", more, diff)
		}
	}
}

func TestEnvironment(t *testing.T) {
	given := []string{"PATH=/bin", "GOGC=10", "GOMEMLIMIT=1GiB", "GOGCX=1", "GODEBUG=x=1", "GOMAXPROCS=1"}
	if diff := cmp.Diff([]string{"PATH=/bin", "GOGCX=1"}, environment(given)); diff != "" || given[1] != "GOGC=10" {
		t.Errorf("(-want +got) of %v:\n%s", given, diff)
	}
}

// TestGoRuntime: the operator that is measured has the settings of Go's runtime that the chart installs.
func TestGoRuntime(t *testing.T) {
	text, err := os.ReadFile("../../charts/spark-operator/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		Controller struct {
			Go struct{ MaxProcs, GCPercent int }
		}
	}
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	installed := values.Controller.Go
	want := []string{fmt.Sprintf("GOMAXPROCS=%d", installed.MaxProcs), fmt.Sprintf("GOGC=%d", installed.GCPercent)}
	if diff := cmp.Diff(want, goRuntime); diff != "" {
		t.Errorf("(-chart +bench):\n%s", diff)
	}
}

// TestOperatorThatCannotBeRun: it is an error of the start, and nothing waits for it.
func TestOperatorThatCannotBeRun(t *testing.T) {
	op := &Operator{cmd: exec.Command(filepath.Join(t.TempDir(), "none")), ended: make(chan struct{})}
	if err := op.run(); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestOperatorEnds: a process that is over is noticed, whoever started it.
func TestOperatorEnds(t *testing.T) {
	op := &Operator{cmd: exec.Command("true"), ended: make(chan struct{})}
	op.cmd.SysProcAttr = dieWithParent()
	if err := op.run(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-op.ended:
	case <-t.Context().Done():
	}
	if !op.cmd.ProcessState.Success() {
		t.Error(op.cmd.ProcessState)
	}
}

func TestFreePorts(t *testing.T) {
	got, err := freePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	if got[0] == got[1] || got[1] == got[2] || got[0] == got[2] {
		t.Errorf("%v", got)
	}
}

func TestForEach(t *testing.T) {
	var n atomic.Int64
	if err := ForEach(t.Context(), 3, 10, func(_ context.Context, i int) error { n.Add(int64(i)); return nil }); err != nil || n.Load() != 45 {
		t.Errorf("sum %d, %v", n.Load(), err)
	}
	bad := errors.New("bad")
	n.Store(0)
	err := ForEach(t.Context(), 1, 10, func(_ context.Context, i int) error {
		n.Add(1)
		if i == 2 {
			return bad
		}
		return nil
	})
	if !errors.Is(err, bad) || n.Load() != 3 {
		t.Errorf("%d calls, %v", n.Load(), err)
	}
}

func TestUntil(t *testing.T) {
	tries := 0
	if err := Until(t.Context(), "it", func() (bool, error) { tries++; return tries == 2, nil }); err != nil || tries != 2 {
		t.Errorf("%d tries, %v", tries, err)
	}
	bad := errors.New("bad")
	if err := Until(t.Context(), "it", func() (bool, error) { return false, bad }); !errors.Is(err, bad) || !strings.Contains(err.Error(), "it") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(bad)
	if err := Until(ctx, "it", func() (bool, error) { return false, nil }); !errors.Is(err, bad) {
		t.Error(err)
	}
}

func TestTail(t *testing.T) {
	for text, want := range map[string]string{"": "", "a\n": "a", "a\nb\nc\n": "b\nc"} {
		if got := tail(text, 2); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
