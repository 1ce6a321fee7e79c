package arch

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// page is the document that contains the table of packages.
const page = "docs/architecture.md"

// row is a row of the table of packages. Its pattern is a folder, or a folder followed by "/..." for this folder and
// all folders below it.
type row struct {
	pattern string
	imports []string // patterns of the packages in this module that it may import
}

type table []row

// matches reports whether a pattern of the table covers a folder. A pattern that ends with "/..." covers all folders
// below it too.
func matches(pattern, folder string) bool {
	top, below := strings.CutSuffix(pattern, "/...")
	return folder == pattern || below && isBelow(folder, top)
}

// rowOf returns the row of a package: the row of the package's own folder, or else the row of the nearest folder above
// it. It returns nil if there is no such row.
func (t table) rowOf(folder string) *row {
	var found *row
	for i := range t {
		switch {
		case t[i].pattern == folder:
			return &t[i]
		case matches(t[i].pattern, folder) && (found == nil || len(t[i].pattern) > len(found.pattern)):
			found = &t[i]
		}
	}
	return found
}

// allows reports whether the packages of the row may import a folder of this module.
func (r *row) allows(folder string) bool {
	return slices.ContainsFunc(r.imports, func(pattern string) bool { return matches(pattern, folder) })
}

// section returns the cells of the table rows in one section of a page. The section begins with the given heading.
func section(text, heading string) (rows [][]string) {
	_, text, _ = strings.Cut(text, "\n## "+heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "| `") {
			rows = append(rows, strings.Split(strings.Trim(line, "| "), " | "))
		}
	}
	return rows
}

var quoted = regexp.MustCompile("`([^`]+)`")

// quotedIn returns the texts in backquotes in a cell. Outside of the backquotes, the cell may contain only commas.
// Otherwise quotedIn returns an error.
func quotedIn(cell string) (found []string, _ error) {
	for _, match := range quoted.FindAllStringSubmatch(cell, -1) {
		found = append(found, match[1])
	}
	if rest := strings.Trim(quoted.ReplaceAllString(cell, ""), ", "); rest != "" {
		return nil, fmt.Errorf("%q is no list of packages", cell)
	}
	return found, nil
}

// parseTable parses two tables in a text: the table of packages, and the table of folders that follows it.
func parseTable(text string) (packages table, folders []string, _ error) {
	for _, cells := range section(text, "Packages") {
		names, err := quotedIn(cells[0])
		switch {
		case err != nil:
			return nil, nil, err
		case len(cells) == 2:
			folders = append(folders, names...)
			continue
		case len(names) != 1:
			return nil, nil, fmt.Errorf("%q is not one package", cells[0])
		}
		r := row{pattern: names[0]}
		if cells[2] != "nothing" {
			if r.imports, err = quotedIn(cells[2]); err != nil {
				return nil, nil, err
			}
		}
		packages = append(packages, r)
	}
	return packages, folders, nil
}

func readTable(t *testing.T) table {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	packages, folders, err := parseTable(string(text))
	if err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	for _, folder := range folders {
		if _, err := os.Stat(filepath.Join(root, folder)); err != nil {
			t.Errorf("%s: %v", page, err)
		}
	}
	if len(packages) == 0 || len(folders) == 0 {
		t.Fatalf("%s has no tables of packages and folders", page)
	}
	return packages
}

// strays returns the errors in the table: rows for packages that do not exist, imports of packages that do not exist,
// and duplicate rows. TestImportsAndPurity reports packages without a row.
func strays(packages table, folders []string) (found []string) {
	rows := map[string]int{}
	for _, folder := range folders {
		if r := packages.rowOf(folder); r != nil {
			rows[r.pattern]++
		}
	}
	seen := map[string]bool{}
	for _, r := range packages {
		if seen[r.pattern] {
			found = append(found, r.pattern+" has two rows")
		} else if rows[r.pattern] == 0 {
			found = append(found, r.pattern+" is no package")
		}
		seen[r.pattern] = true
		for _, imported := range r.imports {
			if !slices.ContainsFunc(folders, func(folder string) bool { return matches(imported, folder) }) {
				found = append(found, fmt.Sprintf("%s may import %s, which is no package", r.pattern, imported))
			}
		}
	}
	return found
}

func TestTableIsOfTheTree(t *testing.T) {
	var folders []string
	for _, f := range parse(t) {
		folders = append(folders, f.folder)
	}
	for _, fault := range strays(readTable(t), folders) {
		t.Errorf("%s: %s", page, fault)
	}
}

// TestTableIsRead checks that the parser reads a valid table and reports the errors in an invalid one.
func TestTableIsRead(t *testing.T) {
	head := "# Page\n\n## Packages\n\n| package | what it is | may import of ours |\n|---|---|---|\n"
	tree := []string{"a", "b", "b/c"}
	for rows, want := range map[string]string{
		"| `a` | x | nothing |\n| `b/...` | y | `a`, `b/...` |\n":                "",
		"| `a` | x | nothing |\n| `b/...` | y | `a`, all |\n":                    "is no list of packages",
		"| `a`, `b` | x | nothing |\n":                                           "is not one package",
		"| `a` | x | nothing |\n| `b/...` | y | `d` |\n":                         "may import d, which is no package",
		"| `a` | x | nothing |\n| `b/...` | y | nothing |\n| `d` | z | `a` |\n":  "d is no package",
		"| `a` | x | nothing |\n| `b/...` | y | `a` |\n| `a` | x | nothing |\n":  "a has two rows",
		"| `a` | x | nothing |\n\n## Next\n\n| `d` | of another table | `e` |\n": "",
	} {
		packages, _, err := parseTable(head + rows)
		got := strings.Join(strays(packages, tree), "; ")
		if err != nil {
			got = err.Error()
		}
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", rows, got, want)
		}
	}
	packages, folders, err := parseTable(head + "| `a/...` | x | nothing |\n| `a/b` | y | `a` |\n\n| folder | what it is |\n|---|---|\n| `e`, `f` | z |\n")
	if err != nil || len(packages) != 2 || packages.rowOf("a/b").pattern != "a/b" || packages.rowOf("a/c").pattern != "a/..." || packages.rowOf("ab") != nil ||
		!packages.rowOf("a/b").allows("a") || packages.rowOf("a/b").allows("a/c") || !slices.Equal(folders, []string{"e", "f"}) {
		t.Errorf("%+v, %q, %v", packages, folders, err)
	}
}
