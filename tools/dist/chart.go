package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// digestAnnotation is the prefix of the annotations of the chart that contain the digests of its images. The chart
// reads them in templates/_names.tpl.
const digestAnnotation = "digest.sparkoperator.dev/"

// chart writes the package of the chart in a directory into the directory out, and returns the name of the package. The
// chart gets the version of the release and the digests of the images, by program. Helm packages with the time of the
// build, so its packages are not reproducible.
func (r *release) chart(directory, out string, digests map[string]string) (name string, err error) {
	var files []packed

	err = filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}

		inside, err := filepath.Rel(directory, path)
		if err != nil {
			return err
		}

		file := packed{name: "spark-operator/" + filepath.ToSlash(inside), from: path, mode: 0o644}
		if inside == "Chart.yaml" {
			if file.content, err = r.chartFile(path, digests); err != nil {
				return err
			}
			// Helm reads this file first.
			files = append([]packed{file}, files...)
			return nil
		}

		files = append(files, file)
		return nil
	})
	if err != nil {
		return "", err
	}

	name = "spark-operator-" + strings.TrimPrefix(r.version, "v") + ".tgz"
	_, err = r.writeArchive(filepath.Join(out, name), files)
	return name, err
}

// chartFile returns the file Chart.yaml of the release.
func (r *release) chartFile(path string, digests map[string]string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}

	var chart map[string]any
	if err := yaml.UnmarshalStrict(text, &chart); err != nil {
		return nil, err
	}

	annotations := map[string]string{}
	for program, digest := range digests {
		annotations[digestAnnotation+program] = digest
	}

	chart["version"], chart["appVersion"], chart["annotations"] = strings.TrimPrefix(r.version, "v"), r.version, annotations
	return yaml.Marshal(chart)
}
