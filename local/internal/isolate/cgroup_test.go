package isolate

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree creates files below a directory. A name that ends in / is a directory.
func tree(t *testing.T, files map[string]string) Cgroups {
	t.Helper()

	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Cgroups{Root: root}
}

func read(t *testing.T, elem ...string) string {
	t.Helper()

	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestMakeCoversEveryVersion1Hierarchy(t *testing.T) {
	c := tree(t, map[string]string{
		"memory/cgroup.procs": "1\n", "cpuset/cgroup.procs": "1\n", "cpuset/cpuset.cpus": "0-1\n",
		"cpuset/cpuset.mems":   "0\n",
		"unified/cgroup.procs": "1\n", "nothing/file": "",
	})
	// The kernel creates these files empty, together with the directory.
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		group := filepath.Join(c.Root, "cpuset", "mine")
		if err := os.MkdirAll(group, 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(filepath.Join(group, file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Symlink("memory", filepath.Join(c.Root, "alias")); err != nil {
		t.Fatal(err)
	}

	if err := c.Make("mine"); err != nil {
		t.Fatal(err)
	}

	made := map[string]bool{}
	for _, h := range []string{"memory", "cpuset", "unified", "nothing"} {
		made[h] = exists(filepath.Join(c.Root, h, "mine"))
	}

	if diff := cmp.Diff(map[string]bool{"memory": true, "cpuset": true, "unified": true, "nothing": false},
		made); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}

	if got := read(t, c.Root, "cpuset/mine/cpuset.cpus"); got != "0-1\n" {
		t.Errorf("the group may use the processors %q", got)
	}

	if got := read(t, c.Root, "cpuset/mine/cpuset.mems"); got != "0\n" {
		t.Errorf("the group may use the memory nodes %q", got)
	}
}

func TestMakeGivesOneShareForEachProcessor(t *testing.T) {
	for _, tt := range []struct {
		name, version, file string
		share               int
	}{
		{"version 1", "cpu/cgroup.procs", "cpu/mine/cpu.shares", 1024},
		{"version 2", "cgroup.controllers", "mine/cpu.weight", 100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := tree(t, map[string]string{tt.version: "", "cgroup.subtree_control": "", tt.file: ""})
			if err := c.Make("mine"); err != nil {
				t.Fatal(err)
			}

			if got, want := read(t, c.Root, tt.file), strconv.Itoa(tt.share*runtime.NumCPU()); got != want {
				t.Errorf("the share of CPU time is %q, want %q", got, want)
			}
		})
	}
}

func TestMakeEnablesControllersInVersion2(t *testing.T) {
	for _, tt := range []struct{ name, have, enabled, want string }{
		{"none yet", "cpuset cpu io memory pids rdma\n", "", "+cpu +cpuset +memory +pids +io"},
		{"some", "cpuset cpu io memory pids\n", "cpu memory\n", "+cpuset +pids +io"},
		{"all", "cpuset cpu memory pids\n", "cpuset cpu memory pids\n", "cpuset cpu memory pids\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := tree(t, map[string]string{"cgroup.controllers": tt.have, "cgroup.subtree_control": tt.enabled})
			if err := c.Make("mine"); err != nil {
				t.Fatal(err)
			}

			if got := read(t, c.Root, "cgroup.subtree_control"); got != tt.want {
				t.Errorf("written %q, want %q", got, tt.want)
			}

			if !exists(filepath.Join(c.Root, "mine")) {
				t.Error("the group is not made")
			}
			// A second call must succeed, because a cluster starts again after a crash.
			if err := c.Make("mine"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestProcessesIncludesGroupsBelow(t *testing.T) {
	c := tree(t, map[string]string{
		"memory/cgroup.procs": "1\n2\n", "memory/mine/cgroup.procs": "30\n", "memory/mine/pod/cgroup.procs": "10\n20\n",
		"pids/cgroup.procs": "1\n", "pids/mine/cgroup.procs": "20\n0\n", "memory/minefield/cgroup.procs": "99\n",
	})
	if diff := cmp.Diff([]int{10, 20, 30}, c.Processes("mine")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if got := c.Processes("none"); len(got) != 0 {
		t.Errorf("a group that does not exist has %v", got)
	}
}

func TestRemoveRemovesGroupsBelowFirst(t *testing.T) {
	c := tree(t, map[string]string{"memory/cgroup.procs": "", "unified/cgroup.procs": ""})
	for _, dir := range []string{"memory/mine/a/b", "memory/mine/c", "unified/mine", "memory/other"} {
		if err := os.MkdirAll(filepath.Join(c.Root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	if err := c.Remove("mine"); err != nil {
		t.Fatal(err)
	}

	if exists(filepath.Join(c.Root, "memory/mine")) || exists(filepath.Join(c.Root, "unified/mine")) {
		t.Error("the group remains")
	}

	if !exists(filepath.Join(c.Root, "memory/other")) {
		t.Error("another group is gone")
	}

	if err := c.Remove("mine"); err != nil {
		t.Errorf("removing what is gone: %v", err)
	}
}

func TestMissingHierarchyIsAnError(t *testing.T) {
	if err := (Cgroups{Root: t.TempDir()}).Make("mine"); err == nil {
		t.Error("a group was made where nothing is mounted")
	}
}
