// Package arch tests the structure of the repository: which packages a package may import, and what a pure package may
// not use. docs/architecture.md gives the reasons. The rules are tests because a document can become outdated.
package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	module = "github.com/sparkoperator/spark-operator"
	root   = "../.."
)

// kubernetes lists prefixes of packages that define Kubernetes' types and do no I/O.
var kubernetes = []string{"k8s.io/api/", "k8s.io/apimachinery/"}

// withYAML lists the packages of other modules that a dialect may import: a YAML codec, k8s.io/utils and the packages
// in the list kubernetes.
var withYAML = append([]string{"sigs.k8s.io/yaml", "k8s.io/utils/"}, kubernetes...)

// rule limits the imports of the packages in a folder and below it. It lists prefixes of the packages of other modules
// that they may import.
type rule struct {
	below  string
	theirs []string
}

// pureTrees lists the folders of pure packages, which use no clock, randomness, I/O, context or logger. If a package is
// below two of these folders, the longer path applies.
//
// The rules limit only imports from other modules. Packages outside these folders may import any of them. Imports
// within this module are limited by the table in docs/packages.md.
var pureTrees = []rule{
	{"api/bounds", kubernetes},
	{"api", kubernetes},
	{"spark", kubernetes},
	// Reading YAML 1.2 needs the parsed nodes.
	{"spark/podtemplate", append([]string{"go.yaml.in/yaml/v3", "sigs.k8s.io/yaml"}, kubernetes...)},
	{"internal/lifecycle", []string{"k8s.io/api/core/v1"}},
	{"internal/dialect", kubernetes},
	{"internal/dialect/sparkoperator", withYAML},
	{"internal/dialect/apache", withYAML},
	{"internal/settings/policy/effective", kubernetes},
	{"internal/ground/identity", append([]string{"sigs.k8s.io/controller-runtime/pkg/client"}, kubernetes...)},
}

// testOnly lists the folders whose packages only tests may import.
var testOnly = []string{"test/kit", "spark/submit/internal/kit"}

// impure lists the packages that a pure package may not import, because they contain clocks, randomness, I/O, contexts
// or loggers.
var impure = []string{
	"bufio", "context", "crypto/rand", "database/sql", "embed", "expvar", "flag", "io/fs", "io/ioutil", "log",
	"log/slog", "math/rand", "math/rand/v2",
	"net", "net/http", "os", "os/exec", "os/signal", "plugin", "runtime/debug", "sync", "syscall", "testing",
	"time/tzdata", "unsafe",
}

// purePackagesOfNet lists the packages below net that a pure package may import, because they do no I/O.
var purePackagesOfNet = []string{"net/url", "net/netip", "net/mail"}

// impureCalls lists, by package, the functions that a pure package may not use, because they read a clock, do I/O or
// generate values. The rest of these packages is pure.
var impureCalls = map[string][]string{
	// LoadLocation reads the time zone database from the disk.
	"time": {"LoadLocation", "Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker",
		"Tick"},
	"path/filepath": {"Abs", "Glob", "Walk", "WalkDir", "EvalSymlinks"},
	"metav1":        {"Now", "NowMicro"},
	"fmt":           {"Print", "Println", "Printf", "Scan", "Scanln", "Scanf"},
}

// emptyNames lists forbidden package names. They say nothing about the content, so they attract unrelated code.
var emptyNames = []string{"util", "utils", "common", "helper", "helpers", "manager", "base", "misc", "shared"}

// otherModules lists the folders that the tests skip, because they have their own go.mod or contain no Go code.
var otherModules = []string{"client", "local", "bench", "test/e2e", "tools", "bin", "dist", ".git"}

type file struct {
	path      string // relative to the repository's root
	folder    string
	test      bool
	positions *token.FileSet
	syntax    *ast.File
	source    string
}

// parse returns the Go files of this module. The tests share them, because parsing takes longer than most rules.
func parse(t *testing.T) []file {
	t.Helper()

	files, err := ofThisModule()
	if err != nil {
		t.Fatal(err)
	}

	if len(files) < 10 {
		t.Fatalf("only %d Go files found below %s", len(files), root)
	}
	return files
}

var ofThisModule = sync.OnceValues(func() ([]file, error) { return parseBelow(root, otherModules) })

