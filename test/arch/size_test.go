package arch

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// The limits of hand-written code. Test files and generated files do not count.
const (
	maxInternal = 1500 // lines of a package under internal/
	maxPackage  = 2000 // lines of any other package, and of a pure one: dialects and state machines
	maxKnot     = 10   // files of a package that name each other in a circle
	maxFile     = 550  // lines of a file
	maxFunction = 60   // lines of a function's body

	maxLives = 80 // tests in internal/process/operator
)

// large lists the packages that are over a limit, with the limit that they have instead. An entry may only shrink. The
// dialects are to be split; internal/lifecycle/application is one state machine.
var large = map[string]struct{ lines, knot int }{
	"internal/lifecycle/application": {lines: 2450, knot: 13},
}

// handWritten returns the hand-written files of all modules, by package.
func handWritten(t *testing.T) map[string][]file {
	t.Helper()

	files, err := parseBelow(root, []string{"bin", "dist", ".git", "client"})
	if err != nil {
		t.Fatal(err)
	}

	packages := map[string][]file{}
	for _, f := range files {
		if !f.test && !ast.IsGenerated(f.syntax) {
			packages[f.folder] = append(packages[f.folder], f)
		}
	}

	if len(packages) < 100 {
		t.Errorf("only %d packages were found", len(packages))
	}
	return packages
}

// whole is a file from its first comment to its end.
func whole(f file) ast.Node { return span{f.syntax.FileStart, f.syntax.FileEnd} }

type span struct{ from, to token.Pos }

func (s span) Pos() token.Pos { return s.from }
func (s span) End() token.Pos { return s.to }

// lines returns the number of lines in a part of a file that are not blank. A blank line helps to read, so it must not
// count against its author.
func (f file) lines(part ast.Node) int {
	start, end := f.positions.Position(part.Pos()).Offset, f.positions.Position(part.End()).Offset

	n := 0
	for line := range strings.Lines(f.source[start:end]) {
		if strings.TrimSpace(line) != "" {
			n++
		}
	}
	return n
}

// TestPackagesAreSmall checks that no package is larger than its limit, and that its files do not form a large circle.
// A package over a limit should be split by responsibility.
func TestPackagesAreSmall(t *testing.T) {
	packages := handWritten(t)
	for folder, files := range packages {
		n, knot := 0, knotOf(files)
		for _, f := range files {
			n += f.lines(whole(f))
		}

		most := maxPackage
		if isBelow(folder, "internal") && !isBelow(folder, "internal/dialect") &&
			!isBelow(folder, "internal/lifecycle") {
			most = maxInternal
		}

		checkLimit(t, folder, "lines", n, most, large[folder].lines)
		checkLimit(t, folder, fmt.Sprintf("files that name each other in a circle (%s)", strings.Join(knot, " ")),
			len(knot), maxKnot, large[folder].knot)
	}

	for folder := range large {
		if packages[folder] == nil {
			t.Errorf("%s does not exist; delete its entry", folder)
		}
	}
}

// checkLimit checks a number against the general limit or, if it is not zero, against the package's own limit.
func checkLimit(t *testing.T, folder, what string, n, general, own int) {
	t.Helper()

	switch {
	case own == 0 && n > general:
		t.Errorf("%s has %d %s, and may have %d", folder, n, what, general)
	case own != 0 && n > own:
		t.Errorf("%s has %d %s, and may have %d, its own limit, until it is split", folder, n, what, own)
	case own != 0 && n <= general:
		t.Errorf("%s has only %d %s; delete its own limit", folder, n, what)
	}
}

// TestSizes checks that no file and no function is too long to be read at once.
func TestSizes(t *testing.T) {
	for _, files := range handWritten(t) {
		for _, f := range files {
			if n := f.lines(whole(f)); n > maxFile {
				t.Errorf("%s has %d lines, and may have %d", f.path, n, maxFile)
			}

			for _, declaration := range f.syntax.Decls {
				function, ok := declaration.(*ast.FuncDecl)
				if !ok || function.Body == nil {
					continue
				}

				if n := f.lines(function.Body) - 1; n > maxFunction {
					t.Errorf("%s: %s has %d lines, and may have %d", f.path, function.Name.Name, n, maxFunction)
				}
			}
		}
	}
}

