// Package test runs the real sparklocal with real components, processes and namespaces. The tests
// run only on Linux and without -short. Tests that need a node are skipped without root.
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

// limit is the longest wait for an expected event, even on a busy machine. A passing test does not wait that long.
const limit = 90 * time.Second

var binary string

func TestMain(m *testing.M) {
	flag.Parse()

	if testing.Short() || runtime.GOOS != "linux" {
		fmt.Println("skipped: these tests start real clusters, which needs Linux and a run without -short")
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

// cluster is a cluster that a test starts in a directory of its own. It ends with the test. If the test binary is the
// owner of the cluster, the cluster also ends if the test binary is killed.
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

		if out, err := c.tryRun("down", "--dir", c.dir); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
	})
	return c
}

func (c *cluster) showLogs() {
	out, _ := c.tryRun("status", "--dir", c.dir)
	c.t.Logf("status:\n%s", out)
}

// tryRun runs sparklocal and returns its output.
func (c *cluster) tryRun(args ...string) (string, error) {
	// Do not use the test's context, because cleanups run after it ends.
	ctx, cancel := context.WithTimeout(context.Background(), limit+30*time.Minute)
	defer cancel()

	cmd := exec.CommandContext(ctx, binary, args...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// mustRun runs sparklocal and fails the test if sparklocal fails.
func (c *cluster) mustRun(args ...string) string {
	c.t.Helper()

	out, err := c.tryRun(args...)
	if err != nil {
		c.t.Fatalf("sparklocal %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// up runs `sparklocal up`, which starts the cluster. The parameter owner is the ID of a process; the cluster ends when
// this process ends.
func (c *cluster) up(owner int, args ...string) string {
	c.t.Helper()
	return c.mustRun(append([]string{"up", "--dir", c.dir, "--owner-pid", strconv.Itoa(owner)}, args...)...)
}

func (c *cluster) kubectl(args ...string) string {
	c.t.Helper()
	return c.mustRun(append([]string{"kubectl", "--dir", c.dir}, args...)...)
}

// apply creates the objects of a manifest.
func (c *cluster) apply(manifest string) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), binary, "kubectl", "--dir", c.dir, "apply", "-f", "-")

	cmd.Stdin = strings.NewReader(manifest)
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("apply: %v\n%s", err, out)
	}
}

// state returns the decoded output of `status -o json`.
func (c *cluster) state() supervise.State {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), binary, "status", "--dir", c.dir, "-o", "json")
	var out bytes.Buffer
	cmd.Stdout = &out
	// Ignore the exit status, which only reports whether all components are ready.
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

// pids returns the process IDs of the supervisor and all components.
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

// owner starts a process that can own a cluster.
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

// waitFor waits until the condition is true, and fails the test after limit. The failure contains the text goal.
func waitFor(t *testing.T, goal string, condition func() bool) {
	t.Helper()

	for end := time.Now().Add(limit); !condition(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("did not happen within %v: %s", limit, goal)
		}
	}
}

// running reports whether a process runs. A zombie does not run.
func running(pid int) bool {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}

	_, rest, _ := strings.Cut(string(line), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// waitUntilGone waits until all given processes have ended and the cluster's directory is removed.
func (c *cluster) waitUntilGone(pids []int) {
	c.t.Helper()
	waitFor(c.t, fmt.Sprintf("the processes %v end", pids), func() bool { return !slices.ContainsFunc(pids, running) })
	waitFor(c.t, c.dir+" is removed", func() bool {
		_, err := os.Stat(c.dir)
		return os.IsNotExist(err)
	})
}

func itoa(n int) string { return strconv.Itoa(n) }
