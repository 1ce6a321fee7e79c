// Package test runs the real sparklocal: real components, real processes, real namespaces. With -short, or not on Linux, it does nothing; what needs
// a node is skipped without root.
package test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/local/internal/supervise"
)

// limit is for what must come, on however busy a machine; nothing waits for it when all is well.
const limit = 90 * time.Second

var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() || runtime.GOOS != "linux" {
		fmt.Println("skipped: these tests start real clusters, which -short leaves out and which only Linux can run")
		return
	}
	os.Exit(withBinary(m))
}

func withBinary(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sparklocal-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "sparklocal")
	if out, err := exec.Command("go", "build", "-o", binary, "../cmd/sparklocal").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// cluster is one cluster in a directory of its own. It ends with the test, or with the test binary when that is killed.
type cluster struct {
	t   *testing.T
	dir string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: filepath.Join(t.TempDir(), "cluster")}
	t.Cleanup(func() {
		if t.Failed() {
			c.showLogs()
		}
		if out, err := c.try("down", "--dir", c.dir); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
	})
	return c
}

func (c *cluster) showLogs() {
	out, _ := c.try("status", "--dir", c.dir)
	c.t.Logf("status:\n%s", out)
}

// try runs sparklocal and returns everything that it prints.
func (c *cluster) try(args ...string) (string, error) {
	// Not the test's context: clean-ups run after its end.
	ctx, cancel := context.WithTimeout(context.Background(), limit+30*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// must runs sparklocal and fails the test when it does.
func (c *cluster) must(args ...string) string {
	c.t.Helper()
	out, err := c.try(args...)
	if err != nil {
		c.t.Fatalf("sparklocal %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// up brings the cluster up for as long as owner runs.
func (c *cluster) up(owner int, args ...string) string {
	c.t.Helper()
	return c.must(append([]string{"up", "--dir", c.dir, "--owner-pid", strconv.Itoa(owner)}, args...)...)
}

func (c *cluster) kubectl(args ...string) string {
	c.t.Helper()
	return c.must(append([]string{"kubectl", "--dir", c.dir}, args...)...)
}

// apply creates objects from text.
func (c *cluster) apply(manifest string) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), binary, "kubectl", "--dir", c.dir, "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(manifest)
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("apply: %v\n%s", err, out)
	}
}

// state is what `status -o json` tells.
func (c *cluster) state() supervise.State {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), binary, "status", "--dir", c.dir, "-o", "json")
	var out bytes.Buffer
	cmd.Stdout = &out
	// The exit status tells whether all is well, which is not the question here.
	_ = cmd.Run()
	var state supervise.State
	if err := json.Unmarshal(out.Bytes(), &state); err != nil {
		c.t.Fatalf("status: %v\n%s", err, out.String())
	}
	return state
}

func (c *cluster) component(name string) supervise.ComponentState {
	c.t.Helper()
	for _, component := range c.state().Components {
		if component.Name == name {
			return component
		}
	}
	c.t.Fatalf("no component %s", name)
	return supervise.ComponentState{}
}

// pids are all the processes that the supervisor knows, itself included.
func (c *cluster) pids() []int {
	c.t.Helper()
	state := c.state()
	pids := []int{state.Supervisor.PID}
	for _, component := range state.Components {
		if component.PID != 0 {
			pids = append(pids, component.PID)
		}
	}
	return pids
}

// owner is a process whose life a cluster can be tied to.
func owner(t *testing.T) *os.Process {
	t.Helper()
	cmd := exec.Command("sleep", "3600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd.Process
}

// until waits for a condition.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !condition(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in %v: %s", limit, what)
		}
	}
}

// running reports whether a process runs; a dead one that waits for its parent does not.
func running(pid int) bool {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(line), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// gone waits until none of the processes runs and the directory is no more.
func (c *cluster) gone(pids []int) {
	c.t.Helper()
	until(c.t, fmt.Sprintf("the processes %v end", pids), func() bool { return !slices.ContainsFunc(pids, running) })
	until(c.t, c.dir+" is removed", func() bool {
		_, err := os.Stat(c.dir)
		return os.IsNotExist(err)
	})
}

func itoa(n int) string { return strconv.Itoa(n) }
