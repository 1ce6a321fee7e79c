// Package docs tests the copy of docs/ from which the documentation site is built.
package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository returns a Git repository that has the given files.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()

	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for _, args := range [][]string{{"init", "--quiet"}, {"add", "."}} {
		if output, err := exec.Command("git", append([]string{"-C", root}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
	}
	return root
}

func TestLinksOfTheCopy(t *testing.T) {
	page := "[a](b.md#x) [b](sub/) [c](../LICENSE) [d](../examples) [e](https://example.org/x.md) [f](#g)\n```\n[h](none.md)\n```\n"
	root := repository(t, map[string]string{
		"docs/a.md": page, "docs/b.md": "", "docs/sub/README.md": "[up](../a.md)", "LICENSE": "", "examples/x.yaml": "",
	})

	target := filepath.Join(t.TempDir(), "copy")
	if output, err := exec.Command("python3", "stage.py", root, target, "v1.2.3").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}

	got, err := os.ReadFile(filepath.Join(target, "a.md"))
	if err != nil {
		t.Fatal(err)
	}

	const web = "https://github.com/sparkoperator/spark-operator/"

	want := "[a](b.md#x) [b](sub/README.md) [c](" + web + "blob/v1.2.3/LICENSE) [d](" + web +
		"tree/v1.2.3/examples) [e](https://example.org/x.md) [f](#g)\n```\n[h](none.md)\n```\n"
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestBrokenLinksAreErrors(t *testing.T) {
	root := repository(t, map[string]string{
		"docs/a.md": "[a](b.md) [b](../c.md)", "README.md": "[a](docs/d.md) [b](docs/a.md)", "x/testdata/y.md": "[a](none.md)",
	})

	output, err := exec.Command("python3", "stage.py", root, filepath.Join(t.TempDir(), "copy"), "main").CombinedOutput()
	if err == nil {
		t.Error("no error")
	}

	for _, link := range []string{"docs/a.md links to b.md", "docs/a.md links to ../c.md", "README.md links to docs/d.md"} {
		if !strings.Contains(string(output), link) {
			t.Errorf("not reported: %s", link)
		}
	}

	if lines := strings.Count(string(output), "\n"); lines != 3 {
		t.Errorf("%d problems, want 3:\n%s", lines, output)
	}
}
