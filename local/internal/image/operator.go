package image

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// SparkctlPackage is the package of sparkctl. Its image serves the web console.
const SparkctlPackage = "./cmd/sparkctl"

// sparkctlVersion is the variable with the version that sparkctl reports. The linker ignores it in other programs.
const sparkctlVersion = "github.com/sparkoperator/spark-operator/internal/cli.Version"

// operatorUser is the user and group of the operator's image. Images without a shell commonly use this ID.
const operatorUser = "65532:65532"

// OperatorOptions are the options for the operator's image.
type OperatorOptions struct {
	// SourceDir is a directory in the operator's Go module.
	SourceDir string
	// Package is the main package; if empty, ./cmd/spark-operator. Its last element is the name of the program, which
	// is in /usr/bin of the image.
	Package string
	// Version is the version that the program reports and that the image's label contains. If it is
	// empty, neither is set.
	Version string
	// Arch is the processor architecture (GOARCH); if empty, that of this machine.
	Arch string
	// Tag is the image's name; if empty, localhost/NAME:dev, where NAME is the name of the program.
	Tag string
	// CacheDir is the directory for archives; if empty, CacheDir().
	CacheDir string
	// Progress receives a line for each step; if nil, the lines are discarded.
	Progress io.Writer
}

// Operator builds the operator's image and returns the path of its docker-archive. The image contains the static binary
// and CA certificates, but no shell. It runs as user 65532. Its layers are compressed, so the archive is as large as a
// download from a registry.
//
// Operator needs a Go toolchain on PATH and returns an error if the program does not compile. The CA certificates come
// from a pinned Go module, so that no certificate of the build machine gets into the image.
func Operator(ctx context.Context, o OperatorOptions) (string, error) {
	s, err := openStore(o.CacheDir, o.Progress)
	if err != nil {
		return "", err
	}

	o.defaults()

	work, err := s.workDir()
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)

	name := filepath.Base(o.Package)
	binary := filepath.Join(work, name)
	done := s.log.step("go build %s", o.Package)

	build := goProgram{dir: o.SourceDir, pkg: o.Package, arch: o.Arch, output: binary}
	if o.Version != "" {
		build.stamp = map[string]string{"main.version": o.Version, sparkctlVersion: o.Version}
	}

	if err := goBuild(ctx, build); err != nil {
		return "", err
	}

	done()

	trusted := filepath.Join(work, "ca-certificates.crt")
	if err := os.WriteFile(trusted, certificates(), 0o600); err != nil {
		return "", err
	}

	inputs := []string{o.Tag, o.Version, name, o.Arch}
	for _, file := range []string{binary, trusted} {
		sum, err := hashFile(file)
		if err != nil {
			return "", err
		}

		inputs = append(inputs, sum.Hex)
	}

	id := productID{kind: "archives", name: name, ext: ".tar", key: key(inputs...)}

	path, err := s.product(ctx, id, func(_ context.Context, path string) error {
		layer := filepath.Join(work, "layer.tar")
		if err := programLayer(layer, binary, "/usr/bin/"+name, trusted); err != nil {
			return err
		}
		return writeArchiveFor(o.Arch, path, []string{o.Tag}, o.config(name), layerFile{path: layer, gzip: true, note: name})
	})
	if err != nil {
		return "", err
	}

	if info, err := os.Stat(path); err == nil {
		s.log.printf("image %s: %.1f MB compressed", o.Tag, float64(info.Size())/1e6)
	}
	return path, nil
}

func (o *OperatorOptions) defaults() {
	if o.SourceDir == "" {
		o.SourceDir = "."
	}

	if o.Package == "" {
		o.Package = "./cmd/spark-operator"
	}

	if o.Arch == "" {
		o.Arch = runtime.GOARCH
	}

	if o.Tag == "" {
		o.Tag = "localhost/" + path.Base(o.Package) + ":dev"
	}
}

func (o *OperatorOptions) config(name string) v1.Config {
	labels := map[string]string{"org.opencontainers.image.title": name, "org.opencontainers.image.licenses": "Apache-2.0"}
	if o.Version != "" {
		labels["org.opencontainers.image.version"] = o.Version
	}
	return v1.Config{
		Entrypoint: []string{"/usr/bin/" + name},
		User:       operatorUser,
		WorkingDir: "/",
		Env:        []string{"PATH=/usr/bin"},
		Labels:     labels,
	}
}

// certificates returns the CA certificates that Mozilla trusts, as a PEM file. The list comes from a Go module whose
// version go.mod pins. A PEM file cannot contain constraints, so certificates omits every certificate that Mozilla
// trusts only with a constraint.
func certificates() []byte {
	var file bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		// A write to a buffer cannot fail.
		_ = pem.Encode(&file, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
	}
	return file.Bytes()
}

// Copy copies a finished archive to the path that the user chose. It creates the directory of that path.
func Copy(archive, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("write the archive to --output: %w", err)
	}

	in, err := os.Open(archive)
	if err != nil {
		return fmt.Errorf("write the archive to --output: %w", err)
	}
	defer in.Close()

	out, err := os.Create(to)
	if err != nil {
		return fmt.Errorf("write the archive to --output: %w", err)
	}

	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("write the archive to %s: %w", to, err)
	}
	return nil
}
