package supervise

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// limit is the longest wait for an expected event. A passing test does not wait that long.
const limit = 20 * time.Second

func newSupervisor(t *testing.T) (*Supervisor, string) {
	t.Helper()
	dir := t.TempDir()

	s, err := New(dir, (*exec.Cmd).Start)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(s.Stop)
	return s, dir
}

func shell(name, script string) Component {
	return Component{Name: name, Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=/usr/bin:/bin"}}
}

// eventually waits until the state file contains a wanted state of the component.
func eventually(t *testing.T, dir, name string, want func(ComponentState) bool) ComponentState {
	t.Helper()

	var last ComponentState
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		state, err := ReadState(dir)
		if err != nil {
			t.Fatal(err)
		}

		for _, c := range state.Components {
			if c.Name == name {
				last = c
			}
		}

		if want(last) {
			return last
		}
	}

	t.Fatalf("%s does not reach the wanted status: %+v", name, last)
	return last
}

func TestBackoffDoubles(t *testing.T) {
	for deaths, want := range map[int]time.Duration{
		0: 200 * time.Millisecond, 1: 200 * time.Millisecond, 2: 400 * time.Millisecond, 3: 800 * time.Millisecond,
		6: 6400 * time.Millisecond,
		7: 10 * time.Second, 8: 10 * time.Second, 1 << 20: 10 * time.Second,
	} {
		if got := Backoff(deaths); got != want {
			t.Errorf("Backoff(%d) = %v, want %v", deaths, got, want)
		}
	}
}

func TestComponentIsReadyWhenItsHealthCheckPasses(t *testing.T) {
	s, dir := newSupervisor(t)
	flag := filepath.Join(dir, "flag")
	c := shell("one", "sleep 600")
	c.Ready = func(context.Context) error { _, err := os.Stat(flag); return err }
	s.Start(c)
	eventually(t, dir, "one", func(c ComponentState) bool { return c.PID > 0 && c.Status == ComponentStarting })

	if err := os.WriteFile(flag, nil, 0o644); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()

	if err := s.WaitReady(ctx, "one"); err != nil {
		t.Fatal(err)
	}

	eventually(t, dir, "one", func(c ComponentState) bool {
		return c.Status == ComponentReady && c.Restarts == 0 &&
			c.LastExit == ""
	})
}

func TestDeadComponentIsRestarted(t *testing.T) {
	s, dir := newSupervisor(t)
	s.Start(shell("one", "sleep 600"))

	first := eventually(t, dir, "one", func(c ComponentState) bool { return c.Status == ComponentReady })

	process, err := os.FindProcess(first.PID)
	if err != nil {
		t.Fatal(err)
	}

	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}

	second := eventually(t, dir, "one",
		func(c ComponentState) bool { return c.Status == ComponentReady && c.Restarts == 1 })
	if second.PID == first.PID {
		t.Errorf("the process id is still %d", first.PID)
	}

	if second.LastExit != "signal: killed" {
		t.Errorf("its last run ended with %q", second.LastExit)
	}
}

func TestStartErrorQuotesTheLog(t *testing.T) {
	s, dir := newSupervisor(t)
	c := shell("one", "echo the reason why; exit 7")
	c.Ready = func(context.Context) error { return errors.New("never") }
	s.Start(c)

	err := s.WaitReady(t.Context(), "one")
	if err == nil {
		t.Fatal("no error")
	}

	for _, want := range []string{"one keeps exiting (exit status 7)", LogFile(dir, "one"), "the reason why"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
}

func TestStartTimeoutIsAnError(t *testing.T) {
	s, _ := newSupervisor(t)
	c := shell("one", "echo slow; sleep 600")
	probed := make(chan struct{}, 1)
	c.Ready = func(context.Context) error {
		select {
		case probed <- struct{}{}:
		default:
		}
		return errors.New("never")
	}
	s.Start(c)

	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-probed; cancel() }()

	if err := s.WaitReady(ctx, "one"); err == nil || !strings.Contains(err.Error(), "did not become ready in time") {
		t.Errorf("error %v", err)
	}

	if err := s.WaitReady(t.Context(), "another"); err == nil {
		t.Error("a component that was never started became ready")
	}
}

