package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sparkoperator/spark-operator/local/internal/isolate"
)

// mostCPUs is the most that --cpus takes. The kubelet reads two files for each, again every few minutes.
const mostCPUs = 1024

// Directories of the kernel in which the kubelet (cAdvisor in it) counts CPUs: those of each NUMA node, and all CPUs if
// there is no directory of a NUMA node.
const (
	numaNodes = "/sys/devices/system/node"
	allCPUs   = "/sys/devices/system/cpu"
)

func checkCPUs(o Options) error {
	switch {
	case o.CPUs == 0:
		return nil
	case o.CPUs < 0 || o.CPUs > mostCPUs:
		return fmt.Errorf("--cpus %d: must be between 1 and %d", o.CPUs, mostCPUs)
	case o.ControlPlaneOnly:
		return errors.New("--cpus is about the node, and a cluster with --control-plane-only has none")
	}
	return nil
}

// cpuBinds makes the directories that show the kubelet as many CPUs as the node is to report, and returns what they are
// laid over inside the cluster's own mounts. Without a number in the spec there are none.
//
// The kubelet has no setting for its capacity. It counts CPUs in /sys, and what it counts is in the node's status, in
// what it admits pods by, and in its metrics. An edit of the node's status alone would not last. Containers get a /sys
// of their own from the runtime and see the machine's CPUs, and so does the Go runtime in the node's programs.
func (s *Spec) cpuBinds() ([]isolate.Bind, error) {
	if s.Node.CPUs == 0 {
		return nil, nil
	}
	dir := s.path("node", "sys")
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("the node's CPUs: %w", err)
	}
	for i := range s.Node.CPUs {
		topology := filepath.Join(dir, "cpu", "cpu"+strconv.Itoa(i), "topology")
		if err := os.MkdirAll(topology, 0o755); err != nil {
			return nil, fmt.Errorf("the node's CPUs: %w", err)
		}
		for name, value := range map[string]int{"core_id": i, "physical_package_id": 0} {
			if err := os.WriteFile(filepath.Join(topology, name), []byte(strconv.Itoa(value)+"\n"), 0o644); err != nil {
				return nil, fmt.Errorf("the node's CPUs: %w", err)
			}
		}
	}
	binds := []isolate.Bind{{From: filepath.Join(dir, "cpu"), To: allCPUs}}
	// A kernel without NUMA has no such directory.
	if _, err := os.Stat(numaNodes); errors.Is(err, fs.ErrNotExist) {
		return binds, nil
	}
	empty := filepath.Join(dir, "node")
	if err := os.MkdirAll(empty, 0o755); err != nil {
		return nil, fmt.Errorf("the node's CPUs: %w", err)
	}
	return append(binds, isolate.Bind{From: empty, To: numaNodes}), nil
}
