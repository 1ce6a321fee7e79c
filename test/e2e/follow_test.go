package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/test/kit/markdown"
)

// tutorials runs the commands of tutorials one after another, exactly as they are on the pages, and checks what they
// print. They use the names of the examples, so that they do not run beside other tests.
func (w *suite) tutorials(t *testing.T) {
	d := w.newDesk(t)

	for _, tutorial := range []struct {
		page  string
		wants []string // texts in what the commands print, in this order
	}{
		{"first-application", []string{"spark-pi created", "Pi is roughly 3.1", "COMPLETED", "docker.io/apache/spark:nothing", `"no-image" deleted`}},
		{"first-schedule", []string{"spark-pi-schedule created", "spark-pi-schedule-", "suspended", `"spark-pi-schedule" deleted`}},
		{"spark-submit-to-yaml", []string{"pi created"}},
	} {
		t.Run(tutorial.page, func(t *testing.T) {
			printed := d.runAll(t, markdown.Blocks(t, root+"/docs/tutorials/"+tutorial.page+".md", "sh"))
			for _, want := range tutorial.wants {
				_, after, found := strings.Cut(printed, want)
				if !found {
					t.Errorf("the commands do not print %q in\n%s", want, printed)
				}

				printed = after
			}
		})
	}

	if err := w.Kubectl(t.Context(), "delete", "sparkapplications.sparkoperator.k8s.io/pi", "--namespace", "default"); err != nil {
		t.Error(err)
	}
}

// runAll runs blocks of commands in a directory that has the examples, and returns what they print.
func (d *desk) runAll(t *testing.T, blocks []markdown.Block) string {
	t.Helper()

	examples, err := filepath.Abs(filepath.Join(root, "examples"))
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	if err := os.Symlink(examples, filepath.Join(dir, "examples")); err != nil {
		t.Fatal(err)
	}

	var printed strings.Builder
	for _, block := range blocks {
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", block.Text)

		cmd.Dir, cmd.Env = dir, append(os.Environ(), d.env...)

		out, err := cmd.CombinedOutput()
		printed.Write(out)

		if err != nil {
			t.Fatalf("%v in\n%s\n%s", err, block.Text, out)
		}
	}
	return printed.String()
}
