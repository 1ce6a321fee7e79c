package config

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// refusal is a call in the code that makes a fault. The known parts of the fault are its type, the end of its path and
// the phrases of its text.
type refusal struct {
	position token.Position
	kind     field.ErrorType
	path     *regexp.Regexp
	phrases  []string
	// known is the number of names in the path and of phrases.
	known int
}

// kinds are the functions that make a fault, other than that of a list that is too long.
var kinds = map[string]field.ErrorType{
	"Invalid": field.ErrorTypeInvalid, "Required": field.ErrorTypeRequired, "Forbidden": field.ErrorTypeForbidden,
	"NotSupported": field.ErrorTypeNotSupported, "Duplicate": field.ErrorTypeDuplicate,
}

// checks are the functions of a library that check a value, each with a phrase of its fault.
var checks = map[string]string{
	"IsDNS1123Label":     "a lowercase RFC 1123 label must consist",
	"IsDNS1123Subdomain": "a lowercase RFC 1123 subdomain must consist",
	"IsQualifiedName":    "must consist of alphanumeric characters, '-', '_' or '.'",
	"IsValidLabelValue":  "a valid label must be an empty string",
	"IsEnvVarName":       "a valid environment variable name must consist",
}

// TestEachRefusalHasASetting checks that refused.yaml has a setting for each refusal in the code of the sections. A
// fault belongs to that matching refusal of which most is known.
func TestEachRefusalHasASetting(t *testing.T) {
	faults := map[string][]*field.Error{}
	for _, s := range refusedSettings(t) {
		faults[s.section] = append(faults[s.section], s.fault)
	}

	faults["defaults"] = append(faults["defaults"],
		faultOf(t, "defaults: [{sparkConf: {spark.a: '"+strings.Repeat("x", 64<<10)+"'}}]"))

	for section, file := range map[string]string{
		"defaults": "../platformdefaults/validate.go", "policy": "../policy/compile.go", "logs": "../keptlogs/keptlogs.go",
	} {
		refusals := refusalsIn(t, file)
		if len(refusals) < 10 {
			t.Errorf("%s has only %d refusals", file, len(refusals))
		}

		met := map[int]bool{}
		for _, fault := range faults[section] {
			for _, i := range bestOf(refusals, fault) {
				met[i] = true
			}
		}

		for i, r := range refusals {
			if !met[i] {
				t.Errorf("%s: refused.yaml has no setting for %s of %s: %q", r.position, r.kind, r.path, r.phrases)
			}
		}
	}
}

// TestAFaultBelongsToOneRefusal checks that a fault with common words is not taken for that of another refusal.
func TestAFaultBelongsToOneRefusal(t *testing.T) {
	refusals := refusalsIn(t, "../platformdefaults/validate.go")
	for _, test := range []struct {
		fault  *field.Error
		phrase string
	}{
		{field.Duplicate(field.NewPath("defaults").Index(0).Child("driver", "env").Index(1).Child("name"), "A"), ""},
		{field.Required(field.NewPath("defaults").Index(0).Child("name"), "only the operator Exists may have no key"), "none"},
		{field.Forbidden(field.NewPath("defaults").Index(0).Child("name"), "value is set as well; remove one of the two"), "none"},
		{field.Forbidden(field.NewPath("a").Child("valueFrom"), "value is set as well; remove one of the two"), "value is set as well; remove one of the two"},
	} {
		found := bestOf(refusals, test.fault)
		if test.phrase == "none" && len(found) > 0 {
			t.Errorf("%v belongs to %v", test.fault, refusals[found[0]])
		}

		if test.phrase != "none" && len(found) == 0 {
			t.Errorf("%v belongs to nothing", test.fault)
		}

		for _, i := range found {
			if got := strings.Join(refusals[i].phrases, ""); got != test.phrase {
				t.Errorf("%v belongs to %q", test.fault, got)
			}
		}
	}
}

// bestOf returns the indexes of the refusals that a fault matches and of which most is known.
func bestOf(refusals []refusal, fault *field.Error) (best []int) {
	known := -1
	for i, r := range refusals {
		if !r.matches(fault) || r.known < known {
			continue
		}

		if r.known > known {
			best, known = nil, r.known
		}

		best = append(best, i)
	}
	return best
}

func (r *refusal) matches(fault *field.Error) bool {
	if fault.Type != r.kind || !r.path.MatchString(fault.Field) {
		return false
	}

	for _, phrase := range r.phrases {
		if !strings.Contains(fault.ErrorBody(), phrase) {
			return false
		}
	}
	return true
}

// refusalsIn returns the refusals in a file, other than those in the function checked, whose calls are refusals.
func refusalsIn(t *testing.T, file string) (all []refusal) {
	t.Helper()

	files := token.NewFileSet()

	parsed, err := parser.ParseFile(files, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}

	ast.Inspect(parsed, func(n ast.Node) bool {
		if function, ok := n.(*ast.FuncDecl); ok && function.Name.Name == "checked" {
			return false
		}

		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}

		kind, ok := kindOf(call)
		if !ok {
			return true
		}

		path, names := pathOf(call.Args[0])
		phrases := phrasesOf(t, call)
		all = append(all, refusal{files.Position(call.Pos()), kind, regexp.MustCompile(path + "$"), phrases, names + len(phrases)})
		return true
	})
	return all
}

// kindOf returns the type of the fault that a call makes, if it makes one.
func kindOf(call *ast.CallExpr) (field.ErrorType, bool) {
	if name, ok := call.Fun.(*ast.Ident); ok {
		return field.ErrorTypeInvalid, name.Name == "checked"
	}

	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}

	from, ok := selector.X.(*ast.Ident)
	kind, known := kinds[selector.Sel.Name]
	return kind, ok && known && from.Name == "field"
}

// pathOf returns a regular expression for the end of the path that an expression makes, and the number of names in it.
func pathOf(expression ast.Expr) (pattern string, names int) {
	call, ok := expression.(*ast.CallExpr)
	if !ok {
		return "", 0
	}

	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", 0
	}

	pattern, names = pathOf(selector.X)

	switch selector.Sel.Name {
	case "Index":
		return pattern + `\[\d+\]`, names
	case "Key":
		return pattern + `\[[^]]*[^]\d][^]]*\]`, names
	case "Child":
		for _, argument := range call.Args {
			literal, ok := argument.(*ast.BasicLit)
			if !ok {
				pattern += `\.\w+`
				continue
			}

			name, _ := strconv.Unquote(literal.Value)
			pattern, names = pattern+`\.`+regexp.QuoteMeta(name), names+1
		}
		return pattern, names
	}
	return "", 0
}

// verb matches the verbs of a format.
var verb = regexp.MustCompile(`%[a-z]`)

// phrasesOf returns the phrases that a call writes into the text of its fault.
func phrasesOf(t *testing.T, call *ast.CallExpr) (phrases []string) {
	t.Helper()

	for _, argument := range call.Args[1:] {
		ast.Inspect(argument, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if n.Kind != token.STRING {
					return true
				}

				text, _ := strconv.Unquote(n.Value)
				for _, phrase := range verb.Split(text, -1) {
					if phrase != "" {
						phrases = append(phrases, phrase)
					}
				}
			case *ast.SelectorExpr:
				if from, ok := n.X.(*ast.Ident); !ok || from.Name != "validation" {
					return true
				}

				phrase, known := checks[n.Sel.Name]
				if !known {
					t.Fatal(fmt.Errorf("name a phrase of %s in this test", n.Sel.Name))
				}

				phrases = append(phrases, phrase)
			}
			return true
		})
	}
	return phrases
}
