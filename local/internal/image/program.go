package image

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/sparkoperator/spark-operator/local/images"
)

const (
	// PauseTag is the image that holds a pod's namespaces: containerd's sandbox_image.
	PauseTag = "localhost/pause:1"
	// ProbeTag is the image of the small program that tests run in pods.
	ProbeTag = "localhost/probe:1"

	nobody = "65534:65534"
)

// Pause makes the image of the pause program under PauseTag and returns the path of its docker-archive. cacheDir may be empty, see CacheDir.
// It needs a Go toolchain on PATH.
func Pause(ctx context.Context, cacheDir string) (string, error) {
	return embedded(ctx, cacheDir, "pause", PauseTag)
}

// Probe makes the image of the probe program under ProbeTag and returns the path of its docker-archive. The program serves HTTP, sleeps,
// exits with a code, looks up names and fetches URLs; `probe` alone prints how. It needs a Go toolchain on PATH.
func Probe(ctx context.Context, cacheDir string) (string, error) {
	return embedded(ctx, cacheDir, "probe", ProbeTag)
}

// embedded builds a single-file program whose source is in this binary, so that it works away from a clone too.
func embedded(ctx context.Context, cacheDir, program, tag string) (string, error) {
	s, err := openStore(cacheDir, nil)
	if err != nil {
		return "", err
	}
	source, err := images.Files.ReadFile(program + "/main.go")
	if err != nil {
		return "", fmt.Errorf("source of %s: %w", program, err)
	}
	id := productID{kind: "archives", name: program, ext: ".tar", key: key(string(source), tag)}
	return s.product(ctx, id, func(ctx context.Context, path string) error {
		dir := filepath.Dir(path)
		module := "module " + program + "\n\ngo 1.24\n"
		for name, content := range map[string]string{"go.mod": module, "main.go": string(source)} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
				return fmt.Errorf("source of %s: %w", program, err)
			}
		}
		binary := filepath.Join(dir, program)
		if err := goBuild(ctx, goProgram{dir: dir, pkg: ".", output: binary}); err != nil {
			return err
		}
		layer := filepath.Join(dir, "layer.tar")
		if err := programLayer(layer, binary, "/"+program, ""); err != nil {
			return err
		}
		config := v1.Config{Entrypoint: []string{"/" + program}, User: nobody}
		return writeArchive(path, []string{tag}, config, layerFile{path: layer, note: program})
	})
}

// goProgram is a Go main package that is to become a static binary.
type goProgram struct {
	dir    string // a directory of its module
	pkg    string // the package, such as ./cmd/spark-operator
	output string
	// stamp sets string variables at link time: import path and name to value.
	stamp map[string]string
}

// goBuild compiles a static, stripped binary without paths of this machine in it. A failure carries what the compiler said.
func goBuild(ctx context.Context, p goProgram) error {
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", p.ldflags(), "-o", p.output, p.pkg}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOWORK=off")
	return run(cmd)
}

func (p goProgram) ldflags() string {
	flags := []string{"-s", "-w", "-buildid="}
	for _, name := range sortedKeys(p.stamp) {
		flags = append(flags, "-X", name+"="+p.stamp[name])
	}
	return strings.Join(flags, " ")
}

// programLayer writes a layer of one program and, unless bundle is empty, the CA certificates in that file.
func programLayer(path, binary, as, bundle string) error {
	w, err := newLayer(path)
	if err != nil {
		return err
	}
	defer w.abort()
	if bundle != "" {
		if err := w.copyFile("/etc/ssl/certs/ca-certificates.crt", 0o644, bundle); err != nil {
			return err
		}
	}
	if err := w.copyFile(as, 0o755, binary); err != nil {
		return err
	}
	return w.finish()
}

// run runs a command; when it fails the error carries the last lines that it wrote.
func run(cmd *exec.Cmd) error {
	var out bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &out
	} else {
		cmd.Stderr = io.MultiWriter(cmd.Stderr, &out)
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args[:min(3, len(cmd.Args))], " "), err, lastLines(out.String(), 25))
	}
	return nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
