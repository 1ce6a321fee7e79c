package cluster

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/local/internal/debian"
	"github.com/sparkoperator/spark-operator/local/internal/image"
	"github.com/sparkoperator/spark-operator/local/internal/isolate"
	"github.com/sparkoperator/spark-operator/local/internal/proc"
	"github.com/sparkoperator/spark-operator/local/internal/registry"
)

// mountPoints are host directories whose paths are fixed in the programs of the node. In the cluster's mount namespace,
// a directory below node/ is mounted over each of them. The keys are the names of the mounted directories.
var mountPoints = map[string]string{
	"kubelet": "/var/lib/kubelet",
	"cni":     "/var/lib/cni",
	"log":     "/var/log",
}

// checkVisible returns an error if one of the cluster's own mounts would cover the state directory.
func checkVisible(dir string) error {
	for _, covered := range append(slices.Sorted(maps.Values(mountPoints)), "/run") {
		if dir == covered || strings.HasPrefix(dir, covered+"/") {
			return fmt.Errorf("the state directory %s is invalid for a cluster with a node, because the cluster mounts a directory of its own over %s: choose another directory with --dir", dir, covered)
		}
	}
	return nil
}

// cniDirs lists the directories in which network plugins may be installed, by distributions or by the plugins' own
// releases.
var cniDirs = []string{"/usr/lib/cni", "/usr/libexec/cni", "/opt/cni/bin"}

// prepareNode installs the distribution's packages that a node needs, and builds the pause image. The argument cpus is
// Options.CPUs.
func prepareNode(ctx context.Context, spec *Spec, cpus int, report Reporter) error {
	began := time.Now()
	if missing := missingPackages(); len(missing) > 0 {
		report.Line("installing packages with apt-get: " + strings.Join(missing, " "))

		if err := debian.Install(ctx, missing...); err != nil {
			return err
		}

		if still := missingPackages(); len(still) > 0 {
			return fmt.Errorf("the packages %s are installed, but their programs are not on the PATH: add their directory to the PATH", strings.Join(still, " "))
		}

		report.Step("packages", time.Since(began))
	}

	spec.Node = &Node{CPUs: cpus, CNIBin: cniBin()}

	out, err := exec.CommandContext(ctx, "containerd", "--version").Output()
	if err != nil {
		return fmt.Errorf("run containerd --version: %w", err)
	}

	if spec.Node.ContainerdMajor, spec.Node.ContainerdMinor, err = containerdVersion(string(out)); err != nil {
		return err
	}

	spec.Node.PauseTar, err = image.Pause(ctx, "")
	return err
}

// missingPackages returns the Debian packages of the programs that the machine lacks.
func missingPackages() []string {
	var missing []string
	for _, need := range []struct{ pkg, program string }{
		{"containerd", "containerd"}, {"containerd", "ctr"}, {"runc", "runc"}, {"iptables", "iptables"}, {"iproute2", "ip"},
	} {
		if _, err := exec.LookPath(need.program); err != nil && (len(missing) == 0 || missing[len(missing)-1] != need.pkg) {
			missing = append(missing, need.pkg)
		}
	}

	if cniBin() == "" {
		missing = append(missing, "containernetworking-plugins")
	}
	return missing
}

// cniBin returns the directory that contains every network plugin that the cluster uses. If there is none, it returns
// "".
func cniBin() string {
next:
	for _, dir := range cniDirs {
		for _, plugin := range []string{"ptp", "host-local", "portmap", "loopback"} {
			if _, err := os.Stat(filepath.Join(dir, plugin)); err != nil {
				continue next
			}
		}
		return dir
	}
	return ""
}

var versionPattern = regexp.MustCompile(`\bv?(\d+)\.(\d+)\.`)

// containerdVersion parses the output of `containerd --version`. The version in this output has various forms, such as
// 1.6.20~ds1, v2.0.5 and 1.7.12-0ubuntu4.
func containerdVersion(line string) (major, minor int, err error) {
	match := versionPattern.FindStringSubmatch(line)
	if match == nil {
		return 0, 0, fmt.Errorf("the output of containerd --version, %q, has no version number: install containerd 1.6 or newer", strings.TrimSpace(line))
	}
	// The pattern matches only digits, so Atoi fails only if the number overflows.
	if major, err = strconv.Atoi(match[1]); err != nil {
		return 0, 0, fmt.Errorf("version number of containerd: %w", err)
	}

	if minor, err = strconv.Atoi(match[2]); err != nil {
		return 0, 0, fmt.Errorf("version number of containerd: %w", err)
	}

	if major < 1 || (major == 1 && minor < 6) {
		return 0, 0, fmt.Errorf("containerd %d.%d is too old: install 1.6 or newer", major, minor)
	}
	return major, minor, nil
}

// isolateNode creates the cluster's namespaces, its control group and its link to the host.
func (r *runner) isolateNode() error {
	began := time.Now()

	if err := r.nodeDirectories(); err != nil {
		return err
	}

	if err := r.writeNodeFiles(); err != nil {
		return err
	}

	if err := isolate.Host.Make(r.Node.Cgroup); err != nil {
		return err
	}

	var binds []isolate.Bind
	for name, to := range mountPoints {
		binds = append(binds, isolate.Bind{From: r.path("node", name), To: to})
	}

	var err error
	if r.thread, err = isolate.NewThread(func() error { return isolate.EnterNamespaces(r.Node.Run, binds) }); err != nil {
		return err
	}

	tid := 0

	err = r.thread.Do(func() (err error) {
		tid = isolate.ThreadID()

		if r.Node.NetNS, err = proc.Namespace("thread-self", "net"); err != nil {
			return err
		}

		r.Node.MntNS, err = proc.Namespace("thread-self", "mnt")
		return err
	})
	if err != nil {
		return err
	}

	if err := r.recordNode(); err != nil {
		return err
	}

	if err := r.connect(tid); err != nil {
		return err
	}

	r.sup.Step("network and mounts", began)
	return nil
}

