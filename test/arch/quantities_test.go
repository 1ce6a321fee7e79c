package arch

import (
	"go/ast"
	"path"
	"slices"
	"strconv"
	"testing"
)

// TestQuantitiesAreReadByOneReader checks that only bounds.Quantity calls resource.ParseQuantity. A short text from a
// user can make ParseQuantity compute for hours. resource.MustParse is allowed for constants.
func TestQuantitiesAreReadByOneReader(t *testing.T) {
	for _, f := range parse(t) {
		if f.test || isBelow(f.folder, "api/bounds") {
			continue
		}

		for _, use := range usesOf(f, "k8s.io/apimachinery/pkg/api/resource", "ParseQuantity") {
			t.Errorf("%s: %s: use bounds.Quantity", f.path, use)
		}
	}
}

// usesOf returns each use of the given names of an imported package in a file.
func usesOf(f file, imported string, names ...string) (found []string) {
	local := ""
	for _, spec := range f.syntax.Imports {
		if unquoted, _ := strconv.Unquote(spec.Path.Value); unquoted == imported {
			if local = path.Base(imported); spec.Name != nil {
				local = spec.Name.Name
			}
		}
	}

	if local == "" {
		return nil
	}

	ast.Inspect(f.syntax, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}

		if pkg, ok := selector.X.(*ast.Ident); ok && pkg.Name == local && slices.Contains(names, selector.Sel.Name) {
			found = append(found, local+"."+selector.Sel.Name)
		}
		return true
	})
	return found
}