// parseBelow returns the Go files below a folder, without those in the skipped folders and in testdata.
func parseBelow(top string, skip []string) ([]file, error) {
	var files []file
	positions := token.NewFileSet()
	err := filepath.WalkDir(top, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		rel := filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(name, root), string(filepath.Separator)))
		if entry.IsDir() {
			if slices.Contains(skip, rel) || entry.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}

		if !strings.HasSuffix(name, ".go") {
			return nil
		}

		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}

		syntax, err := parser.ParseFile(positions, name, source, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}

		files = append(files, file{rel, path.Dir(rel), strings.HasSuffix(rel, "_test.go"), positions, syntax,
			string(source)})
		return nil
	})
	return files, err
}

func pureTreeOf(folder string) *rule {
	if isBelowAny(folder, testOnly) {
		return nil
	}

	var found *rule
	for i := range pureTrees {
		if isBelow(folder, pureTrees[i].below) && (found == nil || len(pureTrees[i].below) > len(found.below)) {
			found = &pureTrees[i]
		}
	}
	return found
}

func isBelow(folder, top string) bool { return folder == top || strings.HasPrefix(folder, top+"/") }

func isBelowAny(folder string, tops []string) bool {
	return slices.ContainsFunc(tops, func(top string) bool { return isBelow(folder, top) })
}

// faults returns the violations of the import rules and of the table of packages in one file.
func faults(f file, packages table) []string {
	r := packages.rowOf(f.folder)
	if r == nil {
		return []string{fmt.Sprintf("%s has no row for package %s", page, f.folder)}
	}

	pure := pureTreeOf(f.folder)
	var found []string

	names := map[string]string{} // local name -> import path
	for _, spec := range f.syntax.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)

		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}

		names[name] = imported
		if fault := importFault(f, r, pure, imported); fault != "" {
			found = append(found, fault)
		}
	}

	if pure != nil && !f.test {
		found = append(found, impureUses(f, names)...)
	}
	return found
}

// importFault returns why a file may not import a package, or "" if it may. r is the row for the file's package in the
// table of packages. purity is the rule for the file's package, or nil if the package is not pure.
func importFault(f file, r *row, purity *rule, imported string) string {
	folder, isOurs := strings.CutPrefix(imported, module+"/")
	switch {
	case f.test:
		return ""
	case isOurs && isBelowAny(folder, testOnly) && !isBelowAny(f.folder, testOnly):
		return "only tests may import " + folder
	case isOurs && !r.allows(folder):
		return fmt.Sprintf("%s may not import %s", r.pattern, folder)
	case isOurs || purity == nil:
		return ""
	case !strings.Contains(strings.Split(imported, "/")[0], "."): // the standard library
		if isImpure(imported) {
			return fmt.Sprintf("%s is pure and may not import %s", purity.below, imported)
		}
		return ""
	case !slices.ContainsFunc(purity.theirs,
		func(prefix string) bool { return strings.HasPrefix(imported+"/", prefix) }):
		return fmt.Sprintf("%s may not import %s", purity.below, imported)
	}
	return ""
}

func isImpure(imported string) bool {
	return !slices.Contains(purePackagesOfNet, imported) && isBelowAny(imported, impure)
}

// impureUses returns a message for each place where a file uses a function in impureCalls. The map contains the path of
// each imported package by its local name.
func impureUses(f file, names map[string]string) []string {
	var found []string
	ast.Inspect(f.syntax, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}

		pkg, ok := selector.X.(*ast.Ident)
		if !ok {
			return true
		}

		imported := names[pkg.Name]

		members := slices.Concat(impureCalls[imported], impureCalls[pkg.Name])
		if imported != "" && slices.Contains(members, selector.Sel.Name) {
			found = append(found, fmt.Sprintf("a pure package may not use %s.%s", pkg.Name, selector.Sel.Name))
		}
		return true
	})
	return found
}

func TestImportsAndPurity(t *testing.T) {
	packages := readTable(t)
	for _, f := range parse(t) {
		for _, fault := range faults(f, packages) {
			t.Errorf("%s: %s", f.path, fault)
		}
	}
}

func TestPackagesSayWhatTheyAre(t *testing.T) {
	documented, folders := map[string]bool{}, map[string]bool{}
	for _, f := range parse(t) {
		if isBelow(f.folder, "client") { // generated
			continue
		}

		if name := f.syntax.Name.Name; slices.Contains(emptyNames, name) ||
			slices.Contains(emptyNames, path.Base(f.folder)) {
			t.Errorf("%s: package %s says nothing; name it for what it is about", f.path, name)
		}

		folders[f.folder] = true
		if f.syntax.Doc != nil {
			documented[f.folder] = true
		}
	}

	for folder := range folders {
		if !documented[folder] {
			t.Errorf("%s: no file has a package comment", folder)
		}
	}
}

