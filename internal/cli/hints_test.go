package cli

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// asPlugin runs sparkctl itself and ends the process if this binary was started under the name of the plugin of
// kubectl.
func asPlugin() {
	if terminal.Program(os.Args[0]) != "sparkctl" {
		os.Exit(int(Main(context.Background(), os.Args, terminal.Standard())))
	}
}

// plugs checks that the hints of sparkctl as a plugin of kubectl have the name of the plugin and the
// namespace. The user of the plugin has no sparkctl.
func (u *user) plugs() {
	self, err := os.Executable()
	if err != nil {
		u.t.Fatal(err)
	}

	plugin := filepath.Join(u.t.TempDir(), "kubectl-spark")
	if err := os.Symlink(self, plugin); err != nil {
		u.t.Fatal(err)
	}

	for has, args := range map[string][]string{
		"kubectl spark restart app/pi -n " + u.Namespace: {"explain", "pi"},
		"kubectl spark list -A": {"status",
			"nothing-like-any-other-name"},
		"kubectl spark delete app/pi -n " + u.Namespace: {"create", "-f",
			u.manifest("pi", "")},
		"kubectl spark trigger schedule/nightly -n " + u.Namespace: {"restart", "nightly",
			"--yes"},
		"kubectl spark explain app/stuck -n " + u.Namespace:                             {"ui", "stuck"},
		"do: the whole log shows more: kubectl spark log app/unlucky -n " + u.Namespace: {"explain", "unlucky"},
		"kubectl spark list --watch":                                                    {"list", "--help"},
	} {
		text, _ := exec.CommandContext(u.t.Context(), plugin,
			append(args, "--kubeconfig", u.kubeconfig)...).CombinedOutput()
		if words := strings.Join(strings.Fields(string(text)), " "); !strings.Contains(words, has) {
			u.t.Errorf("kubectl spark %v lacks %q:\n%s", args, has, text)
		}
	}
}

// TestHintsNameTheProgram checks that no text of sparkctl has a command with a fixed name of the program: as a plugin
// of kubectl it has another name. Only the descriptions of verbs may have it, because Command replaces it there.
func TestHintsNameTheProgram(t *testing.T) {
	var verbs []string
	for _, cmd := range command(terminal.Streams{}, "sparkctl").Commands() {
		verbs = append(verbs, append(cmd.Aliases, cmd.Name())...)
	}

	command := regexp.MustCompile(`\bsparkctl (` + strings.Join(verbs, "|") + `)\b`)
	read := 0

	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}

		set := token.NewFileSet()

		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		read++

		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				key, ok := n.Key.(*ast.Ident)
				return !ok || key.Name != "Example" && key.Name != "Long"
			case *ast.BasicLit:
				if n.Kind == token.STRING && n.Value != `"sparkctl lint"` && command.MatchString(n.Value) {
					t.Errorf("%s: %s; use terminal.Hint or cluster.Hint", set.Position(n.Pos()), n.Value)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || read < 50 {
		t.Errorf("%d files, %v", read, err)
	}
}
