package arch

import (
	"go/ast"
	"go/token"
	"regexp"
	"testing"
)

// countedNouns matches a number before the plural of what users count. "3 of %d" needs no singular.
var countedNouns = regexp.MustCompile(`(?:^|[^f] |\()%d (?:\w+ )?(?:pods|executors|workers|objects|restarts|errors|warnings|checks|others|files)\b`)

// TestCountsHaveASingular checks that texts for users do not have the plural after a number that may be 1.
func TestCountsHaveASingular(t *testing.T) {
	for _, f := range parse(t) {
		if f.test || isBelow(f.folder, "bench") || isBelow(f.folder, "test") || isBelow(f.folder, "tools") ||
			isBelow(f.folder, "test/kit") || isBelow(f.folder, "spark/submit/internal/kit") {
			continue
		}

		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING &&
				countedNouns.MatchString(text.Value[1:len(text.Value)-1]) {
				t.Errorf("%s: %s: use bounds.Count, which has a singular", f.path, text.Value)
			}
			return true
		})
	}
}
