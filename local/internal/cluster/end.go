package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sparkoperator/spark-operator/local/internal/registry"
)

const (
	// stopLimit is how long a supervisor may take to end its cluster before it is killed.
	stopLimit = 20 * time.Second
	// killLimit is how long killed processes may take to disappear.
	killLimit = 15 * time.Second
)

// clusterFiles lists the files and directories that sparklocal creates in a cluster's directory. sparklocal removes
// nothing else from that directory, because users choose it and may have other files there.
var clusterFiles = []string{
	"cluster.json", "state.json", "state.json.new", "kubeconfig", "kubeconfig.new", "audit.log", "audit-policy.yaml",
	"pki", "logs", "etcd", "node",
}

// wipe removes a cluster's files, and then its directory if that is empty. Call wipe only after all processes of the
// cluster have ended. Until then, the directory may contain their mounts.
func wipe(dir string) error {
	for _, name := range clusterFiles {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("remove the cluster's files: %w", err)
		}
	}

	err := os.Remove(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) {
		return fmt.Errorf("remove the cluster's directory: %w", err)
	}
	return nil
}

// release frees a cluster's resources on the machine and removes the cluster from the registry. Call it when the
// cluster's supervisor has ended or is about to end. The caller holds the registry's lock.
func release(reg registry.Registry, e registry.Entry) error {
	if e.Node != nil {
		if err := releaseNode(reg, e); err != nil {
			return err
		}
	}
	return reg.Delete(e.ID)
}

// sweep releases the clusters whose supervisor was killed. If such a cluster had an owner and the owner has ended,
// sweep also removes the cluster's files. Otherwise the files stay, so that the next `up` in the directory can use
// them.
func sweep(reg registry.Registry, report func(string)) error {
	unlock, err := reg.Lock()
	if err != nil {
		return err
	}
	defer unlock()

	entries, err := reg.List()
	if err != nil {
		return err
	}

	for _, e := range entries {
		if !e.Dead() {
			continue
		}

		report("removing the leftover resources of the killed cluster in " + e.Dir)

		if err := release(reg, e); err != nil {
			return err
		}

		if e.Orphan() {
			if err := wipe(e.Dir); err != nil {
				return err
			}
		}
	}
	return reg.TidyLocks()
}

// Down ends the cluster in dir, if there is one, and removes all of its files. It also sweeps clusters whose supervisor
// was killed.
func Down(dir string, report func(string)) error {
	reg, err := registry.Open()
	if err != nil {
		return err
	}

	id := registry.ID(dir)

	_, forget, err := reg.LockCluster(id)
	if err != nil {
		return err
	}
	defer forget()

	if e, ok := reg.Get(id); ok && !e.Dead() {
		if err := e.Supervisor.Signal(syscall.SIGTERM); err != nil {
			return err
		}

		if !e.Supervisor.WaitGone(stopLimit) {
			report(fmt.Sprintf("the supervisor did not stop within %v: killing it", stopLimit))

			if err := e.Supervisor.Signal(syscall.SIGKILL); err != nil {
				return err
			}

			if !e.Supervisor.WaitGone(killLimit) {
				return fmt.Errorf("the supervisor (process %d) still runs %v after SIGKILL: end it, then run `sparklocal down` again", e.Supervisor.PID, killLimit)
			}
		}
	}

	if err := sweep(reg, report); err != nil {
		return err
	}

	spec, err := ReadSpec(dir)
	if err == nil && spec == nil {
		if _, statErr := os.Stat(filepath.Join(dir, "state.json")); statErr != nil {
			return nil
		}
	}
	return wipe(dir)
}
