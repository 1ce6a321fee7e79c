package proc

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseStatReadsAnyCommandName(t *testing.T) {
	rest := "S 7 10 10 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 1000 200"
	for _, tt := range []struct {
		name, line string
		want       stat
		wantErr    bool
	}{
		{"plain", "10 (etcd) " + rest, stat{state: 'S', parent: 7, start: 4242}, false},
		{"a command with blanks and brackets", "10 (a ) R 1 (b) " + rest, stat{state: 'S', parent: 7, start: 4242},
			false},
		{"dead", "10 (x) " + strings.Replace(rest, "S", "Z", 1), stat{state: 'Z', parent: 7, start: 4242}, false},
		{"empty", "", stat{}, true},
		{"cut off", "10 (x) S 1 2", stat{}, true},
		{"no number", "10 (x) " + strings.Replace(rest, "4242", "soon", 1), stat{}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseStat([]byte(tt.line))
			if (err != nil) != tt.wantErr {
				t.Fatalf("error %v, want one: %v", err, tt.wantErr)
			}

			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(stat{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("10 (etcd) S 7 10 10 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 1000 200"))
	f.Add([]byte(")"))
	f.Fuzz(func(t *testing.T, line []byte) {
		s, err := parseStat(line)
		if err != nil && s != (stat{}) {
			t.Errorf("an error and a result: %v, %v", s, err)
		}
	})
}

func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()

	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func TestReusedProcessIDIsAnotherProcess(t *testing.T) {
	cmd := sleeper(t)

	id, err := Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}

	if !id.Alive() {
		t.Error("a running process is not alive")
	}

	later := ID{PID: id.PID, Start: id.Start + 1}
	if later.Alive() {
		t.Error("another start time is the same process")
	}

	if err := later.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}

	if !id.Alive() {
		t.Error("a signal to one process reached another with its id")
	}

	if (ID{}).Alive() {
		t.Error("the zero identity is alive")
	}
}

func TestZombieCountsAsEnded(t *testing.T) {
	cmd := sleeper(t)

	id, err := Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}

	if err := id.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}

	if !id.WaitGone(10 * time.Second) {
		t.Error("a killed process that nobody has waited for counts as alive")
	}

	if _, err := Of(id.PID); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Of(dead) gave %v, want fs.ErrNotExist", err)
	}

	if !slices.Contains(DeadChildren(os.Getpid()), id) {
		t.Error("DeadChildren does not list it")
	}
}

func TestKillAllSparesThisProcess(t *testing.T) {
	cmd := sleeper(t)

	id, err := Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}

	err = KillAll(10*time.Second, func() []int {
		if id.Alive() {
			return []int{id.PID}
		}
		return nil
	})
	if err != nil || id.Alive() {
		t.Errorf("KillAll() = %v, alive %v", err, id.Alive())
	}

	if err := KillAll(0, func() []int { return []int{1} }); err == nil {
		t.Error("KillAll returned no error for process 1")
	}
}

func TestInNamespacesFindsThisProcess(t *testing.T) {
	inode, err := Namespace(strconv.Itoa(os.Getpid()), "mnt")
	if err != nil {
		t.Fatal(err)
	}

	if !slices.Contains(InNamespaces(map[string]uint64{"mnt": inode}), os.Getpid()) {
		t.Error("this process is not found in its own namespace")
	}

	if found := InNamespaces(map[string]uint64{"mnt": 0, "net": 0}); len(found) != 0 {
		t.Errorf("inode 0 matches %v", found)
	}
}

func TestBootIDIsStable(t *testing.T) {
	if id := BootID(); len(id) != 36 || id != BootID() {
		t.Errorf("BootID() = %q, then %q", id, BootID())
	}
}
