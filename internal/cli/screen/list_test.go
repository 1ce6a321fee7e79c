package screen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestStatesAreThoseOfTheAPI checks that the flag --state knows every state of every kind. It reads the constants of
// the types of states from the sources of the API.
func TestStatesAreThoseOfTheAPI(t *testing.T) {
	types := []string{"ApplicationStateType", "ScheduleState", "SparkConnectState", "ApplicationStateSummary",
		"ClusterStateSummary"}

	want := []string{"New", "pending", "running", "succeeded", "failed", "suspended"}
	for _, pattern := range []string{"sparkoperator/v1beta2", "sparkoperator/v1alpha1", "spark/v1"} {
		files, err := filepath.Glob("../../../api/" + pattern + "/*.go")
		if err != nil {
			t.Fatal(err)
		}

		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}

			ast.Inspect(file, func(n ast.Node) bool {
				spec, ok := n.(*ast.ValueSpec)
				if !ok || len(spec.Values) != 1 {
					return true
				}

				value, isText := spec.Values[0].(*ast.BasicLit)
				if kind, named := spec.Type.(*ast.Ident); named && isText && slices.Contains(types, kind.Name) {
					if text, err := strconv.Unquote(value.Value); err != nil || text != "" {
						want = append(want, text)
					}
				}
				return true
			})
		}
	}

	got := states()

	slices.Sort(want)
	slices.Sort(got)

	if want, got = slices.Compact(want), slices.Compact(got); len(want) < 40 || !slices.Equal(want, got) {
		t.Errorf("the states are\n%s, want\n%s", strings.Join(got, " "), strings.Join(want, " "))
	}
}
