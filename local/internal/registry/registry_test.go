package registry

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/local/internal/proc"
)

func open(t *testing.T) Registry {
	t.Helper()

	reg, err := At(filepath.Join(t.TempDir(), "clusters"))
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

func self(t *testing.T) proc.ID {
	t.Helper()

	id, err := proc.Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestListReturnsPutEntries(t *testing.T) {
	reg := open(t)

	e := Entry{
		ID: "a1", Dir: "/x", Boot: proc.BootID(), Supervisor: self(t), Ports: []int{1, 2},
		Node: &Node{Index: 3, HostLink: "h", Cgroup: "c", Run: "/r", NetNS: 4, MntNS: 5},
	}
	if err := reg.Put(e); err != nil {
		t.Fatal(err)
	}

	got, err := reg.List()
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]Entry{e}, got); diff != "" {
		t.Errorf("List() (-put +got):\n%s", diff)
	}

	if err := reg.Delete("a1"); err != nil {
		t.Fatal(err)
	}

	if _, ok := reg.Get("a1"); ok {
		t.Error("a deleted entry is still there")
	}
}

func TestListRemovesOldAndUnreadableEntries(t *testing.T) {
	reg := open(t)
	if err := reg.Put(Entry{ID: "old", Boot: "another run of the machine"}); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(reg.path("broken"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}

	got, err := reg.List()
	if err != nil || len(got) != 0 {
		t.Errorf("List() = %v, %v; want none", got, err)
	}

	for _, id := range []string{"old", "broken"} {
		if _, err := os.Stat(reg.path(id)); !os.IsNotExist(err) {
			t.Errorf("the entry %s is still on disk: %v", id, err)
		}
	}
}

func TestDeadAndOrphanFollowTheProcesses(t *testing.T) {
	alive, gone := self(t), proc.ID{PID: os.Getpid(), Start: 1}
	for _, tt := range []struct {
		name         string
		entry        Entry
		dead, orphan bool
	}{
		{"all run", Entry{Supervisor: alive, Owner: alive}, false, false},
		{"no owner", Entry{Supervisor: alive}, false, false},
		{"a later process has the supervisor's id", Entry{Supervisor: gone}, true, false},
		{"the owner is gone", Entry{Supervisor: alive, Owner: gone}, false, true},
		{"never started", Entry{}, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.entry.Dead(); got != tt.dead {
				t.Errorf("Dead() = %v, want %v", got, tt.dead)
			}

			if got := tt.entry.Orphan(); got != tt.orphan {
				t.Errorf("Orphan() = %v, want %v", got, tt.orphan)
			}
		})
	}
}

func TestAtRejectsForeignDirectories(t *testing.T) {
	path := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), path); err != nil {
		t.Fatal(err)
	}

	if _, err := At(path); err == nil {
		t.Error("a link to somewhere else was accepted as the directory of clusters")
	}
}

// TestLockSurvivesRemovalOfItsFile checks that a waiting process does not keep a lock on a file that the previous owner
// of the lock removed. Otherwise a third process could lock a new file of that name at the same time.
func TestLockSurvivesRemovalOfItsFile(t *testing.T) {
	reg := open(t)

	_, forget, err := reg.LockCluster("x")
	if err != nil {
		t.Fatal(err)
	}

	got := make(chan func())
	go func() {
		unlock, _, err := reg.LockCluster("x")
		if err != nil {
			t.Error(err)
		}
		got <- unlock
	}()

	select {
	case <-got:
		t.Fatal("two hold the lock")
	case <-time.After(20 * time.Millisecond):
	}

	forget()

	unlock := <-got
	defer unlock()

	if _, err := os.Stat(filepath.Join(reg.dir, "x.lock")); err != nil {
		t.Errorf("the second holder's lock has no file that a third would meet: %v", err)
	}
}

