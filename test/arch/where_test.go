package arch

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// maxPlaces is the largest number of rows of the table "Where is X". A longer table is not read, and names of packages
// that lead make most rows needless.
const maxPlaces = 30

// missingPlaces returns the paths in the second cells of a table that do not exist. A name of a file without a folder
// is in the folder of the path before it. Other texts in backquotes are ignored.
func missingPlaces(rows [][]string, exists func(string) bool) (missing []string) {
	for _, cells := range rows {
		folder := ""
		for _, match := range quoted.FindAllStringSubmatch(cells[len(cells)-1], -1) {
			name := match[1]
			switch {
			case strings.Contains(name, "/"):
				folder = strings.TrimSuffix(name, "/")
				if path.Ext(name) != "" {
					folder = path.Dir(name)
				}
			case path.Ext(name) == ".go":
				name = path.Join(folder, name)
			default:
				continue
			}

			if !exists(name) {
				missing = append(missing, name)
			}
		}
	}
	return missing
}

// places returns the rows of the table "Where is X". Its first cells have no backquotes, unlike those of section.
func places(text string) (rows [][]string) {
	_, text, _ = strings.Cut(text, "\n## Where is X\n")

	text, _, _ = strings.Cut(text, "\n## ")
	for line := range strings.SplitSeq(text, "\n") {
		if cells := strings.Split(strings.Trim(line, "| "), " | "); len(cells) == 2 && strings.HasPrefix(line, "| ") {
			rows = append(rows, cells)
		}
	}
	return rows
}

// TestPlacesExist checks that the table "Where is X" names files and folders that exist, and that it is short.
func TestPlacesExist(t *testing.T) {
	const page = "docs/architecture.md"

	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}

	rows := places(string(text))[1:] // the first row has the titles
	if len(rows) < 10 || len(rows) > maxPlaces {
		t.Errorf("the table has %d rows, want at most %d", len(rows), maxPlaces)
	}

	for _, name := range missingPlaces(rows, func(name string) bool {
		_, err := os.Stat(filepath.Join(root, name))
		return !errors.Is(err, os.ErrNotExist)
	}) {
		t.Errorf("%s: %s does not exist", page, name)
	}
}

// TestMissingPlacesAreFound checks that a file without a folder belongs to the folder before it.
func TestMissingPlacesAreFound(t *testing.T) {
	exists := map[string]bool{"a/b": true, "a/b/x.go": true, "a/y.go": true, "a/z.go": true}
	for text, want := range map[string]string{
		"`a/b`, `x.go`": "", "`a/b`, `y.go`": "a/b/y.go", "`a/y.go`, `z.go`, `Word`": "", "`a/c`": "a/c",
		"`x.go`": "x.go",
	} {
		if got := strings.Join(missingPlaces([][]string{{"", text}}, func(name string) bool { return exists[name] }),
			" "); got != want {
			t.Errorf("%s: %q is missing, want %q", text, got, want)
		}
	}
}
