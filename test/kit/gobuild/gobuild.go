// Package gobuild builds the programs that tests start. All tests of a checkout share them, because linking one takes
// seconds of CPU time.
package gobuild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sparkoperator/spark-operator/test/kit/checkout"
)

// Must is Program for a test, which fails if the program cannot be built. A cleanup of a test may call it too.
func Must(t testing.TB, module, pkg string) string {
	t.Helper()

	built, err := Program(context.WithoutCancel(t.Context()), module, pkg)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// Program builds the program of a package of a module, and returns its path. The path of the module is relative to the
// root of the repository. The program has the name of the package's folder, and runs without a C library, in any image.
// If it is up to date, Program only checks that.
func Program(ctx context.Context, module, pkg string) (_ string, err error) {
	root, err := checkout.Root()
	if err != nil {
		return "", err
	}

	built := filepath.Join(root, "bin", "test", path.Base(pkg))
	if err := os.MkdirAll(filepath.Dir(built), 0o755); err != nil {
		return "", err
	}

	unlock, err := lock(built + ".lock")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, unlock()) }()

	// The scripts build programs with -trimpath too, so that their packages are compiled once.
	build := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join(root, module), "-trimpath", "-o", built, pkg)

	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, text)
	}
	return built, nil
}

// lock waits until no other test builds the program, because go build writes a program in place.
func lock(file string) (unlock func() error, _ error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}

	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); {
		case err == nil:
			return f.Close, nil
		case !errors.Is(err, syscall.EINTR):
			return nil, errors.Join(fmt.Errorf("lock %s: %w", file, err), f.Close())
		}
	}
}
