package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// These are files of a release beside its archives.
const (
	sumsFile       = "SHA256SUMS"
	krewFile       = "spark.yaml"
	notesFile      = "notes.md"
	provenanceFile = "provenance.intoto.json"
)

// unlisted are the files and directories of a release that are not in its list of checksums.
var unlisted = []string{sumsFile, krewFile, imagesDirectory}

// patterns match the names of all files and directories of a release.
var patterns = append([]string{"sparkctl_*", "spark-operator_linux_*", "spark-operator-*.tgz", definitionsFile, installFile, exampleFile, notesFile, provenanceFile}, unlisted...)

// isOurs reports whether a name is that of a file or directory of a release.
func isOurs(name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		matches, _ := filepath.Match(pattern, name) // the patterns are valid
		return matches
	})
}

// earlier returns the names of the files and directories of an earlier build in the directory out, which its list of
// checksums names. Dist replaces these, and they are the only ones that it deletes. Earlier returns an error if the
// directory has other entries with names of a release: they belong to somebody else.
func earlier(out string) (names []string, err error) {
	list, err := os.Open(filepath.Join(out, sumsFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}

	if err == nil {
		defer list.Close()

		for lines := bufio.NewScanner(list); lines.Scan(); {
			_, name, _ := strings.Cut(lines.Text(), "  ")
			if !isOurs(name) {
				return nil, fmt.Errorf("%s names %q, so no earlier build wrote it; move it, or choose another directory with -out", list.Name(), name)
			}

			names = append(names, name)
		}

		names = append(names, unlisted...)
	}

	entries, err := os.ReadDir(out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}

	for _, entry := range entries {
		if isOurs(entry.Name()) && !slices.Contains(names, entry.Name()) {
			return nil, fmt.Errorf("%s is not of an earlier build, because %s there does not name it; move it, or choose another directory with -out", filepath.Join(out, entry.Name()), sumsFile)
		}
	}
	return names, nil
}

// publish moves the files of a build into the directory out, in place of those of an earlier build.
func publish(unfinished, out string) error {
	old, err := earlier(out)
	if err != nil {
		return err
	}

	for _, name := range old {
		if err := os.RemoveAll(filepath.Join(out, name)); err != nil {
			return err
		}
	}

	entries, err := os.ReadDir(unfinished)
	if err != nil {
		return err
	}

	for _, entry := range entries {
		if err := os.Rename(filepath.Join(unfinished, entry.Name()), filepath.Join(out, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// notes writes the notes of the release, the section of the changelog, into the directory out, and returns the name of
// the file. A version with a suffix, such as v0.0.0-g1234567, needs no section, and then has no notes.
func (r *release) notes(ctx context.Context, root, out string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "bash", filepath.Join(root, "tools", "release-notes.sh"), r.version, filepath.Join(root, "CHANGELOG.md"))

	var problem strings.Builder
	cmd.Stderr = &problem

	text, err := cmd.Output()
	if err != nil {
		if strings.Contains(r.version, "-") {
			return nil, nil
		}
		return nil, fmt.Errorf("release notes: %w: %s", err, problem.String())
	}
	return []string{notesFile}, os.WriteFile(filepath.Join(out, notesFile), append(bytes.TrimSpace(text), '\n'), 0o644)
}
