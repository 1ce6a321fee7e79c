// Package workflowcheck tests the workflows in .github/workflows without GitHub: with actionlint, and by parsing the
// shell steps. Everything that a step names must exist in the repository.
package workflowcheck

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	"mvdan.cc/sh/v3/syntax"
)

// root is the root of the repository.
const root = "../.."

// step is a shell step of a workflow.
type step struct {
	name, script string
	env          []string // the variables that the step sets
}

// workflows returns the paths of the workflows.
func workflows(t *testing.T) []string {
	t.Helper()

	files, err := filepath.Glob(root + "/.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	return files
}

// steps returns the shell steps of all workflows.
func steps(t *testing.T) []step {
	t.Helper()

	var found []step
	for _, file := range workflows(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		workflow, errs := actionlint.Parse(text)
		if len(errs) > 0 {
			t.Fatalf("%s: %v", file, errs)
		}

		for id, job := range workflow.Jobs {
			for _, s := range job.Steps {
				run, ok := s.Exec.(*actionlint.ExecRun)
				if !ok {
					continue
				}

				it := step{name: fmt.Sprintf("%s:%d (%s)", filepath.Base(file), s.Pos.Line, id), script: run.Run.Value}
				if s.Env != nil {
					for _, v := range s.Env.Vars {
						it.env = append(it.env, v.Name.Value)
					}
				}

				found = append(found, it)
			}
		}
	}

	if len(found) == 0 {
		t.Fatal("the workflows have no shell steps")
	}
	return found
}

// TestActionlintFindsNothing runs actionlint without shellcheck, which is not a Go module.
func TestActionlintFindsNothing(t *testing.T) {
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{WorkingDir: root})
	if err != nil {
		t.Fatal(err)
	}

	findings, err := linter.LintFiles(workflows(t), nil)
	if err != nil {
		t.Fatal(err)
	}

	for _, finding := range findings {
		t.Error(finding)
	}
}

// TestActionlintFindsMistakes checks that the linter is not configured to accept everything.
func TestActionlintFindsMistakes(t *testing.T) {
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{WorkingDir: root})
	if err != nil {
		t.Fatal(err)
	}

	findings, err := linter.Lint("bad.yml", []byte("on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: echo ${{ nothing.here }}\n"), nil)
	if err != nil || len(findings) != 1 {
		t.Errorf("got %v, %v, want one finding", findings, err)
	}
}

// TestActionsArePinned checks that each action is pinned to a commit, with its version as a comment. A tag can be moved
// to other code.
func TestActionsArePinned(t *testing.T) {
	uses, pinned := regexp.MustCompile(`(?m)^.*\buses:.*$`), regexp.MustCompile(`uses: [\w-]+/[\w/-]+@[0-9a-f]{40} # v\d`)

	count := 0
	for _, file := range workflows(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		for _, line := range uses.FindAllString(string(text), -1) {
			count++

			if !pinned.MatchString(line) {
				t.Errorf("%s: not pinned to a commit: %s", file, line)
			}
		}
	}

	if count == 0 {
		t.Error("no workflow uses an action")
	}
}

// TestStepsRunHere checks each shell step: bash accepts it, and the targets, parts, scripts, packages and paths that it
// names exist.
func TestStepsRunHere(t *testing.T) {
	for _, s := range steps(t) {
		if strings.Contains(s.script, "${{") {
			t.Errorf("%s contains an expression: pass it as a variable, so that its value is never code", s.name)
		}

		bash := exec.Command("bash", "-n")

		bash.Stdin = strings.NewReader(s.script)
		if output, err := bash.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", s.name, err, output)
			continue
		}

		problems, err := missing(root, s.script)
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
		}

		for _, problem := range problems {
			t.Errorf("%s: %s", s.name, problem)
		}
	}
}

// TestVariablesOfTestsExist checks that the variables which select a Kubernetes are those that the tests read.
func TestVariablesOfTestsExist(t *testing.T) {
	kit, err := os.ReadFile(root + "/test/kit/controlplane.go")
	if err != nil {
		t.Fatal(err)
	}

	set := map[string]bool{}
	for _, s := range steps(t) {
		for _, match := range regexp.MustCompile(`\b(KUBEBUILDER_ASSETS|TEST_\w+)=`).FindAllStringSubmatch(s.script, -1) {
			set[match[1]] = true
		}
	}

	for name := range set {
		if !strings.Contains(string(kit), `"`+name+`"`) {
			t.Errorf("no test reads the variable %s", name)
		}
	}

	if len(set) != 2 {
		t.Errorf("the workflows select a Kubernetes by %v, want envtest's and a kubeconfig's variable", set)
	}
}

// missing returns what the commands of a script name and the repository does not contain.
func missing(root, script string) ([]string, error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return nil, err
	}

	c := checker{root: root}
	syntax.Walk(file, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok && len(call.Args) > 0 && c.err == nil {
			words := make([]string, len(call.Args))
			for i, arg := range call.Args {
				words[i] = literal(arg)
			}

			c.command(words)
		}
		return true
	})
	return c.problems, c.err
}

// literal returns the text of a word, with quotes removed and each expansion replaced by "$".
func literal(word *syntax.Word) string {
	var text strings.Builder

	var add func(parts []syntax.WordPart)
	add = func(parts []syntax.WordPart) {
		for _, part := range parts {
			switch p := part.(type) {
			case *syntax.Lit:
				text.WriteString(p.Value)
			case *syntax.SglQuoted:
				text.WriteString(p.Value)
			case *syntax.DblQuoted:
				add(p.Parts)
			default:
				text.WriteString("$")
			}
		}
	}
	add(word.Parts)
	return text.String()
}

