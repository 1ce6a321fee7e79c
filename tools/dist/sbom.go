package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime/debug"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// sbomSuffix is the suffix of a bill of materials. The part before it is the name of the archive or image.
const sbomSuffix = ".cdx.json"

// binaryComponents returns a component for a Go binary, and one for each module that the linker put into it. The
// modules come from the binary itself, so the list cannot differ from what runs.
func (r *release) binaryComponents(name string, binary io.ReaderAt) (cdx.Component, []cdx.Component, error) {
	info, err := buildinfo.Read(binary)
	if err != nil {
		return cdx.Component{}, nil, fmt.Errorf("%s: %w", name, err)
	}

	program := cdx.Component{
		Type: cdx.ComponentTypeApplication, BOMRef: name, Name: name, Version: r.version, PackageURL: purl(info.Main.Path, r.version),
	}

	components := []cdx.Component{{
		Type: cdx.ComponentTypeLibrary, BOMRef: purl("std", strings.TrimPrefix(info.GoVersion, "go")), Name: "std",
		Version: strings.TrimPrefix(info.GoVersion, "go"), PackageURL: purl("std", strings.TrimPrefix(info.GoVersion, "go")),
	}}
	for _, module := range info.Deps {
		components = append(components, moduleComponent(module))
	}
	return program, components, nil
}

// moduleComponent describes a module. A replaced module is described by its replacement, which is what was compiled.
func moduleComponent(module *debug.Module) cdx.Component {
	if module.Replace != nil {
		module = module.Replace
	}
	return cdx.Component{
		Type: cdx.ComponentTypeLibrary, BOMRef: purl(module.Path, module.Version), Name: module.Path, Version: module.Version,
		PackageURL: purl(module.Path, module.Version),
	}
}

// purl returns the package URL of a Go module.
func purl(module, version string) string { return "pkg:golang/" + module + "@" + version }

// encode returns a bill of materials in the format CycloneDX. It contains neither a serial number nor the time of the
// build, so that two builds of the same sources are equal.
func (r *release) encode(subject cdx.Component, components []cdx.Component) ([]byte, error) {
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: r.time.Format("2006-01-02T15:04:05Z"), Component: &subject}
	bom.Components = &components

	var refs []string
	for i := range components {
		refs = append(refs, components[i].BOMRef)
	}

	bom.Dependencies = &[]cdx.Dependency{{Ref: subject.BOMRef, Dependencies: &refs}}
	var out bytes.Buffer
	err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	return out.Bytes(), err
}

// binarySBOM returns the bill of materials of the binary in a file.
func (r *release) binarySBOM(name, file string) ([]byte, error) {
	binary, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer binary.Close()

	program, components, err := r.binaryComponents(name, binary)
	if err != nil {
		return nil, err
	}
	return r.encode(program, components)
}

// imageSBOM returns the bill of materials of an image in a tar of `docker save`. It lists the modules of each Go binary
// and, with its checksum, every other file.
func (r *release) imageSBOM(name, file string) ([]byte, error) {
	files, err := imageFiles(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}

	image := cdx.Component{Type: cdx.ComponentTypeContainer, BOMRef: name, Name: name, Version: r.version}

	var components []cdx.Component
	for _, f := range files {
		program, modules, err := r.binaryComponents("/"+f.name, bytes.NewReader(f.content))
		if err == nil {
			components = append(append(components, program), modules...)
			continue
		}

		hashes := []cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sha256.Sum256(f.content))}}
		components = append(components, cdx.Component{Type: cdx.ComponentTypeFile, BOMRef: "/" + f.name, Name: "/" + f.name, Hashes: &hashes})
	}

	if len(components) == 0 {
		return nil, fmt.Errorf("%s: the image has no files", file)
	}
	return r.encode(image, components)
}

// imageFile is a regular file of an image.
type imageFile struct {
	name    string
	content []byte
}

// imageFiles returns the regular files of all layers of an image.
func imageFiles(file string) (files []imageFile, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}

	entries, err := tarFiles(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}

	var manifest []struct{ Layers []string }
	for _, entry := range entries {
		if entry.name == "manifest.json" {
			err = json.Unmarshal(entry.content, &manifest)
		}
	}

	if err != nil || len(manifest) != 1 {
		return nil, errors.Join(err, errors.New("the tar is not that of one image"))
	}

	for _, layer := range manifest[0].Layers {
		for _, entry := range entries {
			if entry.name != layer {
				continue
			}

			content, err := gzip.NewReader(bytes.NewReader(entry.content))
			if err != nil {
				return nil, err
			}

			inside, err := tarFiles(content)
			if err != nil {
				return nil, err
			}

			files = append(files, inside...)
		}
	}
	return files, nil
}

// tarFiles returns the regular files of a tar.
func tarFiles(in io.Reader) (files []imageFile, err error) {
	for archive := tar.NewReader(in); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}

		if err != nil {
			return nil, err
		}

		if header.Typeflag != tar.TypeReg {
			continue
		}

		content, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}

		files = append(files, imageFile{path.Clean(strings.TrimPrefix(header.Name, "/")), content})
	}
}