// TestRulesFindFaults checks that the tests of this package report files that break the rules.
func TestRulesFindFaults(t *testing.T) {
	packages := table{
		{"api/x", nil}, {"spark/submit", []string{"spark/conf"}}, {"internal/lifecycle", nil},
		{"internal/dialect/...", []string{"internal/dialect", "spark/..."}},
		{"internal/engine/controller", []string{"internal/dialect/..."}}, {"test/kit/...", []string{"test/kit/..."}},
	}
	for _, test := range []struct{ path, source, want string }{
		{"api/x/a.go", `package x; import _ "github.com/sparkoperator/spark-operator/internal/lifecycle"`,
			"may not import internal/lifecycle"},
		{"spark/submit/a.go", `package submit; import _ "github.com/sparkoperator/spark-operator/spark/conf"`, ""},
		{"spark/submit/a.go", `package submit; import _ "github.com/sparkoperator/spark-operator/spark/conf/x"`,
			"may not import spark/conf/x"},
		{"internal/dialect/apache/a.go",
			`package apache; import _ "github.com/sparkoperator/spark-operator/spark/conf"`, ""},
		{"api/x/a.go", `package x; import _ "k8s.io/client-go/rest"`, "may not import k8s.io/client-go/rest"},
		{"api/x/a.go", `package x; import _ "k8s.io/api/core/v1"`, ""},
		{"spark/submit/a.go", `package submit; import _ "os"`, "is pure and may not import os"},
		{"spark/submit/a.go", `package submit; import _ "net/http"`, "is pure and may not import net/http"},
		{"spark/submit/a.go", `package submit; import _ "net/url"`, ""},
		{"spark/submit/a_test.go", `package submit; import _ "os"`, ""},
		{"spark/submit/a.go", `package submit; import _ "github.com/sparkoperator/spark-operator/internal/lifecycle"`,
			"may not import internal/lifecycle"},
		{"internal/lifecycle/a.go", `package lifecycle; import "time"; var _ = time.Now`, "may not use time.Now"},
		{"internal/lifecycle/a.go", `package lifecycle; import "time"; var _ = time.LoadLocation`,
			"may not use time.LoadLocation"},
		{"internal/lifecycle/a.go", `package lifecycle; import clock "time"; var _ = clock.Since`,
			"may not use clock.Since"},
		{"internal/lifecycle/a.go", `package lifecycle; import "time"; var _ time.Duration`, ""},
		{"internal/lifecycle/a_test.go", `package lifecycle; import "time"; var _ = time.Now`, ""},
		{"internal/lifecycle/a.go", `package lifecycle; import _ "context"`, "is pure and may not import context"},
		{"internal/lifecycle/a.go", `package lifecycle; import _ "math/rand/v2"`,
			"is pure and may not import math/rand/v2"},
		{"internal/dialect/apache/a.go",
			`package apache; import _ "github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"`,
			"may not import internal/dialect/sparkoperator"},
		{"internal/dialect/sparkoperator/a.go",
			`package sparkoperator; import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"; var _ = metav1.Now`,
			"may not use metav1.Now"},
		{"internal/engine/controller/a.go",
			`package controller; import _ "github.com/sparkoperator/spark-operator/internal/webhook"`,
			"may not import internal/webhook"},
		{"internal/engine/controller/a.go",
			`package controller; import _ "github.com/sparkoperator/spark-operator/test/kit"`, "only tests may import"},
		{"internal/engine/controller/a_test.go",
			`package controller; import _ "github.com/sparkoperator/spark-operator/test/kit"`, ""},
		{"test/kit/hostile/a.go", `package hostile; import _ "github.com/sparkoperator/spark-operator/test/kit/crdfields"`, ""},
		{"internal/new/a.go", `package other`, "has no row for package internal/new"},
	} {
		got := strings.Join(faults(parsed(t, token.NewFileSet(), test.path, test.source), packages), "; ")
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s %s: %q, want %q", test.path, test.source, got, test.want)
		}
	}
}

// parsed returns a file with the given source.
func parsed(t *testing.T, positions *token.FileSet, name, source string) file {
	t.Helper()

	syntax, err := parser.ParseFile(positions, name, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file{name, path.Dir(name), strings.HasSuffix(name, "_test.go"), positions, syntax, source}
}
