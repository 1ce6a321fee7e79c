package arch

import (
	"go/ast"
	"strconv"
	"testing"
)

// TestQuantitiesAreReadByOneReader checks that only bounds.Quantity calls resource.ParseQuantity. A short text from a
// user can make ParseQuantity compute for hours. resource.MustParse is allowed for constants.
func TestQuantitiesAreReadByOneReader(t *testing.T) {
	for _, f := range parse(t) {
		if f.test || isBelow(f.folder, "bounds") {
			continue
		}
		for _, fault := range quantityReaders(f) {
			t.Errorf("%s: %s: use bounds.Quantity", f.path, fault)
		}
	}
}

// quantityReaders returns a message for each use of resource.ParseQuantity in a file.
func quantityReaders(f file) (found []string) {
	name := ""
	for _, spec := range f.syntax.Imports {
		if imported, _ := strconv.Unquote(spec.Path.Value); imported == "k8s.io/apimachinery/pkg/api/resource" {
			if name = "resource"; spec.Name != nil {
				name = spec.Name.Name
			}
		}
	}
	if name == "" {
		return nil
	}
	ast.Inspect(f.syntax, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := selector.X.(*ast.Ident); ok && pkg.Name == name && selector.Sel.Name == "ParseQuantity" {
			found = append(found, "resource.ParseQuantity")
		}
		return true
	})
	return found
}
