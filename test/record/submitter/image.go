//go:build linux

// Package submitter runs the real spark-submit from the files of a Spark image, in an isolated machine. The machine has
// its own file system, network and host name, and no container engine. It contains only spark-submit and a recording
// API server. The package needs Linux and root.
package submitter

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// cacheDir returns the directory for unpacked layers: sparklocal/record in $XDG_CACHE_HOME or in $HOME/.cache.
func cacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("directory for unpacked images: %w: set XDG_CACHE_HOME or HOME", err)
	}
	return filepath.Join(dir, "sparklocal", "record"), nil
}

// unpackImage unpacks those layers of an image that are not yet in the cache, and returns the directories of all
// layers, the lowest layer first. The image is a docker-archive with uncompressed layers, as sparklocal builds it. The
// cache names a layer by its digest, because images share layers.
func unpackImage(ctx context.Context, archive, cache string) ([]string, error) {
	layers, err := layersOf(archive)
	if err != nil {
		return nil, err
	}

	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}

	dirs := make([]string, len(layers))

	missing := map[string]string{}
	for i, layer := range layers {
		dirs[i] = filepath.Join(cache, strings.TrimSuffix(path.Base(layer), ".tar"))
		if err := os.Chtimes(dirs[i], time.Time{}, time.Now()); err != nil {
			missing[layer] = dirs[i]
		}
	}

	forget(cache)

	if len(missing) == 0 {
		return dirs, nil
	}
	return dirs, eachFile(archive, func(name string, body io.Reader) error {
		dir, ok := missing[name]
		if !ok {
			return ctx.Err()
		}
		// A layer gets its final name only when it is completely unpacked, so that a later call never finds a partial
		// layer.
		work, err := os.MkdirTemp(cache, "unpack-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(work)

		if err := os.Chmod(work, 0o755); err != nil {
			return err
		}

		if err := unpackLayer(ctx, body, work); err != nil {
			return fmt.Errorf("layer %s: %w", name, err)
		}

		if err := os.Rename(work, dir); err != nil && !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, syscall.EEXIST) {
			return err
		}
		return nil
	})
}

// unusedLimit is the time after which an unused cache entry is removed.
const unusedLimit = 14 * 24 * time.Hour

// forget removes unused entries from a directory of the cache. These are layers of older images, and remains of
// processes that were killed.
func forget(cache string) {
	entries, _ := os.ReadDir(cache) // A failure only wastes disk space.
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > unusedLimit {
			_ = os.RemoveAll(filepath.Join(cache, entry.Name()))
		}
	}
}

// layersOf returns the names of the files in the archive that are layers of the image, the lowest layer first.
func layersOf(archive string) ([]string, error) {
	var manifest []struct{ Layers []string }

	err := eachFile(archive, func(name string, body io.Reader) error {
		if name != "manifest.json" {
			return nil
		}
		return json.NewDecoder(body).Decode(&manifest)
	})
	if err != nil {
		return nil, err
	}

	if len(manifest) != 1 || len(manifest[0].Layers) == 0 {
		return nil, fmt.Errorf("%s is not a docker-archive with exactly one image", archive)
	}

	for _, layer := range manifest[0].Layers {
		if path.Ext(layer) != ".tar" {
			return nil, fmt.Errorf("%s: layer %s is compressed; build the image with `sparklocal image spark`", archive, layer)
		}
	}
	return manifest[0].Layers, nil
}

// eachFile calls f for every file of a tar archive. If f does not read the body of a file, eachFile skips that body.
func eachFile(archive string, f func(name string, body io.Reader) error) error {
	file, err := os.Open(archive)
	if err != nil {
		return fmt.Errorf("image: %w", err)
	}
	defer file.Close()

	in := tar.NewReader(file)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return fmt.Errorf("image %s: %w", archive, err)
		}

		if err := f(path.Clean(h.Name), in); err != nil {
			return fmt.Errorf("image %s: %w", archive, err)
		}
	}
}

// unpackLayer writes the entries of a layer below dir, and never outside it. It converts the whiteouts of the layer,
// which mark deleted files, to the marks of an overlay file system.
func unpackLayer(ctx context.Context, layer io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()

	in := tar.NewReader(layer)
	for ctx.Err() == nil {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return err
		}

		name := path.Clean(h.Name)
		if name == "." {
			continue
		}

		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}

		if err := unpackEntry(root, name, h, in); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return ctx.Err()
}

// These are the marks for deleted files that the OCI image specification defines (layer.md).
const (
	whiteout       = ".wh."
	opaqueWhiteout = ".wh..wh..opq"
)

func unpackEntry(root *os.Root, name string, h *tar.Header, body io.Reader) error {
	folder, base := path.Split(name)
	if base == opaqueWhiteout {
		return syscall.Setxattr(filepath.Join(root.Name(), folder), "trusted.overlay.opaque", []byte("y"), 0)
	}

	if deleted, ok := strings.CutPrefix(base, whiteout); ok {
		return syscall.Mknod(filepath.Join(root.Name(), folder, deleted), syscall.S_IFCHR, 0)
	}

	mode := h.FileInfo().Mode()
	switch h.Typeflag {
	case tar.TypeDir:
		if err := root.MkdirAll(name, 0o755); err != nil {
			return err
		}
	case tar.TypeReg:
		f, err := root.Create(name)
		if err != nil {
			return err
		}

		_, err = io.Copy(f, body)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	case tar.TypeSymlink:
		if err := root.Symlink(h.Linkname, name); err != nil {
			return err
		}
		return root.Lchown(name, h.Uid, h.Gid)
	case tar.TypeLink:
		return root.Link(path.Clean(h.Linkname), name)
	default:
		return nil // Skip devices and the like, because the machine mounts the host's /dev.
	}

	if err := root.Lchown(name, h.Uid, h.Gid); err != nil {
		return err
	}
	return root.Chmod(name, mode.Perm()|mode&(os.ModeSetuid|os.ModeSetgid|os.ModeSticky))
}
