// Package build compiles the programs of a cluster and caches the binaries by content. Each program is a Go module of
// its own below the directory local/. All clones of the repository share the cache, so each combination of sources,
// dependencies, compiler and flags is built only once.
package build

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/local/internal/registry"
)

// Program describes a binary and the module from which it is built.
type Program struct {
	// Name is the binary's name.
	Name string
	// Module is the module's directory below the source directory.
	Module string
	// Linker holds the values of the linker flag -X, such as the version that the program reports to its clients.
	Linker []string
	// Hint is the expected duration of a build without a cached binary. The progress line shows it.
	Hint string
}

// Kubernetes releases that the modules kube and oldest pin.
const (
	KubeVersion = "v1.36.3"
	// OldestVersion is a patch release of the oldest minor version that the chart accepts.
	OldestVersion = "v1.30.14"
)

// Kube is one binary that contains every Kubernetes program and etcd.
var Kube = Program{Name: "kube", Module: "kube", Linker: versionFlags(KubeVersion), Hint: "about 8 minutes on two cores"}

// Oldest is one binary that contains the control plane of the oldest supported Kubernetes release, and etcd.
var Oldest = Program{Name: "oldest", Module: "oldest", Linker: versionFlags(OldestVersion), Hint: "about 6 minutes on two cores"}

// versionFlags returns the linker flags that set the server's version, because clients parse it.
func versionFlags(version string) (flags []string) {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	for _, variables := range []string{"k8s.io/component-base/version.", "k8s.io/client-go/pkg/version."} {
		flags = append(flags, variables+"gitVersion="+version, variables+"gitMajor="+parts[0], variables+"gitMinor="+parts[1])
	}
	return flags
}

// CoreDNS is the cluster's DNS server.
var CoreDNS = Program{Name: "coredns", Module: "coredns", Hint: "about 2 minutes on two cores"}

// CacheDir returns the directory for files that take long to build. It is the directory sparklocal in the user's cache
// directory ($XDG_CACHE_HOME or ~/.cache).
func CacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory: %w: set XDG_CACHE_HOME or HOME", err)
	}
	return filepath.Join(base, "sparklocal"), nil
}

// SourceDir returns the directory local/ of the repository. It uses $SPARKLOCAL_SRC if that variable is set. Otherwise
// it tries, in this order, the place where this binary was compiled, the directories at and above the binary, and the
// directories at and above the working directory.
func SourceDir() (string, error) {
	if dir := os.Getenv("SPARKLOCAL_SRC"); dir != "" {
		if isSource(dir) {
			return dir, nil
		}
		return "", fmt.Errorf("SPARKLOCAL_SRC=%s is not the directory local/ of spark-operator: correct or unset the variable", dir)
	}

	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		if dir := filepath.Join(filepath.Dir(file), "..", ".."); isSource(dir) {
			return dir, nil
		}
	}

	var starts []string
	if exe, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(exe))
	}

	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}

	for _, dir := range starts {
		for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			for _, d := range []string{dir, filepath.Join(dir, "local")} {
				if isSource(d) {
					return d, nil
				}
			}
		}
	}
	return "", errors.New("cannot find the sources of the cluster's programs: run sparklocal inside a clone of spark-operator, or set SPARKLOCAL_SRC to its directory local/")
}

func isSource(dir string) bool {
	_, errKube := os.Stat(filepath.Join(dir, "kube", "go.mod"))
	_, errDNS := os.Stat(filepath.Join(dir, "coredns", "go.mod"))
	return errKube == nil && errDNS == nil
}

// Progress is a function that Ensure calls when a build starts and every few seconds during the build. The parameter
// elapsed is the time since the start of the build.
type Progress func(p Program, elapsed time.Duration)

// Cached returns the path of a program's binary, and whether the binary exists.
func Cached(ctx context.Context, source, cache string, p Program) (path string, exists bool, err error) {
	key, err := p.key(ctx, filepath.Join(source, p.Module))
	if err != nil {
		return "", false, err
	}
	// The key is in the name of the directory and not of the file, because ps shows the name of the file.
	path = filepath.Join(cache, "bin", key, p.Name)
	_, err = os.Stat(path)
	return path, err == nil, nil
}

// Ensure returns the path of a program's binary. If the binary is not in the cache, Ensure builds it first. Concurrent
// calls build it only once.
func Ensure(ctx context.Context, source, cache string, p Program, progress Progress) (string, error) {
	path, exists, err := Cached(ctx, source, cache, p)
	if err != nil || exists {
		return path, err
	}

	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("cached binary of %s: %w", p.Name, err)
	}

	stop := report(p, progress)
	defer stop()

	unlock, err := registry.LockFile(path + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()

	if _, err := os.Stat(path); err == nil {
		return path, nil
	}

	cmd := exec.CommandContext(ctx, "go", append([]string{"build"}, append(p.flags(), "-o", path+".new", ".")...)...)
	cmd.Dir = filepath.Join(source, p.Module)

	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	var out bytes.Buffer

	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go build of %s in %s failed: %w\n%s", p.Name, cmd.Dir, err, tail(out.String(), 20))
	}

	if err := os.Rename(path+".new", path); err != nil {
		return "", fmt.Errorf("cached binary of %s: %w", p.Name, err)
	}
	return path, nil
}

// report calls the function progress at once and then every five seconds. The caller must call the returned function to
// end the reports.
func report(p Program, progress Progress) (stop func()) {
	if progress == nil {
		return func() {}
	}

	start, done, finished := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)

		progress(p, 0)

		tick := time.NewTicker(5 * time.Second)
		defer tick.Stop()

		for {
			select {
			case <-done:
				return
			case <-tick.C:
				progress(p, time.Since(start).Round(time.Second))
			}
		}
	}()
	return func() { close(done); <-finished }
}

func (p Program) flags() []string {
	link := []string{"-s", "-w"}
	for _, x := range p.Linker {
		link = append(link, "-X", x)
	}
	return []string{"-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", strings.Join(link, " ")}
}

// key returns a hash of everything that determines the binary: the Go version and settings, the flags and the sources.
func (p Program) key(ctx context.Context, dir string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT")
	cmd.Dir = dir

	cmd.Env = append(os.Environ(), "GOWORK=off")

	env, err := cmd.Output()
	if err != nil {
		stderr := ""
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			stderr = "\n" + tail(string(exit.Stderr), 5)
		}
		return "", fmt.Errorf("go env in %s failed: %w: Go 1.21 or newer must be on the PATH%s", dir, err, stderr)
	}

	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n%q\n", env, p.flags())

	if err := hashSources(hash, dir); err != nil {
		return "", fmt.Errorf("sources of %s: %w", p.Name, err)
	}
	return hex.EncodeToString(hash.Sum(nil)[:8]), nil
}

// hashSources writes the Go files, go.mod and go.sum of a module to w. It omits tests, because a build does not read
// them.
func hashSources(w io.Writer, dir string) error {
	var files []string

	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		if err == nil && !d.IsDir() && !strings.HasSuffix(name, "_test.go") &&
			(filepath.Ext(name) == ".go" || name == "go.mod" || name == "go.sum") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return err
	}

	slices.Sort(files)

	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}

		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}

		fmt.Fprintf(w, "%s %d\n", rel, len(b))

		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
