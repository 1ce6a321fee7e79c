package hostile

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/test/kit/crd"
)

// SoakVariable is the environment variable that selects all values of every field instead of a sample. Of the cases of
// twin fields (see twins), still only one in twenty is measured, unless the variable has the value "all".
const SoakVariable = "SOAK"

// wholeVariable is the environment variable that, with the value "all", selects the whole sample instead of a share.
const wholeVariable = "HOSTILE_SAMPLE"

// Cases returns a generator for all our definitions.
func Cases(t testing.TB) *Generator {
	t.Helper()
	root := crd.Root(t)

	definitions, err := Definitions(filepath.Join(root, "config", "crd"))
	if err != nil {
		t.Fatal(err)
	}

	keys, err := confKeys(root, "spark", "internal/dialect")
	if err != nil {
		t.Fatal(err)
	}
	return &Generator{
		Definitions: definitions, Keys: keys, Thorough: os.Getenv(SoakVariable) != "",
		Twins: os.Getenv(SoakVariable) == "all", Whole: os.Getenv(wholeVariable) == "all",
	}
}

// confKey matches Spark configuration keys. It also matches prefixes of keys, which end with a dot.
var confKey = regexp.MustCompile(`^spark(\.[a-zA-Z0-9]+)+\.?$`)

// confKeys returns the Spark configuration keys that occur as string literals in the code below some folders.
func confKeys(root string, folders ...string) ([]string, error) {
	found := map[string]bool{}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}

			syntax, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}

			ast.Inspect(syntax, func(n ast.Node) bool {
				if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					if text, err := strconv.Unquote(literal.Value); err == nil && confKey.MatchString(text) {
						found[text] = true
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}
