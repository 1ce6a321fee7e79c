package cluster

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/local/internal/proc"
	"github.com/sparkoperator/spark-operator/local/internal/registry"
	"github.com/sparkoperator/spark-operator/local/internal/supervise"
)

func TestReadSpecReturnsWrittenSpec(t *testing.T) {
	s := withNode(2, 1)

	s.Dir, s.Owner, s.Boot = t.TempDir(), proc.ID{PID: 1, Start: 2}, "boot"
	if err := s.write(); err != nil {
		t.Fatal(err)
	}

	got, err := ReadSpec(s.Dir)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(s, got); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}

	if got, err := ReadSpec(t.TempDir()); got != nil || err != nil {
		t.Errorf("an empty directory gave %v, %v", got, err)
	}

	if err := os.WriteFile(specFile(s.Dir), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}

	if _, err := ReadSpec(s.Dir); err == nil || !strings.Contains(err.Error(), specFile(s.Dir)) {
		t.Errorf("a broken file gave %v", err)
	}
}

func TestOtherOptionsAreRejected(t *testing.T) {
	control := &Spec{Owner: proc.ID{PID: 7}}
	full := withNode(1, 6)

	full.Scheduler, full.Audit = true, true
	for name, tt := range map[string]struct {
		spec *Spec
		o    Options
		ok   bool
	}{
		"the checkOptions":              {control, Options{ControlPlaneOnly: true, OwnerPID: 7}, true},
		"no word about the owner":       {control, Options{ControlPlaneOnly: true}, true},
		"another owner":                 {control, Options{ControlPlaneOnly: true, OwnerPID: 8}, false},
		"a node":                        {control, Options{}, false},
		"a scheduler":                   {control, Options{ControlPlaneOnly: true, Scheduler: true}, false},
		"the oldest release":            {control, Options{ControlPlaneOnly: true, Oldest: true}, false},
		"an audit log":                  {control, Options{ControlPlaneOnly: true, Audit: true}, false},
		"bodies in the audit log":       {full, Options{AuditBodies: true}, false},
		"less than there is":            {full, Options{}, true},
		"another number of CPUs":        {full, Options{CPUs: 8}, false},
		"a control plane, a node is up": {full, Options{ControlPlaneOnly: true}, false},
	} {
		if err := tt.spec.checkOptions(tt.o); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWipeKeepsForeignFiles checks that wipe keeps the files of other programs in the directory, because users choose
// the directory.
func TestWipeKeepsForeignFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range append([]string{"thesis.tex"}, clusterFiles...) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	if err := wipe(dir); err != nil {
		t.Fatal(err)
	}

	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "thesis.tex" {
		t.Errorf("left are %v, %v", entries, err)
	}

	if err := os.Remove(filepath.Join(dir, "thesis.tex")); err != nil {
		t.Fatal(err)
	}

	for range 2 {
		if err := wipe(dir); err != nil {
			t.Error(err)
		}
	}

	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the empty directory remains: %v", err)
	}
}

