// Package preflight checks, before anything is built, whether the machine can run a cluster. If it cannot, the error
// lists everything that the machine lacks, and proposes an alternative.
package preflight

import (
	"errors"
	"fmt"
	"strings"
)

// Need describes the requirements of the cluster that is started.
type Need struct {
	// Node is set if the cluster has a node, which needs root, kernel features, and more memory and disk space.
	Node bool
	// Build is set if the programs are not in the cache. The compiler needs memory and disk space.
	Build bool
	// Dir is the cluster's directory and Cache the cache directory. They need not exist.
	Dir, Cache string
}

// Machine describes the properties of a machine that a cluster depends on.
type Machine struct {
	// OS is runtime.GOOS.
	OS string
	// UID is the ID of the effective user.
	UID int
	// Memory is the number of bytes that programs can allocate without swapping; 0 if unknown.
	Memory uint64
	// Disk and CacheDisk are the bytes that this user can still write in the cluster's directory and in the cache. They
	// are 0 if unknown.
	Disk, CacheDisk uint64
	// Filesystems are the names in /proc/filesystems.
	Filesystems map[string]bool
	// Namespaces are the names in /proc/self/ns.
	Namespaces map[string]bool
	// Controllers are the cgroup controllers that are mounted (v1) or enabled at the root (v2).
	Controllers map[string]bool
	// Overlaid is set if the cluster's directory is on an overlay file system.
	Overlaid bool
	// Veth is set if the kernel supports veth pairs, or if this could not be checked.
	Veth bool
}

const (
	mib = 1 << 20
	gib = 1 << 30

	controlPlaneMemory = 900 * mib
	nodeMemory         = 2 * gib
	buildMemory        = 3 * gib
	controlPlaneDisk   = 500 * mib
	nodeDisk           = 4 * gib
	// buildDisk covers the compiler's cache (3.1 GB), the sources (about 1 GB) and the binaries.
	buildDisk = 6 * gib
)

// alternative is the text that proposes other clusters for a machine that cannot run a cluster of sparklocal.
const alternative = `You can use another cluster instead: create one with kind, minikube or k3s, set KUBECONFIG to its kubeconfig, and build the operator's image with
"make image". It writes a tar to load (kind load image-archive, minikube image load, k3s ctr images import) or to push.`

// Check inspects this machine. It returns an error that lists the requirements that the machine does not meet, or nil
// if it meets all of them.
func Check(need Need) error { return Judge(need, inspect(need)) }

// Judge compares a machine with the requirements. It returns an error that lists the requirements that the machine does
// not meet, or nil if it meets all of them.
func Judge(need Need, m Machine) error {
	missing := m.lacks(need)
	if len(missing) == 0 {
		return nil
	}

	text := "this machine cannot run the cluster:\n  - " + strings.Join(missing, "\n  - ") + "\n"
	if need.Node && onlyRoot(missing) {
		text += "Without root, `sparklocal up --control-plane-only` works: it starts an API server and its controllers, but no pods run.\n"
	}
	return errors.New(text + alternative)
}

const rootLine = "a node needs root (namespaces, mounts, cgroups): run as root, for example with sudo"

func onlyRoot(missing []string) bool { return len(missing) == 1 && missing[0] == rootLine }

func (m Machine) lacks(need Need) []string {
	if m.OS != "linux" {
		return []string{"its system is " + m.OS + ", but the cluster needs Linux"}
	}
	var missing []string

	memory, disk, cacheDisk := uint64(controlPlaneMemory), uint64(controlPlaneDisk), uint64(0)
	if need.Node {
		memory, disk = nodeMemory, nodeDisk
	}

	if need.Build {
		memory, cacheDisk = max(memory, buildMemory), buildDisk
	}

	missing = append(missing, shortage("memory", m.Memory, memory, "")...)
	missing = append(missing, shortage("disk", m.Disk, disk, " in "+need.Dir+" (choose another directory with --dir)")...)

	missing = append(missing, shortage("disk", m.CacheDisk, cacheDisk, " in "+need.Cache+" to build Kubernetes (choose another directory with XDG_CACHE_HOME)")...)
	if need.Node {
		missing = append(missing, m.lacksForNode()...)
	}
	return missing
}

func (m Machine) lacksForNode() []string {
	var missing []string
	if m.UID != 0 {
		missing = append(missing, rootLine)
	}

	if !m.Filesystems["overlay"] {
		missing = append(missing, "the kernel has no overlay file system: load or install the module overlay")
	}

	if m.Overlaid {
		missing = append(missing, "the state directory is on an overlay file system (a container's own disk), and overlay file systems of containers cannot be nested: "+
			"choose a directory on a disk or a volume with --dir")
	}

	if !m.Veth {
		missing = append(missing, "the kernel has no veth pairs: load or install the module veth")
	}

	for _, ns := range []string{"net", "mnt", "pid", "ipc", "uts"} {
		if !m.Namespaces[ns] {
			missing = append(missing, "the kernel has no "+ns+" namespaces")
		}
	}

	var controllers []string
	for _, c := range []string{"cpu", "cpuset", "memory", "pids"} {
		if !m.Controllers[c] {
			controllers = append(controllers, c)
		}
	}

	if len(controllers) > 0 {
		missing = append(missing, "these cgroup controllers are not available: "+strings.Join(controllers, ", "))
	}
	return missing
}

// shortage returns a text that describes a lack of memory or disk space. It returns nil if free is enough or unknown.
func shortage(resource string, free, need uint64, where string) []string {
	if free == 0 || free >= need {
		return nil
	}
	return []string{fmt.Sprintf("%s: %.1f GiB are free%s, %.1f GiB are needed", resource, float64(free)/gib, where, float64(need)/gib)}
}