// TestTestsAreBesideTheirCode checks that internal/process/operator has few tests. A test that needs a whole operator
// belongs to the package whose code it judges (test/kit/world); only tests of the process and of whole lives stay.
func TestTestsAreBesideTheirCode(t *testing.T) {
	files, err := parseBelow(root+"/internal/process/operator", nil)
	if err != nil {
		t.Fatal(err)
	}

	n := 0
	for _, f := range files {
		for _, declaration := range f.syntax.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if ok && f.test && strings.HasPrefix(function.Name.Name, "Test") && function.Name.Name != "TestMain" {
				n++
			}
		}
	}

	if n == 0 || n > maxLives {
		t.Errorf("internal/process/operator has %d tests, and may have 1 to %d", n, maxLives)
	}
}

// noImports is an importer without packages. Types of other packages are then unknown, which does not matter for the
// names that the files of one package declare, and takes milliseconds instead of minutes.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not needed") }

// knotOf returns the files of the largest circle in a package, sorted by name: each of these files uses an identifier
// that another of them declares, so that none can be understood or moved without the others.
func knotOf(files []file) (largest []string) {
	uses := usesBetween(files)

	reached := map[string]map[string]bool{}
	for from := range uses {
		reached[from] = map[string]bool{}
		reach(uses, from, reached[from])
	}

	for from, all := range reached {
		var circle []string
		for to := range all {
			if reached[to][from] {
				circle = append(circle, to)
			}
		}

		if len(circle) > len(largest) {
			largest = circle
		}
	}

	slices.Sort(largest)
	return largest
}

// usesBetween returns, for each file of a package, the files that declare what it uses.
func usesBetween(files []file) map[string]map[string]bool {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: noImports{}, Error: func(error) {}}

	var syntax []*ast.File
	for _, f := range files {
		syntax = append(syntax, f.syntax)
	}

	positions := files[0].positions
	pkg, _ := config.Check(files[0].folder, positions, syntax, info) // the errors are about the missing imports

	uses := map[string]map[string]bool{}
	for identifier, object := range info.Uses {
		if object.Pkg() != pkg {
			continue
		}

		from, to := path.Base(positions.File(identifier.Pos()).Name()), path.Base(positions.File(object.Pos()).Name())
		if from == to {
			continue
		}

		if uses[from] == nil {
			uses[from] = map[string]bool{}
		}

		uses[from][to] = true
	}
	return uses
}

// reach adds all files that a file uses, directly or through others.
func reach(uses map[string]map[string]bool, from string, found map[string]bool) {
	for to := range uses[from] {
		if !found[to] {
			found[to] = true
			reach(uses, to, found)
		}
	}
}

// TestKnotsAreFound checks that knotOf finds circles through functions, methods and fields, and only circles.
func TestKnotsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		sources []string
		want    int
	}{
		"no circle": {[]string{"func a() { b() }", "func b() { c() }", "func c() {}"}, 0},
		"functions": {[]string{"func a() { b() }", "func b() { c() }", "func c() { a() }",
			"func d() { a() }"}, 3},
		"a method": {[]string{"type T struct{}; func (t *T) a() { t.b() }", "func (t *T) b() {}"}, 2},
		"a field": {[]string{"type T struct{ f int }; func a(t T) { b(t) }",
			"func b(t interface{ x() }) { var u struct{ T }; _ = u.f }"}, 2},
		"a type of elsewhere": {[]string{"import \"other\"; type T struct{ other.X }; func (t T) a() { b(t) }",
			"func b(t T) { t.a() }"}, 2},
		"two circles": {[]string{"func a() { b() }", "func b() { a() }", "func c() { d() }",
			"func d() { c(); e() }", "func e() { c() }"}, 3},
	} {
		sources := map[string]string{}
		for i, source := range c.sources {
			sources["p/"+string(rune('a'+i))+".go"] = "package p; " + source
		}

		if got := knotOf(parsedPackage(t, sources)); len(got) != c.want {
			t.Errorf("%s: the knot is %q, want %d files", name, got, c.want)
		}
	}
}

// parsedPackage returns the files of one package with the given sources.
func parsedPackage(t *testing.T, sources map[string]string) (files []file) {
	t.Helper()

	positions := token.NewFileSet()
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		files = append(files, parsed(t, positions, name, sources[name]))
	}
	return files
}
