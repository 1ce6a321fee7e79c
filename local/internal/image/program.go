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
	// PauseTag is the image whose program holds a pod's namespaces: containerd's sandbox_image.
	PauseTag = "localhost/pause:1"
	// ProbeTag is the image of the small program that tests run in pods.
	ProbeTag = "localhost/probe:1"

	nobody = "65534:65534"
)

// Pause builds the image of the pause program with the tag PauseTag and returns the path of its docker-archive. If
// cacheDir is empty, Pause uses CacheDir(). Pause needs a Go toolchain on PATH.
func Pause(ctx context.Context, cacheDir string) (string, error) {
	return buildEmbedded(ctx, cacheDir, "pause", PauseTag)
}

// Probe builds the image of the probe program with the tag ProbeTag and returns the path of its docker-archive. The
// probe program serves HTTP, sleeps, exits with a code, looks up names and fetches URLs. Without arguments, it prints
// its usage. Probe needs a Go toolchain on PATH.
func Probe(ctx context.Context, cacheDir string) (string, error) {
	return buildEmbedded(ctx, cacheDir, "probe", ProbeTag)
}

// buildEmbedded builds the image of a program that consists of one source file. The source is embedded in this binary,
// so buildEmbedded also works outside a clone of the repository.
func buildEmbedded(ctx context.Context, cacheDir, program, tag string) (string, error) {
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

// goProgram describes a Go main package that is compiled to a static binary.
type goProgram struct {
	dir    string // a directory in its module
	pkg    string // the package, such as ./cmd/spark-operator
	arch   string // GOARCH; if empty, that of the environment
	output string
	// stamp sets string variables at link time. The keys are the import path and the name of a variable, and the values
	// are the values of the variables.
	stamp map[string]string
}

// goBuild compiles a program to a static, stripped binary that contains no paths of this machine. If it fails, the
// error contains the compiler's output.
func goBuild(ctx context.Context, p goProgram) error {
	// Without these tags, the operator is much larger, because it also contains gRPC's trace pages and parts of Google's
	// storage client that it does not use.
	args := []string{"build", "-trimpath", "-buildvcs=false", "-tags", "grpcnotrace,disable_grpc_modules", "-ldflags", p.ldflags(), "-o", p.output, p.pkg}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = p.dir

	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOWORK=off")
	if p.arch != "" {
		// A release must not depend on the processor that builds it.
		cmd.Env = append(cmd.Env, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0")
	}
	return run(cmd)
}

func (p goProgram) ldflags() string {
	flags := []string{"-s", "-w", "-buildid="}
	for _, name := range sortedKeys(p.stamp) {
		flags = append(flags, "-X", name+"="+p.stamp[name])
	}
	return strings.Join(flags, " ")
}

// programLayer writes a layer to a file. The layer contains a copy of the program `binary`, whose path in the image is
// `target`. Unless `bundle` is empty, the layer also contains a copy of that file as the image's CA certificates.
func programLayer(path, binary, target, bundle string) error {
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

	if err := w.copyFile(target, 0o755, binary); err != nil {
		return err
	}
	return w.finish()
}

// run runs a command. If the command fails, the error contains the last lines of its output.
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
		return fmt.Errorf("%s failed: %w; its last lines:\n%s", strings.Join(cmd.Args[:min(3, len(cmd.Args))], " "), err, lastLines(out.String(), 25))
	}
	return nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
