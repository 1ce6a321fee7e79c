package main

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// limit is the maximum size of a binary in bytes.
const limit = 60_000_000

// tags are the build tags of sparkctl. They leave out parts of gRPC and of Google's storage client that sparkctl does
// not use. Without the tag grpcnotrace, the binary is a third larger, because it also contains gRPC's trace pages,
// which use html/template. Templates call methods by name, so the linker then keeps every exported method of the
// program.
const tags = "grpcnotrace,disable_grpc_modules"

// pkg is the package that contains the variables Version and Revision of the program.
const pkg = "github.com/sparkoperator/spark-operator/internal/cli"

// build builds sparkctl for a platform, and checks the binary. The binary contains no path, time, user name or state of
// Git, so that builds on different machines are equal.
func (r *release) build(ctx context.Context, root string, p platform, binary string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags="+tags,
		fmt.Sprintf("-ldflags=-s -w -buildid= -X %s.Version=%s -X %s.Revision=%s", pkg, r.version, pkg, r.revision), "-o", binary, "./cmd/sparkctl")
	cmd.Dir = root

	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}

	info, err := os.Stat(binary)
	if err != nil {
		return err
	}

	fmt.Printf("%s: %.1f MB\n", p, float64(info.Size())/1e6)

	if info.Size() > limit {
		return fmt.Errorf("sparkctl has %d bytes, but the limit is %d; docs/decisions/0033-staging.md describes what determines the size", info.Size(), limit)
	}

	if p.os == "linux" {
		if err := static(binary); err != nil {
			return err
		}
	}

	if p.os == runtime.GOOS && p.arch == runtime.GOARCH {
		return r.runs(ctx, binary)
	}
	return nil
}

// static checks that a Linux binary needs neither a dynamic loader nor a library. Binaries for macOS and Windows always
// call the system's own libraries.
func static(binary string) error {
	f, err := elf.Open(binary)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // an error has no effect, because the file is only read

	for _, program := range f.Progs {
		if program.Type == elf.PT_INTERP {
			return errors.New("sparkctl needs a dynamic loader, so it does not run on every distribution")
		}
	}

	libraries, err := f.ImportedLibraries()
	if len(libraries) > 0 {
		return fmt.Errorf("sparkctl needs the libraries %v, so it does not run on every distribution", libraries)
	}
	return err
}

// runs checks that the binary reports the version of the release.
func (r *release) runs(ctx context.Context, binary string) error {
	text, err := exec.CommandContext(ctx, binary, "version", "--short").Output()
	if err != nil {
		return fmt.Errorf("sparkctl version --short: %w", err)
	}

	if got := strings.TrimSpace(string(text)); got != r.version {
		return fmt.Errorf("sparkctl version --short prints %q, but the version of the release is %q", got, r.version)
	}
	return nil
}
