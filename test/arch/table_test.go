package arch

import (
	"fmt"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// page is the document that contains the table of packages.
const page = "docs/packages.md"

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

// importsOf returns, for each folder with Go files, the packages of this module that its files import. Imports of test
// files do not count.
func importsOf(files []file) map[string][]string {
	imports := map[string][]string{}
	for _, f := range files {
		ours := imports[f.folder] // a folder without imports has an entry too
		if !f.test {
			for _, spec := range f.syntax.Imports {
				imported, _ := strconv.Unquote(spec.Path.Value)
				if folder, isOurs := strings.CutPrefix(imported, module+"/"); isOurs {
					ours = append(ours, folder)
				}
			}
		}

		imports[f.folder] = ours
	}
	return imports
}

// strays returns the errors in the table: rows for packages that do not exist, imports of packages that do not exist,
// imports that no package of the row needs, and duplicate rows. TestImportsAndPurity reports packages without a row.
// The argument contains the imports of each package.
func strays(packages table, imports map[string][]string) (found []string) {
	used := map[string][]string{} // the imports of a row's packages; no entry for a row without packages
	for folder, imported := range imports {
		if r := packages.rowOf(folder); r != nil {
			used[r.pattern] = append(used[r.pattern], imported...)
		}
	}

	seen := map[string]bool{}
	for _, r := range packages {
		all, exists := used[r.pattern]
		if seen[r.pattern] {
			found = append(found, r.pattern+" has two rows")
		} else if !exists {
			found = append(found, r.pattern+" is no package")
		}

		seen[r.pattern] = true
		for _, pattern := range r.imports {
			covers := func(folder string) bool { return matches(pattern, folder) }
			if !slices.ContainsFunc(slices.Collect(maps.Keys(imports)), covers) {
				found = append(found, fmt.Sprintf("%s may import %s, which is no package", r.pattern, pattern))
			} else if exists && !slices.ContainsFunc(all, covers) {
				found = append(found, fmt.Sprintf("%s may import %s, but none of its files except tests does: delete the entry", r.pattern, pattern))
			}
		}
	}
	return found
}

func TestTableIsOfTheTree(t *testing.T) {
	for _, fault := range strays(readTable(t), importsOf(parse(t))) {
		t.Errorf("%s: %s", page, fault)
	}
}

// TestTableIsRead checks that the parser reads a valid table and reports the errors in an invalid one.
func TestTableIsRead(t *testing.T) {
	head := "# Page\n\n## Packages\n\n| package | what it is | may import of ours |\n|---|---|---|\n"

	tree := map[string][]string{"a": nil, "b": {"a"}, "b/c": {"b"}}
	for rows, want := range map[string]string{
		"| `a` | x | nothing |\n| `b/...` | y | `a`, `b/...` |\n":                "",
		"| `a` | x | nothing |\n| `b/...` | y | `a`, all |\n":                    "is no list of packages",
		"| `a`, `b` | x | nothing |\n":                                           "is not one package",
		"| `a` | x | nothing |\n| `b/...` | y | `d` |\n":                         "may import d, which is no package",
		"| `a` | x | nothing |\n| `b/...` | y | nothing |\n| `d` | z | `a` |\n":  "d is no package",
		"| `a` | x | nothing |\n| `b/...` | y | `a` |\n| `a` | x | nothing |\n":  "a has two rows",
		"| `a` | x | `b/...` |\n| `b/...` | y | `a` |\n":                         "a may import b/..., but none",
		"| `a` | x | nothing |\n| `b` | y | `a` |\n| `b/c` | z | `a`, `b` |\n":   "b/c may import a, but none",
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

	packages, folders, err := parseTable(head +
		"| `a/...` | x | nothing |\n| `a/b` | y | `a` |\n\n| folder | what it is |\n|---|---|\n| `e`, `f` | z |\n")
	if err != nil || len(packages) != 2 || packages.rowOf("a/b").pattern != "a/b" ||
		packages.rowOf("a/c").pattern != "a/..." || packages.rowOf("ab") != nil ||
		!packages.rowOf("a/b").allows("a") || packages.rowOf("a/b").allows("a/c") ||
		!slices.Equal(folders, []string{"e", "f"}) {
		t.Errorf("%+v, %q, %v", packages, folders, err)
	}
}

// TestImportsOfTestsDoNotCount checks that importsOf returns the imports of this module's packages, without those of
// test files, and that a folder whose files import none has an entry.
func TestImportsOfTestsDoNotCount(t *testing.T) {
	var files []file
	for name, source := range map[string]string{
		"b/b.go":      `package b; import ("fmt"; x "` + module + `/a")`,
		"b/b_test.go": `package b; import "` + module + `/d"`,
		"c/c_test.go": `package c; import "` + module + `/d"`,
	} {
		files = append(files, parsed(t, token.NewFileSet(), name, source))
	}

	got := importsOf(files)
	if len(got) != 2 || !slices.Equal(got["b"], []string{"a"}) || len(got["c"]) > 0 {
		t.Errorf("%q", got)
	}
}
