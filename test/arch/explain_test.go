package arch

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// minExplained is the smallest number of words that the comment of a field has beyond the name of the field.
const minExplained = 4

// wordOf matches a word of a comment, or of a name in mixed case.
var wordOf = regexp.MustCompile(`[A-Z]+s?(?:[^a-z]|$)|[A-Z]?[a-z0-9]+|[0-9]+`)

// explained returns the words of a field's comment that the field's name does not have. Markers and articles do not
// count.
func explained(name, comment string) (words []string) {
	var own []string
	for _, word := range wordOf.FindAllString(name, -1) {
		own = append(own, strings.ToLower(strings.TrimSuffix(word, "s")))
	}

	for line := range strings.Lines(comment) {
		if strings.HasPrefix(line, "+") { // a marker
			continue
		}

		for _, word := range strings.FieldsFunc(line,
			func(r rune) bool { return strings.ContainsRune(" .,:;()\"\n", r) }) {
			word = strings.ToLower(word)
			if !slices.Contains(own, strings.TrimSuffix(word, "s")) &&
				!slices.Contains([]string{"the", "a", "an", strings.ToLower(name)}, word) {
				words = append(words, word)
			}
		}
	}
	return words
}

// TestFieldsAreExplained checks that the comment of each field of the API says more than its name. Users read these
// comments with kubectl explain. They do not read those of Items, which all lists have.
func TestFieldsAreExplained(t *testing.T) {
	fields := 0
	for _, f := range parse(t) {
		if f.test || !isBelow(f.folder, "api") || ast.IsGenerated(f.syntax) {
			continue
		}

		ast.Inspect(f.syntax, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if !ok || field.Tag == nil || len(field.Names) != 1 || field.Names[0].Name == "Items" {
				_, code := n.(*ast.FuncDecl)
				return !code
			}

			fields++

			name, comment := field.Names[0].Name, field.Doc.Text()+field.Comment.Text()
			if len(explained(name, comment)) < minExplained {
				t.Errorf("%s: the comment of the field %s is %q; say what it means, its unit, its default",
					f.positions.Position(field.Pos()), name, comment)
			}
			return true
		})
	}

	if fields < 300 {
		t.Errorf("only %d fields were found", fields)
	}
}