func TestStartOverKeepsOnlyTrustworthyData(t *testing.T) {
	const now = "this boot"
	for _, tt := range []struct {
		name  string
		old   *Spec
		phase supervise.Phase
		keeps bool
		says  string
	}{
		{"crash", &Spec{Boot: now}, supervise.Ready, true, "with its data"},
		{"crash while ending", &Spec{Boot: now}, supervise.Stopping, true, "with its data"},
		{"reboot", &Spec{Boot: "before"}, supervise.Ready, false, "starts empty"},
		{"failed start", &Spec{Boot: now}, supervise.Failed, false, "starts empty"},
		{"crash in the start", &Spec{Boot: now}, supervise.Starting, false, "starts empty"},
		{"other kind", &Spec{Boot: now, Node: &Node{}}, supervise.Ready, false, "starts empty"},
		{"other release", &Spec{Boot: now, Oldest: true}, supervise.Ready, false, "starts empty"},
		{"files of nothing", nil, "", false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()

			data := filepath.Join(dir, "etcd")
			if err := os.WriteFile(data, nil, 0o644); err != nil {
				t.Fatal(err)
			}

			if tt.old != nil {
				state := `{"phase":"` + string(tt.phase) + `"}`
				if err := os.WriteFile(supervise.StateFile(dir), []byte(state), 0o644); err != nil {
					t.Fatal(err)
				}
			}

			reported := ""

			report := Reporter{Line: func(text string) { reported += text }}
			if err := startOver(&Spec{Dir: dir, Boot: now}, tt.old, report); err != nil {
				t.Fatal(err)
			}

			if _, err := os.Stat(data); (err == nil) != tt.keeps {
				t.Errorf("data kept: %v, want %v", err == nil, tt.keeps)
			}

			if _, err := os.Stat(supervise.StateFile(dir)); err == nil {
				t.Error("the old state remains: it would count as the new supervisor's")
			}

			if _, err := os.Stat(dir); err != nil {
				t.Error(err)
			}

			if !strings.Contains(reported, tt.says) {
				t.Errorf("reported %q, want %q", reported, tt.says)
			}
		})
	}
}

func TestChoosePortsKeepsOldPorts(t *testing.T) {
	listeners := make([]net.Listener, portCount)

	had := make([]int, portCount)
	for i := range listeners {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}

		listeners[i], had[i] = l, l.Addr().(*net.TCPAddr).Port
	}

	old := &Spec{Ports: portsFrom(had)}
	if got, err := choosePorts(nil, old); err != nil || got[0] == had[0] {
		t.Errorf("ports that are in use were taken: %v, %v", got, err)
	}

	for _, l := range listeners {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}

	got, err := choosePorts(nil, old)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(had, got); diff != "" {
		t.Errorf("(-had +got):\n%s", diff)
	}

	got, err = choosePorts([]registry.Entry{{Ports: had[2:3]}}, old)
	if err != nil || got[0] == had[0] {
		t.Errorf("a port of another cluster was chosen: %v, %v", got, err)
	}
}

func TestCoveredStateDirIsRejected(t *testing.T) {
	for dir, ok := range map[string]bool{
		"/run/user/0/x": false, "/run": false, "/var/log/x": false, "/var/lib/kubelet": false,
		"/running": true, "/var/lib/ci/.local/state/sparklocal/default": true, "/home/u/run": true,
	} {
		if err := checkVisible(dir); (err == nil) != ok {
			t.Errorf("checkVisible(%s) = %v", dir, err)
		}
	}
}

func TestConcurrentlyJoinsAllErrors(t *testing.T) {
	a, b := errors.New("a"), errors.New("b")

	err := concurrently(func() error { return a }, func() error { return nil }, func() error { return b })
	if !errors.Is(err, a) || !errors.Is(err, b) {
		t.Errorf("concurrently() = %v", err)
	}

	if err := concurrently(func() error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestLoadNeedsANode(t *testing.T) {
	dir := t.TempDir()
	if err := Load(t.Context(), dir, []string{"x.tar"}, nil); err == nil ||
		!strings.Contains(err.Error(), "sparklocal up") {
		t.Errorf("no cluster: %v", err)
	}

	s := withoutNode()

	s.Dir = dir
	if err := s.write(); err != nil {
		t.Fatal(err)
	}

	if err := Load(t.Context(), dir, []string{"x.tar"}, nil); err == nil || !strings.Contains(err.Error(), "no node") {
		t.Errorf("no node: %v", err)
	}
}

func TestCPUsNeedANode(t *testing.T) {
	dir := t.TempDir()
	for o, ok := range map[Options]bool{
		{Dir: dir, CPUs: 999}: true, {Dir: dir, CPUs: 1000}: false, {Dir: dir, CPUs: -1}: false,
		{Dir: dir, ControlPlaneOnly: true}: true, {Dir: dir, ControlPlaneOnly: true, CPUs: 1}: false,
	} {
		if _, err := newSpec(o); (err == nil) != ok {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
