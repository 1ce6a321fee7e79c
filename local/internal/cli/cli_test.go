package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/local/internal/build"
	"github.com/sparkoperator/spark-operator/local/internal/proc"
	"github.com/sparkoperator/spark-operator/local/internal/supervise"
)

func TestLeadingDirIsRemoved(t *testing.T) {
	for _, tt := range []struct {
		args []string
		dir  string
		rest []string
		ok   bool
	}{
		{nil, "", nil, true},
		{[]string{"get", "pods"}, "", []string{"get", "pods"}, true},
		{[]string{"--dir", "/d", "get"}, "/d", []string{"get"}, true},
		{[]string{"--dir=/d", "get", "--dir", "x"}, "/d", []string{"get", "--dir", "x"}, true},
		{[]string{"cluster-info", "dump", "--dir"}, "", []string{"cluster-info", "dump", "--dir"}, true},
		{[]string{"--dir"}, "", nil, false},
	} {
		dir, rest, err := leadingDir(tt.args)
		if (err == nil) != tt.ok || dir != tt.dir {
			t.Errorf("leadingDir(%q) = %q, %v", tt.args, dir, err)
		}

		if diff := cmp.Diff(tt.rest, rest); diff != "" {
			t.Errorf("leadingDir(%q) (-want +got):\n%s", tt.args, diff)
		}
	}
}

func TestStateDirDefaultsAndLinks(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	check := func(flag, want string) {
		t.Helper()

		if got, err := stateDir(flag); err != nil || got != want {
			t.Errorf("stateDir(%q) = %q, %v; want %q", flag, got, err, want)
		}
	}

	t.Setenv("SPARKLOCAL_DIR", "")
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", base)
	check("", filepath.Join(base, ".local/state/sparklocal/default"))
	t.Setenv("XDG_STATE_HOME", filepath.Join(base, "state"))
	check("", filepath.Join(base, "state/sparklocal/default"))
	t.Setenv("SPARKLOCAL_DIR", filepath.Join(base, "mine"))
	check("", filepath.Join(base, "mine"))
	t.Chdir(base)
	check("other", filepath.Join(base, "other"))
	// A link to a directory and the directory itself name the same cluster.
	if err := os.Symlink("other", filepath.Join(base, "alias")); err != nil {
		t.Fatal(err)
	}

	if err := os.Mkdir(filepath.Join(base, "other"), 0o755); err != nil {
		t.Fatal(err)
	}

	check("alias", filepath.Join(base, "other"))
	check("alias/not/yet", filepath.Join(base, "other/not/yet"))
}

func TestBuildProgressIsRareWithoutATerminal(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out)

	program := build.Program{Name: "kube", Hint: "long"}
	for elapsed := time.Duration(0); elapsed <= 65*time.Second; elapsed += 5 * time.Second {
		p.building(program, elapsed)
	}

	p.step("programs", 65*time.Second)
	p.end()

	want := "building kube for the first time (long): 0s\nbuilding kube for the first time (long): 30s\n" +
		"building kube for the first time (long): 1m0s\n  65.0 s  programs\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBuildProgressOnATerminalUsesOneLine(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out)
	p.terminal = true
	p.building(build.Program{Name: "kube"}, 0)
	p.building(build.Program{Name: "kube"}, 5*time.Second)
	p.line("done")

	if got := strings.Count(out.String(), "\n"); got != 1 {
		t.Errorf("%d lines in %q", got, out.String())
	}

	if !strings.HasSuffix(out.String(), "\r\x1b[Kdone\n") {
		t.Errorf("the counting line is not erased: %q", out.String())
	}
}

func TestStatusErrorNamesTheProblem(t *testing.T) {
	self, err := proc.Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}

	state := func(supervisor proc.ID, phase supervise.Phase, status supervise.Status) supervise.State {
		return supervise.State{
			Supervisor: supervisor, Phase: phase, Error: "the reason",
			Components: []supervise.ComponentState{{Name: "etcd", Status: status, Log: "/d/logs/etcd.log", Restarts: 2,
				LastExit: "signal: killed"}},
		}
	}
	for _, tt := range []struct {
		name    string
		state   supervise.State
		wantErr string
	}{
		{"all components ready", state(self, supervise.Ready, supervise.ComponentReady), ""},
		{"a component restarts", state(self, supervise.Ready, supervise.ComponentRestarting),
			"etcd is restarting: see its log /d/logs/etcd.log"},
		{"starting", state(self, supervise.Starting, supervise.ComponentReady), "its phase is starting"},
		{"not running", state(proc.ID{}, supervise.Ready, supervise.ComponentReady), "not running"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer

			err := showState(&out, "/d", "", tt.state)
			if (err == nil) != (tt.wantErr == "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("error %v, want %q", err, tt.wantErr)
			}

			if tt.state.Supervisor.PID != 0 && !strings.Contains(out.String(), "signal: killed") {
				t.Errorf("the last exit is not shown:\n%s", out.String())
			}
		})
	}

	if err := showState(&bytes.Buffer{}, "/d", "yaml",
		state(self, supervise.Ready, supervise.ComponentReady)); err == nil {
		t.Error("an unknown output format was accepted")
	}
}

func TestCommandsReportAMissingCluster(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"status", "--dir", dir}, {"kubeconfig", "--dir", dir}, {"kubectl", "--dir", dir, "get", "pods"},
		{"load", "--dir", dir, "x.tar"},
	} {
		cmd := New()
		cmd.SetArgs(args)
		cmd.SetOut(&bytes.Buffer{})

		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "no cluster in "+dir) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
