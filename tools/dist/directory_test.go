package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// namesIn returns the names of the files and directories in a directory.
func namesIn(t *testing.T, directory string) (names []string) {
	t.Helper()

	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}

	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// directoryWith returns a directory with files, by name.
func directoryWith(t *testing.T, files ...string) string {
	t.Helper()

	directory := t.TempDir()
	for _, file := range files {
		name, text, _ := strings.Cut(file, "=")
		if err := os.MkdirAll(filepath.Dir(filepath.Join(directory, name)), 0o750); err != nil {
			t.Fatal(err)
		}

		write(t, filepath.Join(directory, name), text)
	}
	return directory
}

// TestAnEarlierBuildIsReplaced checks that a build replaces all files of the earlier one, also those that it does not
// write itself, and no other files.
func TestAnEarlierBuildIsReplaced(t *testing.T) {
	out := directoryWith(t, "thesis.pdf=text", "site/index.html=text", ".hidden=text")
	for _, build := range [][]string{
		{"SHA256SUMS=1  sparkctl_linux_amd64.tar.gz\n2  install.yaml\n", "sparkctl_linux_amd64.tar.gz=1", "install.yaml=1", "spark.yaml=1", "images/sparkctl/index.json=1"},
		{"SHA256SUMS=3  spark-operator-1.2.3.tgz\n", "spark-operator-1.2.3.tgz=2", "spark.yaml=2"},
	} {
		if err := publish(directoryWith(t, build...), out); err != nil {
			t.Fatal(err)
		}
	}

	want := []string{".hidden", "SHA256SUMS", "site", "spark-operator-1.2.3.tgz", "spark.yaml", "thesis.pdf"}
	if names := namesIn(t, out); !slices.Equal(names, want) || read(t, filepath.Join(out, krewFile)) != "2" {
		t.Errorf("the directory contains %v, want %v", names, want)
	}
}

// TestFilesOfOthersStay checks that a build is refused, before it begins, if its files would replace files that no
// earlier build wrote.
func TestFilesOfOthersStay(t *testing.T) {
	for _, files := range [][]string{
		{"install.yaml=text"},
		{"images/holiday.jpg=text"},
		{"spark-operator-0.1.0.tgz=text", "SHA256SUMS=1  install.yaml\n", "install.yaml=text"},
		{"thesis.pdf=text", "SHA256SUMS=1  thesis.pdf\n"},
		{"SHA256SUMS=1  ../install.yaml\n"},
		{"SHA256SUMS=no list of checksums\n"},
	} {
		out := directoryWith(t, files...)
		before := namesIn(t, out)

		if _, err := new(release).write(t.Context(), "no such sources", out, nil, nil); err == nil || !strings.Contains(err.Error(), "-out") {
			t.Errorf("%v: %v", files, err)
		}

		if after := namesIn(t, out); !slices.Equal(before, after) {
			t.Errorf("%v: the directory then contains %v", files, after)
		}
	}
}

// TestAFailedBuildLeavesTheEarlierOne checks that a build without sources changes nothing.
func TestAFailedBuildLeavesTheEarlierOne(t *testing.T) {
	out := directoryWith(t, "SHA256SUMS=1  install.yaml\n", "install.yaml=text")

	r := &release{version: "v1.2.3"}
	if _, err := r.write(t.Context(), "no such sources", out, nil, nil); err == nil || !strings.Contains(err.Error(), "release notes") {
		t.Errorf("the error is %v", err)
	}

	if names := namesIn(t, out); !slices.Equal(names, []string{"SHA256SUMS", "install.yaml"}) {
		t.Errorf("the directory then contains %v", names)
	}
}

// TestNotes checks that a release has the section of the changelog as its notes, that a version without a section is
// no release, and that only a version with a suffix may lack one.
func TestNotes(t *testing.T) {
	for version, want := range map[string]string{"v0.1.0": "The first release.", "v0.0.0": "no section", "v0.0.0-g1234567": ""} {
		out := t.TempDir()

		names, err := (&release{version: version}).notes(t.Context(), "../..", out)
		if want == "no section" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", version, err)
			}
			continue
		}

		if err != nil || (want != "") != slices.Equal(names, []string{notesFile}) || !slices.Equal(names, namesIn(t, out)) {
			t.Errorf("%s: %v: %v", version, names, err)
		}

		if want != "" && !strings.HasPrefix(read(t, filepath.Join(out, notesFile)), want) {
			t.Errorf("%s has the notes %s", version, read(t, filepath.Join(out, notesFile)))
		}
	}
}
