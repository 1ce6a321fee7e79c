package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imagesDirectory is the directory with the images of all architectures, to push to a registry. Each image is an OCI
// layout with the name of its program.
const imagesDirectory = "images"

// architectures are the processor architectures of the images.
var architectures = []string{"amd64", "arm64"}

// imagesAndChart writes the images for the architectures, the operator's program, the chart and the manifests into the
// directory out. It adds the bills of materials of the images and of the program to boms, and returns the names of the
// files that it wrote, and the digests of the images by program.
func (r *release) imagesAndChart(ctx context.Context, root, out string, archs []string, boms map[string][]byte) (written []string, digests map[string]string, err error) {
	digests = map[string]string{}
	for _, i := range images {
		for _, arch := range archs {
			name := i.tar(arch)
			if boms[name+sbomSuffix], err = r.image(ctx, root, out, i, arch); err != nil {
				return nil, nil, err
			}

			written = append(written, name)
		}

		if digests[i.program], err = writeLayout(out, i, archs); err != nil {
			return nil, nil, fmt.Errorf("image %s: %w", i.name(), err)
		}
	}

	for _, arch := range archs {
		name, err := r.operator(root, out, arch, boms)
		if err != nil {
			return nil, nil, err
		}

		written = append(written, name)
	}

	chart, err := r.chart(filepath.Join(root, "charts", "spark-operator"), out, digests)
	if err != nil {
		return nil, nil, err
	}

	manifests, err := r.manifests(ctx, root, out, chart)
	return append(append(written, chart), manifests...), digests, err
}

// image builds an image for an architecture into the directory out, and returns its bill of materials.
func (r *release) image(ctx context.Context, root, out string, i image, arch string) ([]byte, error) {
	file, err := filepath.Abs(filepath.Join(out, i.tar(arch)))
	if err != nil {
		return nil, err
	}

	cmd := exec.CommandContext(ctx, "go", "run", "./cmd/sparklocal", "image", i.command, "--arch", arch,
		"--source", "..", "--version", r.version, "--tag", i.name()+":"+r.version, "--output", file)
	cmd.Dir = filepath.Join(root, "local")

	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("image %s: %w\n%s", i.name(), err, text)
	}
	return r.imageSBOM(i.name(), file)
}

// operator writes an archive with the operator's program for Linux on an architecture, and returns its name. It takes
// the program from the image in the directory out, so that both are the same bytes.
func (r *release) operator(root, out, arch string, boms map[string][]byte) (name string, err error) {
	program := images[0].program

	files, err := imageFiles(filepath.Join(out, images[0].tar(arch)))
	if err != nil {
		return "", err
	}

	at := slices.IndexFunc(files, func(f imageFile) bool { return f.name == "usr/bin/"+program })
	if at < 0 {
		return "", fmt.Errorf("the image of %s does not contain it", program)
	}

	described, components, err := r.binaryComponents(program, bytes.NewReader(files[at].content))
	if err != nil {
		return "", err
	}

	if boms[program+"_linux_"+arch+sbomSuffix], err = r.encode(described, components); err != nil {
		return "", err
	}

	name = program + "_linux_" + arch + ".tar.gz"
	_, err = r.writeArchive(filepath.Join(out, name), []packed{
		{name: "LICENSE", from: filepath.Join(root, "LICENSE"), mode: 0o644}, {name: program, content: files[at].content, mode: 0o755},
	})
	return name, err
}

// writeLayout combines the images of the architectures in an OCI layout, and returns the digest of their index.
func writeLayout(out string, i image, archs []string) (digest string, err error) {
	index := mutate.IndexMediaType(empty.Index, types.DockerManifestList)
	for _, arch := range archs {
		img, err := tarball.ImageFromPath(filepath.Join(out, i.tar(arch)), nil)
		if err != nil {
			return "", err
		}

		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}

	directory, err := layout.Write(filepath.Join(out, imagesDirectory, i.program), empty.Index)
	if err != nil {
		return "", err
	}

	hash, err := index.Digest()
	return hash.String(), errors.Join(err, directory.AppendIndex(index))
}
