package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/ranges"
)

// Runs is where runs are kept in the repository.
const Runs = "bench/runs"

// Newest is the file of the run that the page is written from: the full one that began last, rather one that came to its end than one of which a step failed, and
// then rather one of a commit than one of files that differ from it; where there is none, the quick one. A part of a plan is no run of it, nor is one without figures.
func Newest(dir string) (file string, run *figure.Run, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return "", nil, err
	}
	for _, f := range files {
		r, err := figure.Load(f)
		if err != nil {
			return "", nil, err
		}
		if rank(r) > 0 && (run == nil || better(r, run)) {
			file, run = f, r
		}
	}
	if run == nil {
		return "", nil, fmt.Errorf("%s holds no whole run of a plan", dir)
	}
	return file, run, nil
}

// better reports whether a page is to be written from a run rather than from another.
func better(r, than *figure.Run) bool {
	if a, b := rank(r), rank(than); a != b {
		return a > b
	}
	return r.Began.After(than.Began)
}

// rank is how much a run says about what is released; 0 is nothing.
func rank(r *figure.Run) int {
	of := map[string]int{"quick": 4, "full": 8}[r.Plan]
	if of == 0 || len(r.Figures) == 0 { // ended before anything was measured
		return 0
	}
	if len(r.Failed) > 0 {
		of -= 2
	}
	if dirty(r) {
		of--
	}
	return of
}

// dirty reports whether files differed from the commit that a run names.
func dirty(r *figure.Run) bool { return strings.HasSuffix(r.Commit, "-dirty") }

// Write writes docs/performance.md and its plots from the newest run of the repository at root, and removes plots that are none of its any more.
func Write(root string) error {
	files, err := Files(root)
	if err != nil {
		return err
	}
	plots := filepath.Join(root, "docs", Plots)
	if err := os.MkdirAll(plots, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(plots, "*.svg"))
	if err != nil {
		return err
	}
	for _, file := range old {
		if _, wanted := files[filepath.Join("docs", Plots, filepath.Base(file))]; wanted {
			continue
		}
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Files are the page and its plots by path in the repository, written from its newest run, and the pages that quote figures.
func Files(root string) (map[string][]byte, error) {
	file, run, err := Newest(filepath.Join(root, Runs))
	if err != nil {
		return nil, err
	}
	spec, err := ranges.Of("full") // a page tells also what was not measured
	if err != nil {
		return nil, err
	}
	page, drawn := Page(run, Runs+"/"+filepath.Base(file), ranges.Check(run, spec))
	files := map[string][]byte{filepath.Join("docs", "performance.md"): page}
	for name, picture := range drawn {
		files[filepath.Join("docs", Plots, name)] = picture
	}
	return files, quotes(root, run, files)
}

// quotes adds the pages that quote figures of the run, as far as they are there.
func quotes(root string, run *figure.Run, to map[string][]byte) error {
	for _, name := range quoting {
		name = filepath.Join("docs", name)
		text, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		page, err := quote(string(text), run)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		to[name] = []byte(page)
	}
	return nil
}

// Stale lists the files of the page that are not as the newest run has it, those among them that should not be there.
func Stale(root string) ([]string, error) {
	files, err := Files(root)
	if err != nil {
		return nil, err
	}
	var stale []string
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != string(want) {
			stale = append(stale, name)
		}
	}
	there, err := filepath.Glob(filepath.Join(root, "docs", Plots, "*.svg"))
	if err != nil {
		return nil, err
	}
	for _, file := range there {
		if name := filepath.Join("docs", Plots, filepath.Base(file)); files[name] == nil {
			stale = append(stale, name)
		}
	}
	slices.Sort(stale)
	return stale, nil
}