func TestMissingProgramIsNamed(t *testing.T) {
	s, dir := newSupervisor(t)
	s.Start(Component{Name: "one", Path: "/nowhere/one"})

	c := eventually(t, dir, "one", func(c ComponentState) bool { return c.Restarts > 0 })
	if !strings.Contains(c.LastExit, "/nowhere/one") {
		t.Errorf("its last run ended with %q, which does not name the program", c.LastExit)
	}
}

func TestComponentsDoNotInheritTheEnvironment(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://proxy.example.com")
	s, dir := newSupervisor(t)
	s.Start(shell("one", "echo [$HTTPS_PROXY]; sleep 600"))
	eventually(t, dir, "one", func(c ComponentState) bool { return strings.Contains(Tail(c.Log, 1), "[") })

	if got := Tail(LogFile(dir, "one"), 1); got != "[]" {
		t.Errorf("the component sees %s", got)
	}
}

func TestStopKillsAllComponents(t *testing.T) {
	s, dir := newSupervisor(t)
	for _, name := range []string{"one", "two"} {
		s.Start(shell(name, "trap '' TERM; sleep 600 & wait; wait"))
	}

	var pids []int
	for _, name := range []string{"one", "two"} {
		pids = append(pids, eventually(t, dir, name,
			func(c ComponentState) bool { return c.Status == ComponentReady }).PID)
	}

	s.Stop()

	for i, name := range []string{"one", "two"} {
		eventually(t, dir, name, func(c ComponentState) bool { return c.Status == ComponentStopped && c.PID == 0 })

		if _, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pids[i]))); err == nil {
			t.Errorf("%s still runs", name)
		}
	}
}

func TestReadStateReturnsWrittenState(t *testing.T) {
	s, dir := newSupervisor(t)
	s.Step("certificates", time.Now())
	s.SetPhase(Failed, errors.New("because"))

	state, err := ReadState(dir)
	if err != nil {
		t.Fatal(err)
	}

	if state.Phase != Failed || state.Error != "because" || len(state.Steps) != 1 ||
		state.Steps[0].Name != "certificates" {
		t.Errorf("state is %+v", state)
	}

	if !state.Supervisor.Alive() {
		t.Error("the state names a supervisor that does not run")
	}

	if _, err := ReadState(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory without a state gave %v", err)
	}
}

func TestCapLogRotatesLongLogs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")

	log, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()

	write := func(text string) {
		t.Helper()

		if _, err := log.WriteString(text); err != nil {
			t.Fatal(err)
		}

		if err := capLog(path, 10); err != nil {
			t.Fatal(err)
		}
	}
	read := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			return err.Error()
		}
		return string(b)
	}

	write("short\n")

	if got := read(path); got != "short\n" {
		t.Errorf("a short log became %q", got)
	}

	write("and too long\n")
	write("new\n")

	if diff := cmp.Diff([]string{"new\n", "short\nand too long\n"},
		[]string{read(path), read(path + ".1")}); diff != "" {
		t.Errorf("after rotation (-want +got):\n%s", diff)
	}
}

func TestTailReturnsTheLastLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")

	long := strings.Repeat("x", 100) + "\n"
	for _, tt := range []struct {
		text  string
		lines int
		want  string
	}{
		{"", 3, ""},
		{"a\nb\nc\n", 2, "b\nc"},
		{"a\nb\nc", 5, "a\nb\nc"},
		{strings.Repeat(long, 2000) + "end\n", 2, long + "end"},
	} {
		if err := os.WriteFile(path, []byte(tt.text), 0o644); err != nil {
			t.Fatal(err)
		}

		if got := Tail(path, tt.lines); got != tt.want {
			t.Errorf("Tail(%.10q..., %d) = %q, want %q", tt.text, tt.lines, got, tt.want)
		}
	}

	if got := Tail(path+"none", 1); !strings.HasPrefix(got, "(no log: ") {
		t.Errorf("a missing log gave %q", got)
	}
}
