package preflight

import (
	"strings"
	"testing"
)

// capableMachine returns a machine that meets the requirements of every cluster.
func capableMachine() Machine {
	all := func(names ...string) map[string]bool {
		m := map[string]bool{}
		for _, n := range names {
			m[n] = true
		}
		return m
	}
	return Machine{
		OS: "linux", Memory: 8 * gib, Disk: 50 * gib, CacheDisk: 50 * gib, Veth: true,
		Filesystems: all("overlay", "ext4"), Namespaces: all("net", "mnt", "pid", "ipc", "uts"),
		Controllers: all("cpu", "cpuset", "memory", "pids"),
	}
}

func TestJudgeListsEverythingMissing(t *testing.T) {
	node, build := Need{Node: true, Dir: "/state", Cache: "/cache"}, Need{Build: true, Dir: "/state", Cache: "/cache"}
	for _, tt := range []struct {
		name   string
		need   Need
		change func(*Machine)
		want   []string
	}{
		{"nothing missing", node, func(*Machine) {}, nil},
		{"nothing known about the machine", Need{}, func(m *Machine) { *m = Machine{OS: "linux", UID: 1000} }, nil},
		{"no root, no node", Need{}, func(m *Machine) { m.UID = 1000 }, nil},
		{"no root", node, func(m *Machine) { m.UID = 1000 },
			[]string{"a node needs root", "--control-plane-only` works"}},
		{"not Linux", node, func(m *Machine) { m.OS = "darwin" }, []string{"darwin", "needs Linux"}},
		{"little memory", node, func(m *Machine) { m.Memory = gib },
			[]string{"memory: 1.0 GiB are free, 2.0 GiB are needed"}},
		{"little memory to build", build, func(m *Machine) { m.Memory = 2 * gib }, []string{"3.0 GiB are needed"}},
		{"little disk", node, func(m *Machine) { m.Disk = gib }, []string{"disk: 1.0 GiB are free in /state", "--dir"}},
		{"little disk to build", build, func(m *Machine) { m.CacheDisk = gib }, []string{"/cache", "XDG_CACHE_HOME"}},
		{"little disk in the cache, nothing to build", Need{}, func(m *Machine) { m.CacheDisk = gib }, nil},
		{"no overlay", node, func(m *Machine) { delete(m.Filesystems, "overlay") }, []string{"overlay"}},
		{"state directory on a container's disk", node, func(m *Machine) { m.Overlaid = true },
			[]string{"overlay file system", "--dir"}},
		{"state directory on a container's disk, no node", Need{}, func(m *Machine) { m.Overlaid = true }, nil},
		{"no veth", node, func(m *Machine) { m.Veth = false }, []string{"veth"}},
		{"no network namespaces", node, func(m *Machine) { delete(m.Namespaces, "net") }, []string{"net namespaces"}},
		{"missing cgroup controllers", node,
			func(m *Machine) { delete(m.Controllers, "pids"); delete(m.Controllers, "cpu") }, []string{"cpu, pids"}},
		{"two things missing", node, func(m *Machine) { m.UID, m.Veth = 1, false }, []string{"root", "veth"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := capableMachine()
			tt.change(&m)

			err := Judge(tt.need, m)
			if (err != nil) != (tt.want != nil) {
				t.Fatalf("Judge() = %v, want an error: %v", err, tt.want != nil)
			}

			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in: %v", want, err)
				}
			}

			if err != nil && !strings.Contains(err.Error(), "kind, minikube or k3s") {
				t.Errorf("the error names no alternative: %v", err)
			}
		})
	}
}

func TestControlPlaneOnlyIsOfferedOnlyIfJustRootIsMissing(t *testing.T) {
	m := capableMachine()

	m.UID, m.Memory = 1000, gib
	if err := Judge(Need{Node: true}, m); err == nil || strings.Contains(err.Error(), "--control-plane-only") {
		t.Errorf("Judge() = %v", err)
	}
}

func TestInspectReadsThisMachine(t *testing.T) {
	m := inspect(Need{Node: true, Dir: t.TempDir() + "/not/there/yet", Cache: "/"})
	if m.OS == "" || m.Memory == 0 || m.Disk == 0 || m.CacheDisk == 0 || !m.Namespaces["net"] ||
		len(m.Filesystems) == 0 {
		t.Errorf("found only %+v", m)
	}
}
