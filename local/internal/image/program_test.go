package image

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// contents returns the flattened file system of an image in an archive. It maps the name of each file to its content.
// For a symbolic link, the content is "-> " and the target.
func contents(t *testing.T, archive, tag string) map[string]string {
	t.Helper()

	ref, err := name.NewTag(tag)
	if err != nil {
		t.Fatal(err)
	}

	img, err := tarball.ImageFromPath(archive, &ref)
	if err != nil {
		t.Fatalf("archive has no readable image %s: %v", tag, err)
	}

	flat := mutate.Extract(img)
	defer flat.Close()

	files := map[string]string{}
	for r := tar.NewReader(flat); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}

		if err != nil {
			t.Fatal(err)
		}

		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}

		if h.Linkname != "" {
			body = []byte("-> " + h.Linkname)
		}

		files[strings.TrimSuffix(h.Name, "/")] = string(body)
	}
}

// unpackFile writes a file of an image to disk and makes it executable.
func unpackFile(t *testing.T, archive, tag, file string) string {
	t.Helper()

	body, ok := contents(t, archive, tag)[file]
	if !ok {
		t.Fatalf("image %s has no %s", tag, file)
	}

	path := filepath.Join(t.TempDir(), filepath.Base(file))
	if err := os.WriteFile(path, []byte(body), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPauseImageStaysUntilASignal(t *testing.T) {
	cache := t.TempDir()

	archive, err := Pause(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}

	ref, _ := name.NewTag(PauseTag)

	img, err := tarball.ImageFromPath(archive, &ref)
	if err != nil {
		t.Fatal(err)
	}

	if err := validate.Image(img); err != nil {
		t.Errorf("image is not well formed: %v", err)
	}

	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]string{"/pause"}, config.Config.Entrypoint); diff != "" {
		t.Error("entrypoint:", diff)
	}

	again, err := Pause(t.Context(), cache)
	if err != nil || again != archive {
		t.Errorf("second call made %q (%v), want the kept %q", again, err, archive)
	}

	pause := exec.Command(unpackFile(t, archive, PauseTag, "pause"))
	if err := pause.Start(); err != nil {
		t.Fatal(err)
	}
	// pause ends only on a signal. The signal may arrive before its handler is installed, and then it also ends pause.
	if err := pause.Process.Signal(os.Interrupt); err != nil {
		t.Errorf("pause did not stay: %v", err)
	}

	ended := make(chan error, 1)
	go func() { ended <- pause.Wait() }()

	select {
	case err := <-ended:
		t.Logf("pause ended: %v", err)
	case <-time.After(30 * time.Second):
		_ = pause.Process.Kill()

		t.Error("pause did not end on a signal")
	}
}

func TestProbeImageRunsItsCommands(t *testing.T) {
	archive, err := Probe(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	probe := unpackFile(t, archive, ProbeTag, "probe")

	written := filepath.Join(t.TempDir(), "new", "file")
	for _, test := range []struct {
		args     []string
		wantCode int
		wantOut  string
	}{
		{args: nil, wantCode: 2, wantOut: "usage: probe COMMAND"},
		{args: []string{"exit", "7", "because"}, wantCode: 7, wantOut: "because\n"},
		{args: []string{"exit", "seven"}, wantCode: 1, wantOut: "invalid syntax"},
		{args: []string{"sleep", "1ms"}},
		{args: []string{"lookup", "127.0.0.1"}, wantOut: "127.0.0.1\n"},
		{args: []string{"dial", "127.0.0.1:1"}, wantCode: 1, wantOut: "refused"},
		{args: []string{"write", written, "text"}},
		{args: []string{"read", written}, wantOut: "text"},
	} {
		cmd := exec.Command(probe, test.args...)

		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != test.wantCode || !strings.Contains(string(out), test.wantOut) {
			t.Errorf("probe %v: exit code %d, output %q; want %d and %q", test.args, code, out, test.wantCode,
				test.wantOut)
		}
	}
}

// TestImageBuildIsReproducible checks that equal inputs give equal bytes, even if the cache directory and the time
// differ.
func TestImageBuildIsReproducible(t *testing.T) {
	read := func() []byte {
		path, err := Pause(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}

		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	if a, b := read(), read(); string(a) != string(b) {
		t.Error("two builds of the pause image differ")
	}
}
