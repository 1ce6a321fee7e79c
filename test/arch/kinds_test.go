package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

// kindTypes are the types of the five kinds, as the code names them.
var kindTypes = []string{"v1beta2.SparkApplication", "v1beta2.ScheduledSparkApplication", "v1alpha1.SparkConnect", "sparkv1.SparkApplication", "sparkv1.SparkCluster"}

// listsOfKinds names the functions and variables that may list three or more of the five kinds, with the reason. All
// others read kinds.All.
var listsOfKinds = map[string]string{
	"internal/cli/kube Summarize":       "reads the status of each kind",
	"internal/cli/kube OperatorStatus":  "reads the status of each kind",
	"internal/cli/doctor accounts":      "reads the service account of each kind, which is elsewhere in each spec",
	"internal/cli setSparkVersion":      "writes the version of Spark, which is elsewhere in each spec",
	"internal/cli/preview withDefaults": "sets the defaults of each kind's definition",
	"internal/cli/ledger placesOf":      "names the fields with the memory and the CPU of pods, which are elsewhere in each spec",
	"internal/record/run describe":      "reads the image and the version of Spark, which are elsewhere in each spec",
	"internal/cli/convert Convert":      "converts between two kinds of applications",
	"internal/console/table addSpec":    "reads the number of executors and the version of Spark, which are elsewhere in each spec",
	"internal/console/detail one":       "chooses the page, which differs by kind",
}

// kindsIn returns the names of the five kinds' types in the cases of one type switch, or in one composite literal.
func kindsIn(node ast.Node) []string {
	var roots []ast.Node
	switch node := node.(type) {
	case *ast.TypeSwitchStmt:
		for _, clause := range node.Body.List {
			for _, of := range clause.(*ast.CaseClause).List {
				roots = append(roots, of)
			}
		}
	case *ast.CompositeLit:
		roots = append(roots, node)
	}

	found := map[string]bool{}
	for _, root := range roots {
		ast.Inspect(root, func(inner ast.Node) bool {
			selector, ok := inner.(*ast.SelectorExpr)
			if !ok {
				return true
			}

			if pkg, ok := selector.X.(*ast.Ident); ok {
				if name := pkg.Name + "." + strings.TrimSuffix(selector.Sel.Name, "List"); slices.Contains(kindTypes, name) {
					found[name] = true
				}
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(found))
}

// kindLists returns the functions and variables of a file that list three or more of the five kinds.
func kindLists(f file) (found []string) {
	for _, decl := range f.syntax.Decls {
		name := ""
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			name = decl.Name.Name
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if value, ok := spec.(*ast.ValueSpec); ok && name == "" {
					name = value.Names[0].Name
				}
			}
		}

		ast.Inspect(decl, func(node ast.Node) bool {
			if node == nil || len(kindsIn(node)) < 3 {
				return true
			}

			found = append(found, name)
			return false
		})
	}
	return found
}

// TestKindsAreListedOnce checks that only internal/kinds lists the five kinds, except in the places of listsOfKinds.
func TestKindsAreListedOnce(t *testing.T) {
	used := map[string]bool{}
	for _, f := range parse(t) {
		if f.test || isBelow(f.folder, "internal/kinds") || isBelow(f.folder, "api") || isBelowAny(f.folder, testOnly) {
			continue
		}

		for _, name := range kindLists(f) {
			place := f.folder + " " + name
			if used[place] = true; listsOfKinds[place] == "" {
				t.Errorf("%s: %s lists the kinds; read kinds.All, or name the reason in listsOfKinds", f.path, name)
			}
		}
	}

	for place := range listsOfKinds {
		if !used[place] {
			t.Errorf("listsOfKinds names %s, which lists no kinds", place)
		}
	}
}

// TestListOfKindsIsFound checks that the test reports a list and a switch of kinds.
func TestListOfKindsIsFound(t *testing.T) {
	const head = "package a\n"
	for source, want := range map[string]string{
		"func f(o any) { switch o.(type) { case *v1beta2.SparkApplication, *sparkv1.SparkCluster: case *v1alpha1.SparkConnect: } }": "[f]",
		"func f(o any) { switch o.(type) { case *v1beta2.SparkApplication, *sparkv1.SparkCluster: } }":                              "[]",
		"var all = []any{&v1beta2.SparkApplication{}, &sparkv1.SparkCluster{}, &v1alpha1.SparkConnectList{}}":                       "[all]",
	} {
		if got := fmt.Sprint(kindLists(parsed(t, token.NewFileSet(), "a/a.go", head+source))); got != want {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
	}
}