// nodeDirectories creates the node's directories, and those mount points that the host lacks.
func (r *runner) nodeDirectories() error {
	// Other users of the machine must not enter node/, because pods make some directories below it writable for all.
	if err := os.MkdirAll(r.path("node"), 0o700); err != nil {
		return fmt.Errorf("create the node's directories: %w", err)
	}

	for _, dir := range []string{r.Node.Run, r.path("node", "etc"), r.path("node", "volumes"), r.path("node", "cni"), r.path("node", "log")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("create the node's directories: %w", err)
		}
	}
	// node/cni contains state of pods that no longer exist, such as their addresses.
	if err := os.RemoveAll(r.path("node", "cni")); err != nil {
		return fmt.Errorf("create the node's directories: %w", err)
	}

	for name := range mountPoints {
		if err := os.MkdirAll(r.path("node", name), 0o755); err != nil {
			return fmt.Errorf("create the node's directories: %w", err)
		}
	}

	unlock, err := r.reg.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	return r.reg.MakeDirs(slices.Collect(maps.Values(mountPoints))...)
}

// recordNode records the node's resources and namespaces in the cluster's registry entry.
func (r *runner) recordNode() error {
	unlock, err := r.reg.Lock()
	if err != nil {
		return err
	}
	defer unlock()

	entry, ok := r.reg.Get(r.ID)
	if !ok {
		return fmt.Errorf("cluster %s is not registered as running: run `sparklocal down`, then `sparklocal up`", r.ID)
	}

	entry.Node = &r.Node.Node
	return r.reg.Put(entry)
}

// connect creates the veth pair between the host and the cluster, and the addresses and routes in the cluster's network
// namespace. Other networks are unreachable from inside the cluster, so that a request to them, such as an image pull,
// fails at once instead of after a timeout.
func (r *runner) connect(tid int) error {
	link := r.Node.link()
	host := [][]string{
		{"link", "add", r.Node.HostLink, "type", "veth", "peer", "name", "eth0", "netns", strconv.Itoa(tid)},
		{"addr", "add", link.Host.String(), "dev", r.Node.HostLink},
		{"link", "set", r.Node.HostLink, "up"},
	}
	inside := [][]string{
		{"link", "set", "lo", "up"},
		// The gateway address is on lo, not on a bridge. Pods are routed individually, so that every packet between
		// them passes the service rules.
		{"addr", "add", gateway + "/32", "dev", "lo"},
		{"addr", "add", link.Node.String(), "dev", "eth0"},
		{"link", "set", "eth0", "up"},
		// A call from the node to a service needs a route before the service rules redirect it to a pod.
		{"route", "add", serviceRange, "dev", "lo", "src", gateway},
		{"route", "add", "unreachable", "default"},
	}

	for _, args := range host {
		if err := ip(args, (*exec.Cmd).Start); err != nil {
			return err
		}
	}

	for _, args := range inside {
		if err := ip(args, r.thread.Launch); err != nil {
			return err
		}
	}
	return r.thread.Do(func() error {
		for name, value := range map[string]string{
			"ip_forward": "1",
			// Every attempt to reach another network must be rejected, not only the first few attempts in a second.
			"icmp_ratelimit": "0",
		} {
			if err := os.WriteFile("/proc/sys/net/ipv4/"+name, []byte(value), 0o644); err != nil {
				return fmt.Errorf("set a network option of the cluster: %w", err)
			}
		}
		return nil
	})
}

// ip runs an ip(8) command. It starts the command's process with the given function, for example in the Linux
// namespaces of the cluster.
func ip(args []string, start func(*exec.Cmd) error) error {
	var out strings.Builder
	cmd := exec.Command("ip", args...)
	cmd.Stdout, cmd.Stderr = &out, &out

	err := start(cmd)
	if err == nil {
		err = cmd.Wait()
	}

	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(out.String()))
	}
	return nil
}

// releaseNode ends the processes of a node and removes the node's control group and link. Containers continue after the
// container runtime has ended, and keep the namespaces with their mounts, links and packet rules, so releaseNode must
// end them.
func releaseNode(reg registry.Registry, e registry.Entry) error {
	find := func() []int {
		return append(isolate.Host.Processes(e.Node.Cgroup), proc.InNamespaces(map[string]uint64{"net": e.Node.NetNS, "mnt": e.Node.MntNS})...)
	}
	if err := proc.KillAll(killLimit, find); err != nil {
		return fmt.Errorf("end the containers of the cluster in %s: %w", e.Dir, err)
	}

	if err := removeCgroup(e.Node.Cgroup); err != nil {
		return err
	}
	// The kernel removes the link some moments after the last process of the network namespace. Removing it now frees
	// its address for the next cluster.
	if _, err := os.Stat(filepath.Join("/sys/class/net", e.Node.HostLink)); err == nil {
		if err := ip([]string{"link", "del", e.Node.HostLink}, (*exec.Cmd).Start); err != nil {
			if _, still := os.Stat(filepath.Join("/sys/class/net", e.Node.HostLink)); still == nil {
				return err
			}
		}
	}
	return reg.RemoveDirs(e.ID)
}

// removeCgroup removes a control group. It retries for up to killLimit, because a killed process disappears from its
// control group slightly later than from /proc.
func removeCgroup(name string) error {
	for end := time.Now().Add(killLimit); ; time.Sleep(20 * time.Millisecond) {
		err := isolate.Host.Remove(name)
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}
