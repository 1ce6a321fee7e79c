package main

import (
	"archive/tar"
	"archive/zip"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// archive returns the file name of a platform's archive. The archive for Windows is a zip file, because Windows can
// open zip files without additional programs.
func (p platform) archive() string {
	if p.os == "windows" {
		return fmt.Sprintf("sparkctl_%s_%s.zip", p.os, p.arch)
	}
	return fmt.Sprintf("sparkctl_%s_%s.tar.gz", p.os, p.arch)
}

// bom returns the file name of a platform's bill of materials.
func (p platform) bom() string { return fmt.Sprintf("sparkctl_%s_%s%s", p.os, p.arch, sbomSuffix) }

// suffix returns the suffix of a program's file name on the platform, such as ".exe".
func (p platform) suffix() string {
	if p.os == "windows" {
		return ".exe"
	}
	return ""
}

// packed is a file to pack into an archive: its name in the archive, and the path from which pack reads it.
type packed struct {
	name, from string
	mode       os.FileMode
	// content replaces that of the file, unless it is nil.
	content []byte
}

func (f packed) read() ([]byte, error) {
	if f.content != nil {
		return f.content, nil
	}
	return os.ReadFile(f.from)
}

// pack packs the binaries into archives. It writes the archives, the bills of materials by their names, the provenance
// of both, of the files that were written before and of the images, the checksums of all these files (SHA256SUMS), and
// the manifest for krew (spark.yaml) into the directory out. It returns the checksums.
func (r *release) pack(binaries map[platform]string, boms map[string][]byte, written []string, images map[string]string, license, out string) (string, error) {
	var sums, manifest strings.Builder
	manifest.WriteString(r.manifest())

	for _, p := range platforms {
		if binaries[p] == "" {
			continue
		}

		files := []packed{{name: "LICENSE", from: license, mode: 0o644}, {name: "sparkctl" + p.suffix(), from: binaries[p], mode: 0o755}}

		sum, err := r.writeArchive(filepath.Join(out, p.archive()), files)
		if err != nil {
			return "", err
		}

		fmt.Fprintf(&sums, "%s  %s\n", sum, p.archive())
		manifest.WriteString(r.manifestOf(p, sum))
	}

	for _, name := range slices.Sorted(maps.Keys(boms)) {
		if err := os.WriteFile(filepath.Join(out, name), boms[name], 0o644); err != nil {
			return "", err
		}

		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(boms[name]), name)
	}

	for _, name := range written {
		content, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			return "", err
		}

		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), name)
	}

	provenance, err := r.provenance(sums.String(), images)
	if err != nil {
		return "", err
	}

	if err := os.WriteFile(filepath.Join(out, provenanceFile), provenance, 0o644); err != nil {
		return "", err
	}

	fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(provenance), provenanceFile)

	if err := os.WriteFile(filepath.Join(out, sumsFile), []byte(sums.String()), 0o644); err != nil {
		return "", err
	}
	return sums.String(), os.WriteFile(filepath.Join(out, krewFile), []byte(manifest.String()), 0o644)
}

// writeArchive writes an archive, and returns its checksum.
func (r *release) writeArchive(path string, files []packed) (string, error) {
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer f.Close()

	hash := sha256.New()

	write := r.writeTar
	if strings.HasSuffix(path, ".zip") {
		write = r.writeZip
	}

	if err := write(io.MultiWriter(f, hash), files); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), f.Close()
}

func (r *release) writeTar(to io.Writer, files []packed) error {
	compressed, err := gzip.NewWriterLevel(to, gzip.BestCompression)
	if err != nil {
		return err
	}

	archive := tar.NewWriter(compressed)
	for _, f := range files {
		text, err := f.read()
		if err != nil {
			return err
		}

		header := &tar.Header{Name: f.name, Mode: int64(f.mode), Size: int64(len(text)), ModTime: r.time, Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}

		if _, err := archive.Write(text); err != nil {
			return err
		}
	}

	if err := archive.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

func (r *release) writeZip(to io.Writer, files []packed) error {
	archive := zip.NewWriter(to)
	archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })

	for _, f := range files {
		text, err := f.read()
		if err != nil {
			return err
		}

		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: r.time}
		header.SetMode(f.mode)

		w, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}

		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return archive.Close()
}
