// Package debian installs what a node needs of the distribution: Debian, Ubuntu and what is made from them.
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

// policyFile is asked by every package's scripts before they start a service.
const policyFile = "/usr/sbin/policy-rc.d"

// Install installs packages by the machine's own package sources. No service is started by it: a containerd of the distribution would run beside
// ours for nothing. The package lists are fetched when there are none, or when they turn out to be too old.
func Install(ctx context.Context, packages ...string) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("these packages are missing, and there is no apt-get to install them: %s: install them by your distribution's means",
			strings.Join(packages, " "))
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("packages are missing: as root, run: apt-get install -y --no-install-recommends %s", strings.Join(packages, " "))
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
		// The usual cause is a list that names files which are gone.
		if err := apt(ctx, "update"); err != nil {
			return err
		}
		return apt(ctx, install...)
	}
	return nil
}

// forbidServices answers every package's question with "not allowed" (status 101) until the returned function is called. A policy of the machine's
// own stays.
func forbidServices() (allow func(), err error) {
	f, err := os.OpenFile(policyFile, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("service policy: %w", err)
	}
	_, err = f.WriteString("#!/bin/sh\nexit 101\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("service policy: %w", err), os.Remove(policyFile))
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
		return fmt.Errorf("apt-get %s: %w\n%s", strings.Join(args, " "), err, strings.Join(lines[max(0, len(lines)-15):], "\n"))
	}
	return nil
}
