package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/hostile"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/unprintable"
)

// ownColours matches the control sequences that sparkctl may print on a terminal.
var ownColours = regexp.MustCompile(`\x1b\[(0|31|32|33)m`)

// printable runs a verb without a terminal and on one, and checks both outputs.
func printable(t *testing.T, name string, args ...string) (plain result) {
	t.Helper()

	for _, width := range []int{70, 0} {
		plain = runWith(t.Context(), terminal.Streams{In: strings.NewReader(""), Width: width}, args...)

		output := plain.out + plain.err
		if width > 0 {
			output = ownColours.ReplaceAllString(output, "")
		}

		if found := unprintable.First(output); found != "" {
			t.Errorf("%s: sparkctl %s, %d columns: %q", name, strings.Join(args, " "), width, found)
		}
	}
	return plain
}

// TestOfflineOutputsArePrintable checks that no output of lint, render and convert has characters that a terminal
// interprets, whatever the texts, the keys and the name of a manifest contain.
func TestOfflineOutputsArePrintable(t *testing.T) {
	withoutSpark(t)
	file := filepath.Join(t.TempDir(), "a\x1b[31m\u202e.json")
	generator := hostile.Cases(t)
	cases, rendered := 0, 0

	verbs := [][]string{
		{"lint"}, {"lint", "-o", "json"}, {"lint", "-o", "sarif"}, {"render"}, {"render", "-o", "json"},
		{"render", "-o", "name"}, {"render", "--spark-submit"}, {"convert"},
	}
	for _, d := range generator.Definitions {
		i := 0
		for c := range generator.Unprintable(d) {
			if i++; i%23 != 0 && strings.Count(c.Field, ".") >= 2 {
				continue
			}

			object, err := c.JSON()
			if err != nil {
				t.Fatal(err)
			}
			// A YAML parser refuses these characters unless they are escaped.
			object = regexp.MustCompile(`[\x{7f}-\x{9f}]`).ReplaceAllFunc(object,
				func(c []byte) []byte { return fmt.Appendf(nil, `\u%04x`, []rune(string(c))[0]) })
			if err := os.WriteFile(file, object, 0o600); err != nil {
				t.Fatal(err)
			}
			cases++

			for _, verb := range verbs {
				if got := printable(t, c.Name(), append(verb, "-f", file)...); verb[0] == "render" &&
					got.code == exit.OK && got.out != "" {
					rendered++
				}
			}
		}
	}

	t.Logf("%d cases, %d rendered", cases, rendered)

	if cases < 100 || rendered < cases/4 {
		t.Errorf("only %d cases, %d rendered", cases, rendered)
	}
}

// TestManifestsAreReadWithinTheirMemory checks that no verb which reads manifests takes more than 64 MB for aliases of
// aliases. They took over 6 GB.
func TestManifestsAreReadWithinTheirMemory(t *testing.T) {
	withoutSpark(t)

	text := "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {name: a}\nspec:\n" +
		"  a: &a " + strings.Repeat("x", 100_000) + "\n  b: [" + strings.Repeat("*a,", 80_000) + "]\n"

	file := filepath.Join(t.TempDir(), "bomb.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, args := range [][]string{
		{"lint", "-f", file}, {"render", "-f", file}, {"convert", "-f", file},
		{"create", "-f", file, "--server", "http://127.0.0.1:1"},
		{"diff", "-f", file, "--server", "http://127.0.0.1:1"},
		{"render", "-f", "../../examples/spark-pi.yaml", "--config", file},
		{"submit", "--dry-run", "--deploy-mode", "cluster", "--spark-version", "4.1.4", "--object-name", "a",
			"--class", "A",
			"--conf", "spark.kubernetes.container.image=spark:4.1.4", "--conf",
			"spark.kubernetes.driver.podTemplateFile=" + file, "local:///a.jar"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)

		got := run(t, args...)

		runtime.ReadMemStats(&after)

		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 64<<20 || got.code != exit.Invalid {
			t.Errorf("%s: exit code %d, %d MB were allocated, %.300s", args[0], got.code, allocated>>20,
				got.out+got.err)
		}
	}
}

