// Package debian installs packages for a node or an image on Debian, Ubuntu and distributions derived from them, and
// reads the machine's configuration of apt.
package debian

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sparkoperator/spark-operator/local/internal/registry"
)

// policyFile is the script that decides whether a package may start its service during the installation.
const policyFile = "/usr/sbin/policy-rc.d"

// Install installs packages from the machine's own package sources. It does not start the services of these packages:
// otherwise the distribution's containerd would run in addition to the cluster's own, and nothing would use it. Install
// fetches the package lists first if they are missing. If the installation fails, Install fetches the lists and tries
// once more.
func Install(ctx context.Context, packages ...string) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("packages are missing, and this machine has no apt-get: install %s with your distribution's package manager",
			strings.Join(packages, " "))
	}

	if os.Geteuid() != 0 {
		return fmt.Errorf("packages are missing, and only root can install them: as root, run: apt-get install -y --no-install-recommends %s", strings.Join(packages, " "))
	}

	unlock, err := registry.LockFile(filepath.Join(os.TempDir(), "sparklocal-packages.lock"))
	if err != nil {
		return err
	}
	defer unlock()

	allow, err := forbidServices()
	if err != nil {
		return err
	}
	defer allow()

	if !haveLists() {
		if err := apt(ctx, "update"); err != nil {
			return err
		}
	}

	install := append([]string{"install", "-y", "--no-install-recommends"}, packages...)
	if err := apt(ctx, install...); err != nil {
		// The usual cause is an old package list that contains files which no longer exist.
		if err := apt(ctx, "update"); err != nil {
			return err
		}
		return apt(ctx, install...)
	}
	return nil
}

// forbidServices creates policyFile, which forbids every start of a service (exit status 101). The caller must call the
// returned function to allow such starts again. If the machine already has such a file, forbidServices keeps that file.
func forbidServices() (allow func(), err error) {
	f, err := os.OpenFile(policyFile, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return func() {}, nil
	}

	if err != nil {
		return nil, fmt.Errorf("create "+policyFile+": %w", err)
	}

	_, err = f.WriteString("#!/bin/sh\nexit 101\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("create "+policyFile+": %w", err), os.Remove(policyFile))
	}
	return func() { _ = os.Remove(policyFile) }, nil
}

func haveLists() bool {
	lists, err := filepath.Glob("/var/lib/apt/lists/*_Packages*")
	return err == nil && len(lists) > 0
}

func apt(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-q", "-o", "DPkg::Lock::Timeout=300"}, args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C")
	var out bytes.Buffer

	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		return fmt.Errorf("apt-get %s failed: %w; its last lines:\n%s", strings.Join(args, " "), err, strings.Join(lines[max(0, len(lines)-15):], "\n"))
	}
	return nil
}
