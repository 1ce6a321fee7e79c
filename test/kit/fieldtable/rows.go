package fieldtable

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/sparkoperator/spark-operator/internal/dialect/table"
	"github.com/sparkoperator/spark-operator/test/kit/crd"
)

// EveryFieldHasARow walks the spec of a definition. It fails for a field that has neither a row nor an exception, and
// for an exception that is not needed.
//
// The exceptions are paths, by the file that reads them. In a path, table.Role stands for driver and executor. If a
// path ends with a dot, it stands for all fields below it. Fields below the paths in opaque are not walked.
func EveryFieldHasARow(t *testing.T, definition string, rows []table.Row, exceptions map[string][]string, opaque ...string) {
	t.Helper()
	spec := crd.Ours(t, definition).Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]

	excused := map[string]bool{}
	for _, paths := range exceptions {
		for _, path := range paths {
			for _, role := range []string{"driver", "executor"} {
				excused[strings.ReplaceAll(path, table.Role, role)] = false
			}
		}
	}
	var walk func(path string, s *apiextensionsv1.JSONSchemaProps)
	walk = func(path string, s *apiextensionsv1.JSONSchemaProps) {
		hasRow := slices.ContainsFunc(rows, func(r table.Row) bool { return r.Path == path })
		for _, exception := range []string{path, path + "."} {
			if _, listed := excused[exception]; listed && !excused[exception] {
				excused[exception] = true

				if hasRow {
					t.Errorf("%s has a row and an exception", path)
				}
				return
			}
		}

		switch {
		case len(s.Properties) > 0 && !slices.Contains(opaque, path):
			for name, property := range s.Properties {
				walk(path+"."+name, &property)
			}
		case !hasRow:
			t.Errorf("%s has no row: add it to the table of fields, or to the exceptions of this test with the file that reads it", path)
		}
	}
	walk("spec", &spec)

	for path, used := range excused {
		if !used {
			t.Errorf("the exception %s is not needed", path)
		}
	}
}

// KeysHaveOneHome checks that no code in the given folders names the key of a row. A part of a key counts too, if it
// follows the name of a role. The argument excused contains keys that code may name, with the reasons.
func KeysHaveOneHome(t *testing.T, rows []table.Row, excused map[string]string, folders ...string) {
	t.Helper()

	known := map[string]bool{}
	for _, row := range rows {
		known[row.Key] = row.Key != "" && excused[row.Key] == ""
		for _, role := range []string{".driver", ".executor"} {
			if _, part, found := strings.Cut(row.Key, role); found && part != "" && part != "." && excused[row.Key] == "" {
				known[part] = true
			}
		}
	}

	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(crd.Root(t), folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", folder, len(files), err)
		}

		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				namesNone(t, file, known)
			}
		}
	}
}

// namesNone checks that a file contains none of the given texts as a string.
func namesNone(t *testing.T, file string, known map[string]bool) {
	t.Helper()

	set := token.NewFileSet()

	tree, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}

	ast.Inspect(tree, func(node ast.Node) bool {
		if text, ok := node.(*ast.BasicLit); ok && text.Kind == token.STRING {
			if value, _ := strconv.Unquote(text.Value); known[value] {
				t.Errorf("%s: %s is the key of a field: read it from the table", set.Position(text.Pos()), text.Value)
			}
		}
		return true
	})
}