// TestOnlineOutputsArePrintable checks that no output about a stored application has characters that a terminal
// interprets, whatever a tenant wrote into its spec, its status, its Events, and the status and the log of its pods.
func TestOnlineOutputsArePrintable(t *testing.T) {
	withoutSpark(t)
	const text = unprintable.Text
	u := newUser(t, scene.New(t))
	node := startKubelet(t, "node-"+u.Namespace)
	file := u.manifest("evil", "")
	u.does(exit.OK, "created", "create", "-f", file)
	app := u.Get("evil")
	app.Annotations = map[string]string{"note": text, "sparkoperator.dev/staged-files": text}
	app.Spec.MainClass, app.Spec.Arguments, app.Spec.SparkConf = new(text), []string{text},
		map[string]string{"spark.app.name": text, text: text}

	app.Spec.Driver.ServiceAccount = new("x; $(id)" + text)
	if err := u.API.Update(t.Context(), app); err != nil {
		t.Fatal(err)
	}

	app.Status.AppState = v1beta2.ApplicationState{State: v1beta2.ApplicationStateFailed, ErrorMessage: text}
	app.Status.SparkApplicationID, app.Status.DriverInfo.PodName = text, text

	app.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Bad",
		Message: text, LastTransitionTime: metav1.Now()}}
	if err := u.API.Status().Update(t.Context(), app); err != nil {
		t.Fatal(err)
	}

	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: u.Namespace, Name: "evil-driver",
			Annotations: map[string]string{"note": text}, Labels: map[string]string{
				lifecycle.AppUIDLabel: string(app.UID), lifecycle.AttemptLabel: "1",
				identity.RoleLabel: identity.RoleDriver,
			}},
		Spec: corev1.PodSpec{NodeName: node.node,
			Containers: []corev1.Container{{Name: "spark-kubernetes-driver", Image: "spark", Args: []string{text}}}},
	}
	u.Create(pod)
	node.logs("evil-driver", "first\tline\n\x1b[31mred\x1b[0m "+text+"\x9b1m\n"+strings.Repeat("x", 1<<20))

	for line := range strings.Lines(u.does(exit.OK, "first", "log", "evil").out) {
		if len(line) > 1<<17 {
			t.Errorf("a line has %d bytes: sparkctl would read a longer one into its memory, too", len(line))
		}
	}

	pod.Status.Phase = corev1.PodPending
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
		Reason: text, Message: text}}

	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name:  "spark-kubernetes-driver",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: text, Message: text}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1,
			Reason: text, Message: text}},
	}}
	if err := u.API.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}

	for i, uid := range []types.UID{app.UID, pod.UID} {
		u.Create(&corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: u.Namespace, Name: fmt.Sprint("event-", i)},
			InvolvedObject: corev1.ObjectReference{Kind: []string{"SparkApplication", "Pod"}[i], Namespace: u.Namespace,
				Name: "evil", UID: uid},
			Type: corev1.EventTypeWarning, Reason: text, Message: text, FirstTimestamp: metav1.Now(),
			LastTimestamp: metav1.Now(),
		})
	}
	// The output of the verb log has the colours of the log only on a terminal, and only with --raw.
	for width, want := range map[int]string{80: "\x1b[31mred\x1b[0m " + `a`, 0: `\x1b[31mred\x1b[0m a`} {
		got := runWith(t.Context(), terminal.Streams{In: strings.NewReader(""), Width: width}, "log", "evil", "--raw",
			"--kubeconfig", u.kubeconfig)
		if coloured := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(got.out, ""); !strings.Contains(got.out,
			want) || unprintable.First(coloured) != "" {
			t.Errorf("%d columns: %q", width, got.out)
		}
	}

	for _, test := range []struct {
		code exit.Code
		has  string
		args []string
	}{
		{exit.OK, "FAILED", []string{"list"}}, {exit.OK, `\u202e`, []string{"list", "-o", "wide"}},
		{exit.OK, `\u202e`, []string{"list", "-o", "json"}},
		{exit.OK, `\u202e`, []string{"list", "-o", "yaml"}},
		{exit.OK, `\u202e`, []string{"list", "-o", "custom-columns=ARGS:.spec.arguments,A:.spec.mainClass"}},
		{exit.OK, "evil", []string{"list", "-o", "name"}},
		{exit.OK, `\x1b`, []string{"list", "-o", "jsonpath={.items[*].status.applicationState.errorMessage}"}},
		{exit.OK, `\x1b`, []string{"status", "evil"}}, {exit.OK, `\x1b`, []string{"explain", "evil"}},
		{exit.OK, `\x1b`, []string{"events", "evil"}},
		{exit.OK, `\u202e`, []string{"status", "evil", "-o", "json"}},
		{exit.OK, `\u202e`, []string{"explain", "evil", "-o", "yaml"}},
		{exit.OK, `\u202e`, []string{"events", "evil", "-o", "yaml"}},
		{exit.OK, "first\tline\n\\x1b[31mred", []string{"log", "evil"}},
		{exit.OK, `\x9b1m`, []string{"log", "evil", "--tail", "5"}}, {exit.OK, `\x1b`, []string{"diff", "-f", file}},
		{exit.TimedOut, `\x1b`, []string{"wait", "evil", "--timeout", "1s"}},
		{exit.Cluster, "evil", []string{"top", "evil"}}, {exit.Cluster, "service account", []string{"doctor"}},
		{exit.Cluster, "", []string{"doctor", "-o", "json"}},
		{exit.Cluster, "", []string{"ui", "evil", "--no-browser"}},
		{exit.OK, "evil", []string{"__complete", "status", "e"}},
		{exit.OK, "", []string{"restart", "evil", "--yes"}}, {exit.OK, "", []string{"suspend", "evil", "--yes"}},
		{exit.OK, "deleted", []string{"delete", "evil", "--yes"}},
	} {
		if test.args[0] == "delete" || test.args[0] == "suspend" || test.args[0] == "restart" {
			if got := u.does(test.code, test.has, test.args...); unprintable.First(got.out+got.err) != "" {
				t.Errorf("%v: %q", test.args, got.out+got.err)
			}
			continue
		}

		args := append([]string{test.args[0]}, test.args[1:]...)
		if args[0] == "__complete" {
			args = append([]string{args[0], args[1], "--kubeconfig", u.kubeconfig}, args[2:]...)
		} else {
			args = append(args, "--kubeconfig", u.kubeconfig)
		}

		got := printable(t, "evil", args...)
		if got.code != test.code || !strings.Contains(got.out+got.err, test.has) {
			t.Errorf("%v: exit code %d, %s%s", test.args, got.code, got.out, got.err)
		}

		if strings.Contains(got.out+got.err, "fix: kubectl") && strings.Contains(got.out, "x; $(id)") &&
			!strings.Contains(got.out, `"x; $(id)`) {
			t.Errorf("%v: a command has a tenant's words:\n%s", test.args, got.out)
		}

		if strings.HasPrefix(got.out, "forged") || strings.Contains(got.out, "\nforged") && args[0] != "log" &&
			!strings.Contains(strings.Join(args, " "), "jsonpath") {
			t.Errorf("%v: a line is forged:\n%s", test.args, got.out)
		}
	}
}