// checker collects the problems of the commands of one script.
type checker struct {
	root     string
	problems []string
	err      error
}

// command checks one command. After sudo and env it checks the command that they run.
func (c *checker) command(words []string) {
	if words[0] == "sudo" || words[0] == "env" {
		rest := words[1:]
		for len(rest) > 0 && (strings.HasPrefix(rest[0], "-") || strings.Contains(rest[0], "=")) {
			rest = rest[1:]
		}

		if len(rest) > 0 {
			c.command(rest)
		}
		return
	}

	switch words[0] {
	case "make":
		c.make(words[1:])
	case "cd":
		c.problems = append(c.problems, "cd: use working-directory or -C, so that paths can be checked")
	default:
		c.paths(words)
	}
}

// make checks the targets and the parts of a call of make.
func (c *checker) make(words []string) {
	makefile, err := os.ReadFile(c.root + "/Makefile")
	if err != nil {
		c.err = err
		return
	}

	testrun, err := os.ReadFile(c.root + "/tools/testrun/main.go")
	if err != nil {
		c.err = err
		return
	}

	for _, word := range words {
		if name, value, ok := strings.Cut(word, "="); ok {
			for part := range strings.SplitSeq(value, ",") {
				if (name == "PARTS" || name == "SKIP") && !strings.Contains(string(testrun), `{name: "`+part+`"`) {
					c.problems = append(c.problems, "make test has no part "+part)
				}
			}
			continue
		}

		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(word) + `:`).Match(makefile) {
			c.problems = append(c.problems, "the Makefile has no target "+word)
		}
	}
}

// outputs are the directories that earlier steps write.
var outputs = regexp.MustCompile(`^(\.\./)?(bin|dist)/`)

// paths checks the words that are paths of the repository. These words begin with ./ or with one of its directories.
// The option -C of go selects another directory.
func (c *checker) paths(words []string) {
	directory := c.root
	for i, word := range words {
		if word == "-C" && words[0] == "go" && i+1 < len(words) {
			directory = filepath.Join(c.root, words[i+1])
			if info, err := os.Stat(directory); err != nil || !info.IsDir() {
				c.problems = append(c.problems, "no directory "+words[i+1])
			}
		}
	}

	for i, word := range words {
		first, _, _ := strings.Cut(word, "/")
		if !strings.Contains(word, "/") || strings.Contains(word, "$") || outputs.MatchString(word) || i > 0 && words[i-1] == "-C" {
			continue
		}

		if _, err := os.Stat(filepath.Join(c.root, first)); first != "." && (first == "" || err != nil) {
			if i == 0 {
				c.problems = append(c.problems, "no program "+word)
			}
			continue
		}

		info, err := os.Stat(filepath.Join(directory, strings.TrimSuffix(word, "/...")))
		if err != nil {
			c.problems = append(c.problems, "no file or directory "+word)
		} else if i == 0 && info.Mode()&0o111 == 0 {
			c.problems = append(c.problems, word+" is not executable")
		}
	}
}

// TestMissing checks that a step which names what does not exist is found.
func TestMissing(t *testing.T) {
	for script, want := range map[string]string{
		"make test PARTS=lint,tools":              "",
		"make tests":                              "the Makefile has no target tests",
		"make test PARTS=lint,nothing":            "make test has no part nothing",
		"sudo env \"PATH=$PATH\" .ci/run":         "",
		"sudo -E .ci/runs":                        "no file or directory .ci/runs",
		"x=$(tools/nothing.sh)":                   "no file or directory tools/nothing.sh",
		"tools/go.mod":                            "tools/go.mod is not executable",
		"go test -C client ./...":                 "",
		"go test -C clients ./...":                "no directory clients",
		"go test ./internals/...":                 "no file or directory ./internals/...",
		"go build -C local -o ../bin/x ./cmd/xyz": "no file or directory ./cmd/xyz",
		"for x in a b; do bin/x \"$x\"; done":     "",
		"cd test/e2e && go test .":                "cd: use working-directory or -C, so that paths can be checked",
		"kubectl apply -f examples/nothing.yaml":  "no file or directory examples/nothing.yaml",
		"echo a/b docker.io/c/d:e2e":              "",
	} {
		problems, err := missing(root, script)
		if err != nil {
			t.Errorf("%s: %v", script, err)
		}

		if got := strings.Join(problems, "; "); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: got %q, want %q", script, got, want)
		}
	}
}

// TestReleaseNotesAreTheVersionsSection runs the script that the workflow of releases runs.
func TestReleaseNotesAreTheVersionsSection(t *testing.T) {
	changelog := filepath.Join(t.TempDir(), "CHANGELOG.md")
	text := "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-02\n\n### Added\n\n- One thing.\n\n## [1.2.30] - 2026-01-01\n\n- Another.\n\n[1.2.3]: https://example.org\n"

	if err := os.WriteFile(changelog, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	for version, want := range map[string]string{
		"v1.2.3": "### Added\n\n- One thing.", "v1.2.30": "- Another.", "v1.2": "no section", "Unreleased": "no section",
	} {
		output, err := exec.Command("../release-notes.sh", version, changelog).CombinedOutput()
		got := strings.TrimSpace(string(output))

		if failed := err != nil; failed != (want == "no section") {
			t.Errorf("%s: %v\n%s", version, err, got)
		}

		if want == "no section" && strings.Contains(got, want) {
			continue
		}

		if got != want {
			t.Errorf("%s: got %q, want %q", version, got, want)
		}
	}
}
