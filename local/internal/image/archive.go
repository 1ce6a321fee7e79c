package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// plainLayer is an uncompressed layer in a file. It replaces the library's layer type, which always compresses the
// layer in an archive. The compression takes half a minute for a gigabyte, and the decompression takes several seconds
// at every import.
type plainLayer struct {
	path string
	hash func() (v1.Hash, error)
}

func newPlainLayer(path string) *plainLayer {
	return &plainLayer{path: path, hash: sync.OnceValues(func() (v1.Hash, error) { return hashFile(path) })}
}

func hashFile(path string) (v1.Hash, error) {
	f, err := os.Open(path)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("digest: %w", err)
	}
	defer f.Close()

	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return v1.Hash{}, fmt.Errorf("digest of %s: %w", path, err)
	}
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum.Sum(nil))}, nil
}

func (l *plainLayer) Digest() (v1.Hash, error)             { return l.hash() }
func (l *plainLayer) DiffID() (v1.Hash, error)             { return l.hash() }
func (l *plainLayer) Compressed() (io.ReadCloser, error)   { return os.Open(l.path) }
func (l *plainLayer) Uncompressed() (io.ReadCloser, error) { return os.Open(l.path) }
func (l *plainLayer) MediaType() (types.MediaType, error)  { return types.DockerUncompressedLayer, nil }
func (l *plainLayer) Size() (int64, error) {
	info, err := os.Stat(l.path)
	if err != nil {
		return 0, fmt.Errorf("layer size: %w", err)
	}
	return info.Size(), nil
}

// layerFile is an uncompressed layer in a file. Its other fields say how the layer is written to an archive.
type layerFile struct {
	path string
	// gzip is true if the layer is compressed, as in an image that is pushed to a registry. An uncompressed layer loads
	// faster into a cluster.
	gzip bool
	// note describes the layer in the image's history.
	note string
}

func (l layerFile) open() (v1.Layer, error) {
	if !l.gzip {
		return newPlainLayer(l.path), nil
	}

	layer, err := tarball.LayerFromFile(l.path, tarball.WithCompressionLevel(9))
	if err != nil {
		return nil, fmt.Errorf("layer %s: %w", l.path, err)
	}
	return layer, nil
}

// writeArchive writes a docker-archive of one image for this machine's processor with the given tags to path. The bytes
// of the archive depend only on the layers, the configuration and the tags.
func writeArchive(path string, tags []string, config v1.Config, layers ...layerFile) error {
	return writeArchiveFor(runtime.GOARCH, path, tags, config, layers...)
}

// writeArchiveFor is writeArchive for a processor architecture (GOARCH).
func writeArchiveFor(arch, path string, tags []string, config v1.Config, layers ...layerFile) error {
	img, err := assemble(arch, config, layers)
	if err != nil {
		return err
	}

	for _, t := range tags {
		if _, err := name.NewTag(t); err != nil {
			return fmt.Errorf("image tag: %w", err)
		}
	}

	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	defer f.Close()

	if err := writeImage(f, img, tags); err != nil {
		return fmt.Errorf("archive %s: %w", path, err)
	}

	if err := f.Close(); err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	return nil
}

// writeImage writes the configuration, the layers and manifest.json. It replaces the writer of the library, which takes
// the tags from a map and therefore writes the tags in random order.
func writeImage(out io.Writer, img v1.Image, tags []string) error {
	configName, err := img.ConfigName()
	if err != nil {
		return err
	}

	config, err := img.RawConfigFile()
	if err != nil {
		return err
	}

	layers, err := img.Layers()
	if err != nil {
		return err
	}

	w := tar.NewWriter(out)

	entry := tarball.Descriptor{Config: configName.Hex + ".json", RepoTags: tags}
	if err := writeBlob(w, entry.Config, int64(len(config)), bytes.NewReader(config)); err != nil {
		return err
	}

	for _, l := range layers {
		file, err := writeLayer(w, l)
		if err != nil {
			return err
		}

		entry.Layers = append(entry.Layers, file)
	}

	manifest, err := json.Marshal(tarball.Manifest{entry})
	if err != nil {
		return err
	}

	if err := writeBlob(w, "manifest.json", int64(len(manifest)), bytes.NewReader(manifest)); err != nil {
		return err
	}
	return w.Close()
}

func writeLayer(w *tar.Writer, l v1.Layer) (file string, err error) {
	digest, err := l.Digest()
	if err != nil {
		return "", err
	}

	size, err := l.Size()
	if err != nil {
		return "", err
	}

	body, err := l.Compressed()
	if err != nil {
		return "", err
	}
	defer body.Close()

	file = digest.Hex + ".tar"
	if kind, err := l.MediaType(); err == nil && kind == types.DockerLayer {
		file += ".gz"
	}
	return file, writeBlob(w, file, size, body)
}

func writeBlob(w *tar.Writer, name string, size int64, body io.Reader) error {
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: epoch}); err != nil {
		return err
	}

	_, err := io.Copy(w, body)
	return err
}

func assemble(arch string, config v1.Config, layers []layerFile) (v1.Image, error) {
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		Architecture: arch,
		OS:           "linux",
		Created:      v1.Time{Time: epoch},
		Config:       config,
		RootFS:       v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, fmt.Errorf("image configuration: %w", err)
	}

	for _, l := range layers {
		layer, err := l.open()
		if err != nil {
			return nil, err
		}

		img, err = mutate.Append(img, mutate.Addendum{
			Layer:   layer,
			History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: l.note},
		})
		if err != nil {
			return nil, fmt.Errorf("layer %s: %w", l.path, err)
		}
	}
	return img, nil
}
