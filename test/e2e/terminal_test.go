package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
	"github.com/sparkoperator/spark-operator/test/e2e/terminal"
	"github.com/sparkoperator/spark-operator/test/kit/gobuild"
)

// updateScreens writes the screens of this run into docs/terminal.md.
var updateScreens = flag.Bool("update", false, "write the captured screens into docs/terminal.md")

const (
	screensPage = root + "/docs/terminal.md"
	wide        = 120
	narrow      = 60
)

// desk is the working environment of a sparkctl user. It consists of directories with programs and settings, and of the
// environment variables of the shell.
type desk struct {
	*suite
	dir, conf, bin, tmux string
	browsed              string // the file with the address at which the browser was opened
	store                string // the directory of staged files
	env                  []string
}

// terminal tests sparkctl in a terminal, with the commands of a new user. The user submits an application, follows its
// log, inspects it from other terminals, interrupts sparkctl with Ctrl-C, and follows the log again. A second
// application cannot pull its image.
func (w *suite) terminal(t *testing.T) {
	d := w.newDesk(t)
	first := d.open(t, wide)
	first.enter("sparkctl submit --deploy-mode cluster --object-name first-pi --num-executors 1 --wait --log pi.py")
	d.stuck(t)
	d.fails(t)
	first.until("after 4 rounds")

	app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "first-pi"}}
	w.await(t, app, patience, "a running executor", func(a *v1beta2.SparkApplication) bool {
		return a.Status.Executors != nil && a.Status.Executors.Running > 0
	})
	d.looks(t, app)
	d.browses(t, app)

	if *wholeLife && w.Embedded() {
		d.measures(t, app)
	}

	first.interrupted("SparkApplication default/first-pi created", "SparkApplication default/first-pi, which continues",
		"to come back: sparkctl wait app/")
	first.withoutLog().capture("submit")

	second := d.open(t, wide)
	second.enter("sparkctl log first-pi -f")
	second.until("after 4 rounds")

	if err := w.Kubectl(t.Context(), "exec", "-n", app.Namespace, app.Status.DriverInfo.PodName, "--", "touch",
		"/tmp/enough"); err != nil {
		t.Fatal(err)
	}

	second.ends(0)
	second.withoutLog().capture("log")
	w.awaitEnd(t, app, patience, completed)
	d.atEnd(t, app)

	if *wholeLife {
		d.changes(t, app)
		d.stages(t)
		d.connects(t)
		return
	}

	w.remove(t, app)
}

// newDesk builds sparkctl, and writes the settings and the program of the user.
func (w *suite) newDesk(t *testing.T) *desk {
	t.Helper()

	tmux, err := exec.CommandContext(t.Context(), filepath.Join(root, "tools/tmux.sh")).Output()
	if err != nil {
		t.Fatalf("tools/tmux.sh: %v", err)
	}

	d := &desk{suite: w, dir: t.TempDir(), conf: t.TempDir(), bin: t.TempDir(), store: t.TempDir(),
		tmux: strings.TrimSpace(string(tmux))}
	d.browsed = filepath.Join(d.dir, "browsed")

	if err := os.Symlink(gobuild.Must(t, ".", "./cmd/sparkctl"), filepath.Join(d.bin, "sparkctl")); err != nil {
		t.Fatal(err)
	}

	client, err := filepath.Abs(filepath.Join(root, "tools/connect-client.sh"))
	if err != nil {
		t.Fatal(err)
	}

	for name, text := range map[string]string{
		filepath.Join(d.bin, "python3"): "#!/bin/sh\nPATH='" + os.Getenv("PATH") + "' exec '" + client + "' \"$@\"\n",
		filepath.Join(d.bin, "browser"): "#!/bin/sh\necho \"$1\" > '" + d.browsed + "'\n",
		filepath.Join(d.bin, "kubectl"): "#!/bin/sh\nexec '" + strings.Join(w.KubectlLine(), "' '") + "' \"$@\"\n",
		filepath.Join(d.conf, "spark-defaults.conf"): "spark.kubernetes.container.image " + cluster.SparkImage + "\n" +
			"spark.kubernetes.authenticate.driver.serviceAccountName " + cluster.ServiceAccount + "\n" +
			"spark.driver.memory 512m\nspark.executor.memory 512m\n" +
			"spark.kubernetes.driver.request.cores 100m\nspark.kubernetes.executor.request.cores 100m\nspark.log.level ERROR\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Symlink("sparkctl", filepath.Join(d.bin, "kubectl-spark")); err != nil {
		t.Fatal(err)
	}

	if err := os.CopyFS(d.dir, os.DirFS("testdata/terminal")); err != nil {
		t.Fatal(err)
	}

	d.env = []string{"BROWSER=" + filepath.Join(d.bin, "browser"), "KUBECONFIG=" + w.Kubeconfig(),
		"SPARK_CONF_DIR=" + d.conf, "STORE=file://" + d.store, "PATH=" + d.bin + ":" + os.Getenv("PATH")}
	return d
}

