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

// inspect returns a description of the machine. A value that cannot be read stays zero. If the memory or the disk space
// is zero, the value is unknown, and Judge does not report a lack of it.
func inspect(need Need) Machine {
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

// memory returns the available memory in bytes, which is MemAvailable in /proc/meminfo.
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

// free returns the number of bytes that this user can still write to the file system of a directory.
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

// statfs describes the file system of the nearest existing directory at or above dir. If statfs(2) fails, the result ok
// is false.
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

// controllers returns the names of the mounted cgroup version 1 hierarchies. If the machine has only version 2, it
// returns the controllers of the root group.
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

// vethWorks reports whether the kernel supports veth pairs. It tries to create a pair, because the kernel does not list
// built-in drivers. If ip(8) is missing, vethWorks assumes that veth pairs work.
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
	// The caller checks the file systems again, so a failure of modprobe needs no report.
	_ = exec.Command("modprobe", name).Run()
}
