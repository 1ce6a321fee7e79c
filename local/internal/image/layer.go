package image

import (
	"archive/tar"
	"bufio"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"
)

// epoch is the time of every file and image that this package writes itself. It is fixed, so that equal inputs give
// equal bytes.
var epoch = time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)

// layerWriter writes a layer as a stream, without a copy in memory.
type layerWriter struct {
	*tar.Writer
	file   *os.File
	buffer *bufio.Writer
	dirs   map[string]bool
}

// newLayer creates a file and returns a writer of an uncompressed layer in this file.
func newLayer(file string) (*layerWriter, error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}

	w := &layerWriter{file: f, buffer: bufio.NewWriterSize(f, 1<<20), dirs: map[string]bool{}}
	w.Writer = tar.NewWriter(w.buffer)
	return w, nil
}

// owner is the user ID and group ID of files in a layer.
type owner struct{ uid, gid int }

// add writes an entry. Before the entry, add writes those parent directories that the layer does not contain yet, owned
// by root with mode 0755. Without entries for these directories, the program that unpacks the layer would choose their
// mode.
func (w *layerWriter) add(h tar.Header, body io.Reader) error {
	h.Name = strings.TrimPrefix(path.Clean("/"+h.Name), "/")
	if err := w.parents(h.Name); err != nil {
		return err
	}

	if h.Typeflag == tar.TypeDir {
		if w.dirs[h.Name] {
			return nil
		}

		w.dirs[h.Name] = true
		h.Name += "/"
	}
	// The unpacking machine would map user names to its own IDs, so the entry contains only the IDs.
	h.Uname, h.Gname = "", ""

	h.AccessTime, h.ChangeTime = time.Time{}, time.Time{}
	if h.ModTime.IsZero() {
		h.ModTime = epoch
	}

	h.Format = tar.FormatPAX
	if err := w.WriteHeader(&h); err != nil {
		return fmt.Errorf("layer entry %s: %w", h.Name, err)
	}

	if body == nil {
		return nil
	}

	if _, err := io.Copy(w.Writer, body); err != nil {
		return fmt.Errorf("layer entry %s: %w", h.Name, err)
	}
	return nil
}

func (w *layerWriter) parents(name string) error {
	for i, c := range name {
		if c != '/' || w.dirs[name[:i]] {
			continue
		}

		if err := w.add(tar.Header{Typeflag: tar.TypeDir, Name: name[:i], Mode: 0o755}, nil); err != nil {
			return err
		}
	}
	return nil
}

func (w *layerWriter) dir(name string, mode int64, o owner) error {
	return w.add(tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode, Uid: o.uid, Gid: o.gid}, nil)
}

func (w *layerWriter) bytes(name string, mode int64, content []byte) error {
	h := tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content))}
	return w.add(h, strings.NewReader(string(content)))
}

func (w *layerWriter) symlink(name, target string) error {
	return w.add(tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777}, nil)
}

// copyFile writes a regular file of the machine to the layer.
func (w *layerWriter) copyFile(name string, mode int64, from string) error {
	f, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("layer entry %s: %w", name, err)
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("layer entry %s: %w", name, err)
	}
	return w.add(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: info.Size()}, f)
}

// abort closes the file of an unfinished layer. If the layer is finished, the file is already closed, and abort has no
// effect.
func (w *layerWriter) abort() { _ = w.file.Close() }

// finish completes the layer and closes its file.
func (w *layerWriter) finish() error {
	if err := w.Close(); err != nil {
		return fmt.Errorf("layer: %w", err)
	}

	if err := w.buffer.Flush(); err != nil {
		return fmt.Errorf("layer: %w", err)
	}

	if err := w.file.Close(); err != nil {
		return fmt.Errorf("layer: %w", err)
	}
	return nil
}
