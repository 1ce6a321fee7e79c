package cli

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

var update = flag.Bool("update", false, "write the golden files and docs/cli.md")

// result is the output of one run of the program, with the exit code.
type result struct {
	out, err string
	code     exit.Code
}

// run runs the program without a terminal and returns the result.
func run(t *testing.T, args ...string) result {
	t.Helper()
	return runWith(t.Context(), terminal.Streams{In: strings.NewReader("")}, args...)
}

func runWith(ctx context.Context, streams terminal.Streams, args ...string) result {
	var out, err bytes.Buffer
	streams.Out, streams.Err = &out, &err
	code := Main(ctx, append([]string{"sparkctl"}, args...), streams)
	return result{out.String(), err.String(), code}
}

// golden compares a text with a file in testdata. With the flag -update, it first writes the text to the file.
func golden(t *testing.T, name, got string) {
	t.Helper()

	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// TestExitCodes checks the exit codes for wrong usage, on which scripts may rely.
func TestExitCodes(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		code exit.Code
		says string
	}{
		"no verb":              {nil, exit.OK, ""},
		"help":                 {[]string{"--help"}, exit.OK, ""},
		"the version":          {[]string{"version", "--short"}, exit.OK, ""},
		"an unknown verb":      {[]string{"lits"}, exit.Usage, `unknown verb "lits"`},
		"an unknown flag":      {[]string{"version", "--shrt"}, exit.Usage, "--shrt"},
		"an unknown format":    {[]string{"version", "-o", "xml"}, exit.Usage, "json"},
		"a surplus argument":   {[]string{"version", "now"}, exit.Usage, "now"},
		"an unknown shell":     {[]string{"completion", "csh"}, exit.Usage, "csh"},
		"an invalid directory": {[]string{"docs", "--man", "/dev/null/man"}, exit.Invalid, "/dev/null"},
	} {
		got := run(t, test.args...)
		if got.code != test.code || !strings.Contains(got.err, test.says) {
			t.Errorf("%s: exit code %d, %q, want %d and %q", name, got.code, got.err, test.code, test.says)
		}

		if test.code != exit.OK && strings.Count(got.err, "\n") != 1 {
			t.Errorf("%s: the error is not one line: %q", name, got.err)
		}
	}
}

// TestInterruptedIsACodeOfItsOwn checks that a canceled context leads to the exit code of Ctrl-C.
func TestInterruptedIsACodeOfItsOwn(t *testing.T) {
	if code := exit.CodeOf(exit.With(exit.Cluster, context.Canceled)); code != exit.Interrupted {
		t.Errorf("exit code %d", code)
	}
}

// TestPluginName checks that, if the program runs as a plugin of kubectl, its texts contain the name by which users
// run it.
func TestPluginName(t *testing.T) {
	for path, want := range map[string]string{"/usr/bin/sparkctl": "sparkctl", "kubectl-spark": "kubectl spark",
		"kubectl-spark.exe": "kubectl spark", "/x/renamed": "sparkctl"} {
		if got := terminal.Program(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	var out bytes.Buffer
	Main(t.Context(), []string{"kubectl-spark", "version", "--help"},
		terminal.Streams{In: strings.NewReader(""), Out: &out, Err: &out})

	if !strings.Contains(out.String(), "kubectl spark version") {
		t.Errorf("the help is\n%s", out.String())
	}
}

// TestPage checks that docs/cli.md agrees with the descriptions of the commands.
func TestPage(t *testing.T) {
	got := run(t, "docs")
	if got.code != exit.OK {
		t.Fatal(got.err)
	}

	const page = "../../docs/cli.md"
	if *update {
		if err := os.WriteFile(page, []byte(got.out), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(string(want), got.out); diff != "" {
		t.Errorf("%s is not what the commands say; go test ./internal/cli -run TestPage -update writes it (-page +commands):\n%s", page, diff)
	}
}

// TestManPages checks that each verb has a man page.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	if got := run(t, "docs", "--man", dir); got.code != exit.OK {
		t.Fatal(got.err)
	}

	for _, cmd := range documented(command(terminal.Streams{}, "sparkctl")) {
		page, err := os.ReadFile(filepath.Join(dir, "sparkctl-"+cmd.Name()+".1"))
		if err != nil || !bytes.Contains(page, []byte(cmd.Name())) {
			t.Errorf("%s: %v", cmd.Name(), err)
		}
	}
}

// TestEveryVerbIsDescribed checks that each verb has a short description of at most 70 characters, without a full stop.
func TestEveryVerbIsDescribed(t *testing.T) {
	for _, cmd := range documented(command(terminal.Streams{}, "sparkctl")) {
		if cmd.Short == "" || len(cmd.Short) > 70 || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: short description %q", cmd.Name(), cmd.Short)
		}
	}
}

// TestCompletionScripts checks that the program prints a completion script for each shell.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := run(t, "completion", shell); got.code != exit.OK || !strings.Contains(got.out, "sparkctl") {
			t.Errorf("%s: exit code %d, %d bytes", shell, got.code, len(got.out))
		}
	}
}
