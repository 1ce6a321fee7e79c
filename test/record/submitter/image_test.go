//go:build linux

package submitter

import (
	"archive/tar"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// entry is one entry of a tar archive. Its kind is the type flag; 0 means a regular file.
type entry struct {
	name, content string
	mode          int64
	kind          byte
	target        string
}

func pack(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer

	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := tar.Header{Name: e.name, Mode: e.mode, Typeflag: e.kind, Linkname: e.target, Uid: os.Getuid(),
			Gid: os.Getgid(), Size: int64(len(e.content))}
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}

		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}

		if _, err := w.Write([]byte(e.content)); err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func archive(t *testing.T, entries ...entry) string {
	t.Helper()

	file := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(file, pack(t, entries...), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestUnpackImageCachesLayers(t *testing.T) {
	base := pack(t,
		entry{name: "usr/", mode: 0o755, kind: tar.TypeDir},
		entry{name: "usr/bin/java", content: "java", mode: 0o4755},
		entry{name: "usr/bin/j", kind: tar.TypeLink, target: "usr/bin/java"},
		entry{name: "tmp/", mode: 0o1777, kind: tar.TypeDir},
		entry{name: "bin", kind: tar.TypeSymlink, target: "usr/bin", mode: 0o777},
		entry{name: "dev/null", kind: tar.TypeChar, mode: 0o666})
	top := pack(t, entry{name: "./opt/spark/RELEASE", content: "Spark", mode: 0o600})
	file := archive(t,
		entry{name: "aa.tar", content: string(base), mode: 0o644},
		entry{name: "bb.tar", content: string(top), mode: 0o644},
		entry{name: "manifest.json", content: `[{"Layers":["aa.tar","bb.tar"]}]`, mode: 0o644})
	cache := t.TempDir()

	dirs, err := unpackImage(t.Context(), file, cache)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]string{filepath.Join(cache, "aa"), filepath.Join(cache, "bb")}, dirs); diff != "" {
		t.Fatal(diff)
	}

	want := []string{
		"aa drwxr-xr-x", "aa/bin Lrwxrwxrwx", "aa/dev drwxr-xr-x", "aa/tmp dtrwxrwxrwx", "aa/usr drwxr-xr-x",
		"aa/usr/bin drwxr-xr-x",
		"aa/usr/bin/j urwxr-xr-x", "aa/usr/bin/java urwxr-xr-x", "bb drwxr-xr-x", "bb/opt drwxr-xr-x",
		"bb/opt/spark drwxr-xr-x",
		"bb/opt/spark/RELEASE -rw-------",
	}
	if diff := cmp.Diff(want, tree(t, cache)); diff != "" {
		t.Error(diff)
	}
	// A layer that is already in the cache is not unpacked again.
	if err := os.WriteFile(filepath.Join(dirs[1], "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}

	if _, err := unpackImage(t.Context(), file, cache); err != nil {
		t.Error(err)
	}

	if _, err := os.Stat(filepath.Join(dirs[1], "mine")); err != nil {
		t.Errorf("the layer was unpacked again: %v", err)
	}
}

func TestForgetRemovesUnusedLayers(t *testing.T) {
	cache := t.TempDir()
	layer := pack(t, entry{name: "a", content: "b", mode: 0o644})

	file := archive(t, entry{name: "manifest.json", content: `[{"Layers":["used.tar"]}]`},
		entry{name: "used.tar", content: string(layer)})
	if _, err := unpackImage(t.Context(), file, cache); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"old", "new", "used"} {
		if err := os.MkdirAll(filepath.Join(cache, name, "x"), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	long := time.Now().Add(-2 * unusedLimit)
	for _, name := range []string{"old", "used"} {
		if err := os.Chtimes(filepath.Join(cache, name), long, long); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := unpackImage(t.Context(), file, cache); err != nil {
		t.Fatal(err)
	}

	want := []string{"new drwxr-xr-x", "new/x drwxr-xr-x", "used drwxr-xr-x", "used/a -rw-r--r--", "used/x drwxr-xr-x"}
	if diff := cmp.Diff(want, tree(t, cache)); diff != "" {
		t.Error(diff)
	}
}

// tree returns the paths below a directory with their modes.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var out []string

	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}

		info, err := e.Info()
		if err != nil {
			return err
		}

		rel, err := filepath.Rel(dir, name)
		out = append(out, rel+" "+info.Mode().String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	slices.Sort(out)
	return out
}

func TestUnpackRejectsInvalidArchives(t *testing.T) {
	tests := []struct {
		about, want string
		entries     []entry
	}{
		{"no image", "is not a docker-archive with exactly one image", []entry{{name: "a", content: "b"}}},
		{"two images", "is not a docker-archive with exactly one image",
			[]entry{{name: "manifest.json", content: `[{"Layers":["a.tar"]},{"Layers":["b.tar"]}]`}}},
		{"compressed layers", "compressed", []entry{{name: "manifest.json", content: `[{"Layers":["a.tar.gz"]}]`}}},
		{"a file outside the directory", "escapes", []entry{
			{name: "manifest.json", content: `[{"Layers":["a.tar"]}]`},
			{name: "a.tar", content: string(pack(t, entry{name: "../../b", content: "c"}))}}},
		{"a file outside the directory through a link", "escapes", []entry{
			{name: "manifest.json", content: `[{"Layers":["a.tar"]}]`},
			{name: "a.tar", content: string(pack(t, entry{name: "out", kind: tar.TypeSymlink, target: "/tmp"},
				entry{name: "out/b", content: "c"}))}}},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			cache := t.TempDir()

			_, err := unpackImage(t.Context(), archive(t, tt.entries...), cache)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one that contains %q", err, tt.want)
			}

			if left := tree(t, cache); len(left) > 0 {
				t.Errorf("half a layer remains: %v", left)
			}
		})
	}
}

// TestWhiteoutsAreTranslated checks that whiteouts become the marks of an overlay file system. It needs root to create
// these marks.
func TestWhiteoutsAreTranslated(t *testing.T) {
	dir := t.TempDir()
	layer := pack(t, entry{name: "a/", mode: 0o755, kind: tar.TypeDir}, entry{name: "a/.wh.gone"},
		entry{name: "a/" + opaqueWhiteout})

	err := unpackLayer(t.Context(), bytes.NewReader(layer), dir)
	if os.Geteuid() != 0 {
		if !errors.Is(err, os.ErrPermission) {
			t.Errorf("error is %v, want that it is not permitted", err)
		}
		return
	}

	if err != nil {
		t.Fatal(err)
	}

	var stat syscall.Stat_t
	if err := syscall.Lstat(filepath.Join(dir, "a/gone"), &stat); err != nil ||
		stat.Mode&syscall.S_IFMT != syscall.S_IFCHR || stat.Rdev != 0 {
		t.Errorf("mode %o, device %d, %v", stat.Mode, stat.Rdev, err)
	}

	value := make([]byte, 8)

	n, err := syscall.Getxattr(filepath.Join(dir, "a"), "trusted.overlay.opaque", value)
	if err != nil || string(value[:n]) != "y" {
		t.Errorf("opaque is %q, %v", value[:max(n, 0)], err)
	}
}
