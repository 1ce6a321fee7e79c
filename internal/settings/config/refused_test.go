package config

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// refusals returns the messages of all settings in ../testdata/refused.yaml.
func refusals(t *testing.T) (messages []string) {
	t.Helper()

	text, err := os.ReadFile("../testdata/refused.yaml")
	if err != nil {
		t.Fatal(err)
	}

	var sections map[string][]struct{ Setting, Error string }
	if err := yaml.UnmarshalStrict(text, &sections); err != nil {
		t.Fatal(err)
	}

	for section, settings := range sections {
		for _, s := range settings {
			_, err := Parse(fmt.Appendf(nil, "%s\n%s: %s", header, section, s.Setting))
			if err == nil || !strings.Contains(err.Error(), s.Error) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %s:\n got %v\nwant %s", section, s.Setting, err, s.Error)
				continue
			}

			messages = append(messages, err.Error())
		}
	}
	return messages
}

// TestRefusedSettings checks that each setting of refused.yaml is refused with its message, and that the file has a
// setting for each refusal in the code of the sections defaults, policy and logs.
func TestRefusedSettings(t *testing.T) {
	messages := refusals(t)

	_, long := Parse([]byte(header + "defaults: [{sparkConf: {spark.a: '" + strings.Repeat("x", 64<<10) + "'}}]"))
	messages = append(messages, long.Error())

	for _, file := range []string{"../platformdefaults/validate.go", "../policy/compile.go", "../keptlogs/keptlogs.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}

		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !isRefusal(call) {
				return true
			}

			parts := literals(call)
			if !slices.ContainsFunc(messages, func(m string) bool {
				return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(m, part) })
			}) {
				t.Errorf("%s refuses a setting with %q, and refused.yaml has no such setting", file, parts)
			}
			return true
		})
	}
}

// isRefusal reports whether a call makes an error about a field, other than that of a list that is too long.
func isRefusal(call *ast.CallExpr) bool {
	if name, ok := call.Fun.(*ast.Ident); ok {
		return name.Name == "checked"
	}

	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}

	from, ok := selector.X.(*ast.Ident)
	return ok && from.Name == "field" && slices.Contains([]string{"Invalid", "Required", "Forbidden", "NotSupported", "Duplicate"}, selector.Sel.Name)
}

// literals returns the texts in a call: names of fields and parts of the message.
func literals(call *ast.CallExpr) (all []string) {
	ast.Inspect(call, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			text, _ := strconv.Unquote(literal.Value)
			for part := range strings.SplitSeq(text, "%") {
				all = append(all, strings.TrimPrefix(strings.TrimPrefix(part, "d"), "s"))
			}
		}
		return true
	})
	return all
}
