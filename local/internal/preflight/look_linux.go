package preflight

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// look gathers the facts. What cannot be read stays unknown, which is never a reason to refuse.
func look(need Need) Machine {
	m := Machine{
		OS: runtime.GOOS, UID: os.Geteuid(), Memory: memory(), Disk: free(need.Dir), CacheDisk: free(need.Cache),
	}
	if !need.Node {
		return m
	}
	m.Overlaid = overlaid(need.Dir)
	m.Filesystems = filesystems()
	if !m.Filesystems["overlay"] && m.UID == 0 {
		loadModule("overlay")
		m.Filesystems = filesystems()
	}
	m.Namespaces = map[string]bool{}
	if entries, err := os.ReadDir("/proc/self/ns"); err == nil {
		for _, e := range entries {
			m.Namespaces[e.Name()] = true
		}
	}
	m.Controllers = controllers()
	m.Veth = m.UID != 0 || vethWorks()
	return m
}

// memory is MemAvailable of proc(5).
func memory() uint64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "MemAvailable:"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
			if err != nil {
				return 0
			}
			return n << 10
		}
	}
	return 0
}

// free is the space in a directory.
func free(dir string) uint64 {
	stat, ok := statfs(dir)
	if !ok {
		return 0
	}
	return stat.Bavail * uint64(stat.Bsize)
}

// overlayMagic is the type of an overlay file system in statfs(2).
const overlayMagic = 0x794c7630

func overlaid(dir string) bool {
	stat, ok := statfs(dir)
	return ok && stat.Type == overlayMagic
}

// statfs tells of the nearest directory at or above dir that exists.
func statfs(dir string) (stat syscall.Statfs_t, ok bool) {
	for ; ; dir = filepath.Dir(dir) {
		if err := syscall.Statfs(dir, &stat); err == nil {
			return stat, true
		}
		if dir == filepath.Dir(dir) {
			return stat, false
		}
	}
}

func filesystems() map[string]bool {
	found := map[string]bool{}
	b, err := os.ReadFile("/proc/filesystems")
	if err != nil {
		return found
	}
	for line := range strings.Lines(string(b)) {
		if fields := strings.Fields(line); len(fields) > 0 {
			found[fields[len(fields)-1]] = true
		}
	}
	return found
}

// controllers reads the mounted v1 hierarchies, or the root's controllers where cgroup v2 is the only one.
func controllers() map[string]bool {
	found := map[string]bool{}
	if b, err := os.ReadFile("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		for c := range strings.FieldsSeq(string(b)) {
			found[c] = true
		}
		return found
	}
	entries, err := os.ReadDir("/sys/fs/cgroup")
	if err != nil {
		return found
	}
	for _, e := range entries {
		for c := range strings.SplitSeq(e.Name(), ",") {
			found[c] = true
		}
	}
	return found
}

// vethWorks tries: whether a kernel has the driver built in is told nowhere.
func vethWorks() bool {
	if _, err := exec.LookPath("ip"); err != nil {
		return true
	}
	name := "sparkprobe" + strconv.Itoa(os.Getpid()%10000)
	if exec.Command("ip", "link", "add", name, "type", "veth", "peer", "name", name+"p").Run() != nil {
		return false
	}
	return exec.Command("ip", "link", "del", name).Run() == nil
}

func loadModule(name string) {
	// Where there are no modules, or no modprobe, the check after it tells.
	_ = exec.Command("modprobe", name).Run()
}