// stuck submits an application whose image does not exist, interrupts sparkctl, and runs `sparkctl explain` to find the
// cause. It uses a narrow terminal.
func (d *desk) stuck(t *testing.T) {
	s := d.open(t, narrow)
	s.enter("image=docker.io/apache/spark:no-such-tag")
	s.await("a prompt", terminal.Idle)
	s.enter(`sparkctl submit --wait --log --deploy-mode cluster \`)
	s.enter(`  --object-name stuck-pi --spark-version 4.1.4 \`)
	s.enter(`  --conf spark.kubernetes.container.image=$image pi.py`)
	s.until("ImagePull")
	s.interrupted("no-such-tag", "SparkApplication default/stuck-pi, which", "to come back: sparkctl wait app/")
	s.fits(narrow)
	s.capture("stuck")
	s.run("sparkctl explain stuck-pi", "state:  SparkApplication default/stuck-pi is SUBMITTED", "do:",
		"check the image's name and tag", "next:").fits(narrow)
	s.capture("explain-stuck")
	s.run("sparkctl delete stuck-pi --wait --yes", "SparkApplication default/stuck-pi deleted")

	var gone v1beta2.SparkApplication
	if err := d.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "stuck-pi"},
		&gone); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("after delete --wait: %v", err)
	}
}

// fails submits an application with an exception and one that uses too much memory, and looks at their ends. Each
// screen has the cause, the way out and the end of the log, once, on at most 40 lines. The log may end with the cause.
func (d *desk) fails(t *testing.T) {
	for _, end := range []struct{ name, cause, way, screen string }{
		{"broken", "ModuleNotFoundError: No module named 'word_counter'", "install the package", "status-traceback"},
		{"hungry", "it used more memory than its limit", "spark.driver.memoryOverhead", "status-oom"},
	} {
		s := d.open(t, wide)
		s.enter("sparkctl submit --deploy-mode cluster --object-name " + end.name + " --wait " + end.name + ".py")
		s.ends(1)
		// The application may end a moment before its driver pod.
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: end.name + "-driver"}}
		awaitObject(t, d.suite, pod, patience, "end of the driver pod",
			func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
		d.withoutExecutors(t, end.name)
		s.run("sparkctl status "+end.name, "state: FAILED (failed)", "why: ", end.cause, "do: ", end.way,
			"conditions:").fits(wide)
		lines := strings.Count(strings.TrimSuffix(s.output, terminal.Prompt), "\n")
		before, log, _ := strings.Cut(words(s.output), "log of the container")

		_, after, _ := strings.Cut(log, "phases:")
		if times := strings.Count(before+after, end.cause); lines > 41 || times != 1 {
			t.Errorf("the screen has %d lines, and the cause %d times outside the log:\n%s", lines-1, times, s.output)
		}

		s.capture(end.screen)
		s.run("sparkctl explain "+end.name, "why: ", end.cause, "do: ", end.way).fits(wide)
		s.run("sparkctl delete "+end.name+" --wait --yes", end.name+" deleted")
	}
}

// looks runs sparkctl's read-only commands on the running application. It uses wide and narrow terminals, and also runs
// the commands without a terminal.
func (d *desk) looks(t *testing.T, app *v1beta2.SparkApplication) {
	driver := app.Status.DriverInfo.PodName
	status := []string{"name:      default/first-pi", "state:     RUNNING (running)", "phases:", driver, "conditions:",
		"events"}
	d.open(t, wide).run("sparkctl status first-pi", status...).fits(wide).capture("status")
	d.open(t, wide).run("sparkctl explain first-pi", "first-pi is RUNNING (running)",
		"next:").fits(wide).capture("explain")
	small := d.open(t, narrow).run("sparkctl status first-pi", status...).fits(narrow)
	small.capture("status-narrow")
	small.run("sparkctl explain first-pi", "first-pi is RUNNING", "next:").fits(narrow)
	small.run("sparkctl top first-pi", driver, "stages: ").fits(narrow)
	small.run("sparkctl events first-pi", "SparkApplicationSubmitted").fits(narrow)
	small.run("sparkctl list --kind app --newer 1h", "first-pi", "RUNNING").fits(narrow)

	if rows := small.coloured(); !strings.Contains(rows, "\x1b[32mRUNNING") {
		t.Errorf("a terminal without colours: %q", rows)
	}

	for _, args := range [][]string{
		{"status", app.Name}, {"explain", app.Name}, {"events", app.Name}, {"list", "-A"}, {"top", app.Name},
		{"log", app.Name},
	} {
		d.plain(t, args...)
	}

	text := d.plain(t, "status", app.Name)
	for _, c := range app.Status.Conditions {
		if c.Message != "" && !strings.Contains(text, c.Reason+": "+c.Message+"\n") &&
			!strings.Contains(text, "why:       "+c.Reason+": "+c.Message+"\n") {
			t.Errorf("without a terminal, the condition %s is not one line:\n%s", c.Type, text)
		}
	}
}

// atEnd inspects the application with sparkctl after its end.
func (d *desk) atEnd(t *testing.T, app *v1beta2.SparkApplication) {
	// The application may end a moment before its driver pod.
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app.Status.DriverInfo.PodName}}
	awaitObject(t, d.suite, pod, patience, "end of the driver pod",
		func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
	d.withoutExecutors(t, app.Name)
	s := d.open(t, wide).run("sparkctl status first-pi", "state:     COMPLETED (succeeded)").fits(wide)
	s.capture("status-end")
	s.run("sparkctl explain first-pi", "next:", "it has ended", "sparkctl restart app/first-pi -n default").fits(wide)
	s.run("sparkctl wait "+app.Name, "COMPLETED")

	if log := d.driverLog(t, app); !strings.Contains(log, "Pi is known well enough") {
		t.Errorf("the application did not continue after Ctrl-C:\n%s", log)
	}
}

// withoutExecutors waits until the executors of an application that has ended are deleted, which takes seconds on a
// busy machine.
func (d *desk) withoutExecutors(t *testing.T, name string) {
	t.Helper()
	eventually(t, patience, "the deletion of the executors of "+name, func() (string, bool) {
		var pods corev1.PodList
		if err := d.Client.List(t.Context(), &pods, client.InNamespace("default"),
			client.MatchingLabels{"spark-role": "executor", "sparkoperator.k8s.io/app-name": name}); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%d pods", len(pods.Items)), len(pods.Items) == 0
	})
}

// plain runs a sparkctl command without a terminal, and checks that its output has no escape sequences.
func (d *desk) plain(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(d.bin, "sparkctl"), args...)
	cmd.Env = append(os.Environ(), append(d.env, "TERM=xterm-256color", "COLUMNS=40")...)

	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("sparkctl %s: %v\n%s", strings.Join(args, " "), err, text)
	}

	if strings.ContainsAny(string(text), "\x1b\r\b") {
		t.Errorf("sparkctl %s writes escape sequences without a terminal: %q", strings.Join(args, " "), text)
	}
	return string(text)
}

// console is a terminal that runs a shell in the environment of a desk. The field output contains the last command and
// its output.
type console struct {
	*desk
	t      *testing.T
	screen *terminal.Terminal
	begin  int // number of characters of the screen before the last command
	output string
}

func (d *desk) open(t *testing.T, columns int) *console {
	t.Helper()

	screen, err := terminal.Open(t.Context(), d.tmux, d.dir, columns, 50, d.env...)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := screen.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	c := &console{desk: d, t: t, screen: screen}
	c.await("a prompt", terminal.Idle)
	return c
}

// await waits until the text that the screen has shown since the last command began satisfies a condition.
func (c *console) await(goal string, done func(string) bool) {
	c.t.Helper()
	eventually(c.t, patience, goal+" on the screen", func() (string, bool) {
		text, err := c.screen.Screen(c.t.Context())
		if err != nil {
			c.t.Fatal(err)
		}

		c.output = text[min(c.begin, len(text)):]
		return text, done(c.output)
	})
}

// enter types a line, which is a whole command or a part of one. If the line ends with a backslash, the command
// continues on the next line, so enter waits for the continuation prompt.
func (c *console) enter(line string) {
	c.t.Helper()

	if err := c.screen.Enter(c.t.Context(), line); err != nil {
		c.t.Fatal(err)
	}

	c.until(line)

	if strings.HasSuffix(line, `\`) {
		c.await("a prompt for the next line", terminal.Continues)
	}
}

// until waits until the screen shows a text. It ignores line breaks on the screen.
func (c *console) until(has string) {
	c.t.Helper()
	c.await(has, func(text string) bool { return strings.Contains(words(text), words(has)) })
}

// words replaces each sequence of blanks and line breaks in a text by one blank.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// run types a command, waits until it ends, and checks that its exit code is 0 and its output contains the given texts.
func (c *console) run(line string, has ...string) *console {
	c.t.Helper()

	text, err := c.screen.Screen(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}

	c.begin = len(strings.TrimSuffix(text, terminal.Prompt))
	c.enter(line)
	c.ends(0)

	for _, text := range has {
		if !strings.Contains(words(c.output), words(text)) {
			c.t.Errorf("%s: the screen lacks %q:\n%s", line, text, c.output)
		}
	}
	return c
}

// ends waits until the command has ended, and checks its exit code.
func (c *console) ends(code int) {
	c.t.Helper()
	c.await("a prompt", terminal.Idle)
	shown := c.output
	c.enter(`echo "exit code $?"`)
	c.await("the exit code", func(text string) bool { return terminal.Idle(text) && exitCode.MatchString(text) })

	if got := exitCode.FindStringSubmatch(c.output)[1]; got != fmt.Sprint(code) {
		c.t.Errorf("exit code %s, want %d:\n%s", got, code, c.output)
	}

	if code == 0 {
		c.output = shown
	}
}

var exitCode = regexp.MustCompile(`(?m)^exit code ([0-9]+)$`)

// interrupted presses Ctrl-C. It checks that the command ends with the exit code 130, and that its output contains the
// given texts.
func (c *console) interrupted(has ...string) {
	c.t.Helper()

	if err := c.screen.Press(c.t.Context(), "C-c"); err != nil {
		c.t.Fatal(err)
	}

	c.ends(130)

	for _, text := range has {
		if !strings.Contains(words(c.output), words(text)) {
			c.t.Errorf("the screen lacks %q:\n%s", text, c.output)
		}
	}
}

// fits checks that no line of the output is wider than the terminal, so that the terminal does not wrap it. The only
// exception is a line that consists of a single long word, such as the address of an image's manifest.
func (c *console) fits(columns int) *console {
	c.t.Helper()

	for line := range strings.SplitSeq(c.output, "\n") {
		if n := utf8.RuneCountInString(line); n > columns && len(strings.Fields(line)) > 1 {
			c.t.Errorf("a line has %d characters on a terminal of %d columns: %q", n, columns, line)
		}
	}
	return c
}

func (c *console) coloured() string {
	c.t.Helper()

	text, err := c.screen.Coloured(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	return text
}

// kept matches the lines of a screen that withoutLog keeps, because they do not belong to Spark's log.
var kept = regexp.MustCompile(`^(\$|>|\^C|SparkApplication |Pi is |interrupted|to come back|exit code)`)

// unresolved matches the kubelet's message about an image that does not exist. A part of the message depends on the
// network of the node.
var unresolved = regexp.MustCompile(`(?ms)(failed\s+to\s+resolve\s+reference\s+"[^"]+":).*?^(SparkApplication|pod:|do:|\^C)`)

// withoutLog replaces each sequence of lines of Spark's log in the output by one line with three dots. The whole output
// stays in the report of a failure.
func (c *console) withoutLog() *console {
	c.t.Log(c.output)
	c.output = terminal.Condense(c.output, kept)
	return c
}

// capture compares the screen of the last command with the named screen in docs/terminal.md. With the flag -update, it
// writes the screen into the page instead.
func (c *console) capture(name string) {
	c.t.Helper()
	screen := strings.TrimSpace(strings.TrimSuffix(c.output, terminal.Prompt))
	screen = strings.ReplaceAll(screen, c.nodeName(c.t), "sparklocal")
	screen = unresolved.ReplaceAllString(screen, "$1 (...)\n$2")

	text, err := os.ReadFile(screensPage)
	if err != nil {
		c.t.Fatal(err)
	}

	if *updateScreens {
		page, err := terminal.WithScreen(string(text), name, screen)
		if err != nil {
			c.t.Fatal(err)
		}

		if err := os.WriteFile(screensPage, []byte(page), 0o644); err != nil {
			c.t.Fatal(err)
		}
		return
	}

	shown, err := terminal.Shown(string(text), name)
	if err != nil {
		c.t.Fatal(err)
	}

	if want, got := terminal.Stable(shown), terminal.Stable(screen); want != got {
		c.t.Errorf("docs/terminal.md shows another screen %q; in test/e2e, run go test -run TestOperator/together/terminal . -update (-page +screen):\n%s\n%s",
			name, cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")), screen)
	}
}
