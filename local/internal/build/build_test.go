package build

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// module creates a source directory that contains one small program.
func module(t *testing.T) (source string, p Program) {
	t.Helper()
	source = t.TempDir()
	put(t, source, "hello/go.mod", "module hello\n\ngo 1.24\n")
	put(t, source, "hello/main.go", "package main\n\nvar text = \"?\"\n\nfunc main() { println(text) }\n")
	return source, Program{Name: "hello", Module: "hello", Linker: []string{"main.text=hi"}}
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()

	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func key(t *testing.T, source string, p Program) string {
	t.Helper()

	path, _, err := Cached(t.Context(), source, "/cache", p)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestKeyDependsOnContentOnly(t *testing.T) {
	source, p := module(t)

	first := key(t, source, p)
	if filepath.Base(first) != "hello" || !strings.HasPrefix(first, "/cache/bin/") {
		t.Errorf("the binary would be %s", first)
	}

	put(t, source, "hello/main_test.go", "package main\n")
	put(t, source, "hello/README.md", "words\n")

	if got := key(t, source, p); got != first {
		t.Error("a test or a text changes the key")
	}

	other, _ := module(t)
	if got := key(t, other, p); got != first {
		t.Error("another clone has another key")
	}

	seen := []string{first}
	for name, change := range map[string]func(){
		"a source":     func() { put(t, source, "hello/main.go", "package main\n\nfunc main() {}\n") },
		"a new source": func() { put(t, source, "hello/sub/x.go", "package sub\n") },
		"go.sum":       func() { put(t, source, "hello/go.sum", "\n") },
		"the flags":    func() { p.Linker = nil },
	} {
		change()

		got := key(t, source, p)
		if slices.Contains(seen, got) {
			t.Errorf("%s does not change the key", name)
		}

		seen = append(seen, got)
	}
}

func TestConcurrentCallsBuildOnce(t *testing.T) {
	source, p := module(t)
	cache := t.TempDir()
	var mu sync.Mutex
	paths, reports := map[string]bool{}, 0

	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			path, err := Ensure(t.Context(), source, cache, p,
				func(Program, time.Duration) { mu.Lock(); reports++; mu.Unlock() })
			if err != nil {
				t.Error(err)
			}

			mu.Lock()
			paths[path] = true
			mu.Unlock()
		})
	}

	wg.Wait()

	if len(paths) != 1 || reports == 0 {
		t.Errorf("built %v, reported progress %d times", paths, reports)
	}

	for path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}

		again, err := Ensure(t.Context(), source, cache, p,
			func(Program, time.Duration) { t.Error("a cached program is built") })
		if err != nil || again != path {
			t.Errorf("Ensure() = %s, %v", again, err)
		}

		if now, err := os.Stat(path); err != nil || !now.ModTime().Equal(info.ModTime()) {
			t.Errorf("the binary was written anew: %v", err)
		}
	}
}

func TestFailedBuildQuotesTheCompiler(t *testing.T) {
	source, p := module(t)
	put(t, source, "hello/main.go", "package main\n\nfunc main() { undefinedThing() }\n")
	cache := t.TempDir()

	_, err := Ensure(t.Context(), source, cache, p, nil)
	if err == nil || !strings.Contains(err.Error(), "undefinedThing") {
		t.Errorf("Ensure() = %v", err)
	}

	if _, there, err := Cached(t.Context(), source, cache, p); there || err != nil {
		t.Errorf("a failed build is in the cache: %v, %v", there, err)
	}
}

func TestBuildStopsWithItsContext(t *testing.T) {
	source, p := module(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	if _, err := Ensure(ctx, source, t.TempDir(), p, nil); err == nil {
		t.Error("no error")
	}
}

func TestMissingGoIsNamed(t *testing.T) {
	source, p := module(t)
	t.Setenv("PATH", t.TempDir())

	if _, _, err := Cached(t.Context(), source, "/cache", p); err == nil || !strings.Contains(err.Error(), "Go 1.21") {
		t.Errorf("without Go: %v", err)
	}
}

func TestSourceDirFindsTheClone(t *testing.T) {
	got, err := SourceDir()
	if err != nil || !isSource(got) {
		t.Errorf("SourceDir() = %s, %v", got, err)
	}

	t.Setenv("SPARKLOCAL_SRC", t.TempDir())

	if _, err := SourceDir(); err == nil {
		t.Error("an empty directory was accepted as the sources")
	}

	t.Setenv("SPARKLOCAL_SRC", got)

	if again, err := SourceDir(); err != nil || again != got {
		t.Errorf("SourceDir() = %s, %v", again, err)
	}
}

// TestVersionsMatchGoMod checks that the releases in the linker flags are the releases that the modules require.
func TestVersionsMatchGoMod(t *testing.T) {
	source, err := SourceDir()
	if err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		program Program
		version string
	}{{Kube, KubeVersion}, {Oldest, OldestVersion}} {
		b, err := os.ReadFile(filepath.Join(source, tt.program.Module, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}

		if !strings.Contains(string(b), "\tk8s.io/kubernetes "+tt.version+"\n") {
			t.Errorf("go.mod of %s does not require k8s.io/kubernetes %s", tt.program.Name, tt.version)
		}
	}
}

func TestVersionFlags(t *testing.T) {
	want := []string{
		"k8s.io/component-base/version.gitVersion=v1.30.14",
		"k8s.io/component-base/version.gitMajor=1",
		"k8s.io/component-base/version.gitMinor=30",
		"k8s.io/client-go/pkg/version.gitVersion=v1.30.14",
		"k8s.io/client-go/pkg/version.gitMajor=1",
		"k8s.io/client-go/pkg/version.gitMinor=30",
	}
	if got := versionFlags("v1.30.14"); !slices.Equal(got, want) {
		t.Errorf("versionFlags() = %q", got)
	}
}

// TestOldestKubernetes checks that the chart, the workflow of the end-to-end tests and the support policy name the
// minor version of Kubernetes that the module oldest builds.
func TestOldestKubernetes(t *testing.T) {
	source, err := SourceDir()
	if err != nil {
		t.Fatal(err)
	}

	minor := strings.TrimPrefix(OldestVersion[:strings.LastIndex(OldestVersion, ".")], "v")
	for file, want := range map[string]string{
		"charts/spark-operator/Chart.yaml": `kubeVersion: ">=` + minor + `.0-0"`,
		".github/workflows/e2e.yml":        "node:\n          - kindest/node:v" + minor + ".",
		"RELEASE.md":                       "| Kubernetes, oldest | " + minor + " | ",
	} {
		b, err := os.ReadFile(filepath.Join(source, "..", file))
		if err != nil {
			t.Fatal(err)
		}

		if !strings.Contains(string(b), want) {
			t.Errorf("%s does not contain %q", file, want)
		}
	}
}