func TestTidyLocksKeepsHeldLocks(t *testing.T) {
	reg := open(t)
	for _, id := range []string{"held", "left", "listed"} {
		unlock, _, err := reg.LockCluster(id)
		if err != nil {
			t.Fatal(err)
		}

		if id != "held" {
			unlock()
		} else {
			defer unlock()
		}
	}

	if err := reg.Put(Entry{ID: "listed", Boot: proc.BootID()}); err != nil {
		t.Fatal(err)
	}

	if err := reg.TidyLocks(); err != nil {
		t.Fatal(err)
	}

	for id, want := range map[string]bool{"held": true, "left": false, "listed": true} {
		if _, err := os.Stat(filepath.Join(reg.dir, id+".lock")); (err == nil) != want {
			t.Errorf("lock file of %s is there: %v, want %v", id, err == nil, want)
		}
	}
}

func TestLastNodeRemovesMountPoints(t *testing.T) {
	reg := open(t)

	theirs, ours := t.TempDir(), filepath.Join(t.TempDir(), "made")
	if err := reg.MakeDirs(theirs, ours); err != nil {
		t.Fatal(err)
	}

	for _, id := range []string{"a", "b"} {
		if err := reg.Put(Entry{ID: id, Boot: proc.BootID(), Node: &Node{}}); err != nil {
			t.Fatal(err)
		}
	}

	if err := reg.RemoveDirs("a"); err != nil {
		t.Fatal(err)
	}

	if _, err := os.Stat(ours); err != nil {
		t.Errorf("a mount point of the other cluster is gone: %v", err)
	}

	if err := reg.Delete("a"); err != nil {
		t.Fatal(err)
	}

	if err := reg.RemoveDirs("b"); err != nil {
		t.Fatal(err)
	}

	if _, err := os.Stat(ours); !os.IsNotExist(err) {
		t.Errorf("the created directory remains: %v", err)
	}

	if _, err := os.Stat(theirs); err != nil {
		t.Errorf("a directory that was there before is gone: %v", err)
	}
}

func TestIDIsShortAndStable(t *testing.T) {
	a, b := ID("/a"), ID("/b")
	if len(a) != 8 || a == b || a != ID("/a") {
		t.Errorf("ID gave %q, %q and %q", a, b, ID("/a"))
	}
}

func TestLinkAtStaysInThePool(t *testing.T) {
	for index, want := range map[int][3]string{
		1:            {"198.18.0.4/30", "198.18.0.5/30", "198.18.0.6/30"},
		64:           {"198.18.1.0/30", "198.18.1.1/30", "198.18.1.2/30"},
		poolSize - 1: {"198.19.255.252/30", "198.19.255.253/30", "198.19.255.254/30"},
	} {
		l := LinkAt(index)
		if got := [3]string{l.Net.String(), l.Host.String(), l.Node.String()}; got != want {
			t.Errorf("LinkAt(%d) = %v, want %v", index, got, want)
		}

		if !pool.Contains(l.Node.Addr()) {
			t.Errorf("LinkAt(%d) lies outside of %v", index, pool)
		}
	}
}

func TestFreeLinkSkipsUsedNetworks(t *testing.T) {
	entries := []Entry{{Node: &Node{Index: 1}}, {}, {Node: &Node{Index: 3}}}
	inUse := []netip.Prefix{netip.MustParsePrefix("198.18.0.8/29"), netip.MustParsePrefix("10.0.0.0/8")}

	got, err := FreeLink(entries, inUse)
	if err != nil || got != 4 {
		t.Errorf("FreeLink() = %d, %v; want 4: 1 and 3 are held, 2 and 3 are in use", got, err)
	}

	if _, err := FreeLink(nil, []netip.Prefix{pool}); err == nil {
		t.Error("a network was found in a pool that is in use as a whole")
	}
}

func TestFreePortsWrapsAround(t *testing.T) {
	busy := map[int]bool{20001: true}
	free := func(port int) bool { return !busy[port] }

	got, err := FreePorts([]Entry{{Ports: []int{20000}}}, 2, 0, free)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]int{20002, 20003}, got); diff != "" {
		t.Errorf("FreePorts() (-want +got):\n%s", diff)
	}

	got, err = FreePorts(nil, 3, lastPort-firstPort, free)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]int{lastPort, 20000, 20002}, got); diff != "" {
		t.Errorf("the search does not begin again at the first port (-want +got):\n%s", diff)
	}

	if _, err := FreePorts(nil, 1, 0, func(int) bool { return false }); err == nil {
		t.Error("a port was found where none is free")
	}
}
