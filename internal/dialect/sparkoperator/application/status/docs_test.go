package status

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/test/kit/checkout"
)

// TestEventsAreDocumented checks that docs/applications.md contains the reason of each event.
func TestEventsAreDocumented(t *testing.T) {
	page, err := checkout.Docs("applications.md")
	if err != nil {
		t.Fatal(err)
	}

	for _, file := range []string{"events.go", "../../../events.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}

		ast.Inspect(parsed, func(n ast.Node) bool {
			constant, ok := n.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(strings.ToLower(constant.Names[0].Name), "event") {
				return true
			}

			reason, err := strconv.Unquote(constant.Values[0].(*ast.BasicLit).Value)
			if err != nil || !strings.Contains(page, "`"+reason+"`") {
				t.Errorf("docs/applications.md does not contain the event %s, %v", reason, err)
			}
			return true
		})
	}
}
