package e2e

import (
	"bufio"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/kit/gobuild"
)

// sparkctl tests the commands of sparkctl that need real Spark or a release of the operator. The application must be
// running.
func (w *suite) sparkctl(t *testing.T, app *v1beta2.SparkApplication) {
	t.Helper()
	sparkctl := gobuild.Must(t, ".", "./cmd/sparkctl")

	verb := func(args ...string) *exec.Cmd {
		return exec.CommandContext(t.Context(), sparkctl,
			append(args, "--kubeconfig", w.Kubeconfig(), "-n", app.Namespace)...)
	}
	for _, test := range []struct {
		args []string
		has  []string
	}{
		{[]string{"top", app.Name}, []string{app.Status.DriverInfo.PodName, "executor", "stages: "}},
		{[]string{"doctor"}, []string{"ok       operator", "ok       leader", "ok       admission",
			"ok       certificates", "ok       definitions", "ok       accounts"}},
		{[]string{"version"}, []string{"sparkctl ", "operator "}},
	} {
		text, err := verb(test.args...).CombinedOutput()
		if err != nil {
			t.Errorf("sparkctl %s: %v\n%s", test.args[0], err, text)
		}

		for _, has := range test.has {
			if !strings.Contains(string(text), has) {
				t.Errorf("sparkctl %s lacks %q:\n%s", test.args[0], has, text)
			}
		}
	}

	w.forwardedUI(t, verb("ui", app.Name, "--no-browser"), "api/v1/applications", app.Status.SparkApplicationID)
}

// forwardedUI starts `sparkctl ui`, requests a path below the address that the command prints, whose content must have
// an application's id, and interrupts the command.
func (w *suite) forwardedUI(t *testing.T, ui *exec.Cmd, path, id string) {
	t.Helper()
	ui.Stderr = t.Output()

	out, err := ui.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := ui.Start(); err != nil {
		t.Fatal(err)
	}

	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("the verb ui prints nothing: %v", ui.Wait())
	}

	_, address, _ := strings.Cut(lines.Text(), " at ")

	address, _, _ = strings.Cut(address, " ")
	if text := fetch(t, address+path, http.StatusOK); !strings.Contains(text, id) {
		t.Errorf("%s answers %s, without %s", address+path, text, id)
	}

	if err := ui.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}

	for lines.Scan() { // drain the output, so that the program does not block when it writes
	}

	if ended, ok := errors.AsType[*exec.ExitError](ui.Wait()); !ok || ended.ExitCode() != 130 {
		t.Errorf("after Ctrl-C the verb ui ends with %v", ended)
	}
}
