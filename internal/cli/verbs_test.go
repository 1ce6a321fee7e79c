package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/record/store"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// user runs the program like a user of a real cluster. Each user has a namespace, in which an operator runs
// applications.
type user struct {
	*scene.World
	t          *testing.T
	kubeconfig string
}

// newUser returns a user with the rights of an administrator, and writes the user's kubeconfig.
func newUser(t *testing.T, w *scene.World) *user {
	t.Helper()
	rc := kit.Rest(t)
	file := clientcmdapi.NewConfig()
	file.Clusters["test"] = &clientcmdapi.Cluster{Server: rc.Host, CertificateAuthority: rc.CAFile,
		CertificateAuthorityData: rc.CAData, InsecureSkipTLSVerify: rc.Insecure}
	file.AuthInfos["test"] = &clientcmdapi.AuthInfo{
		ClientCertificate: rc.CertFile, ClientCertificateData: rc.CertData, ClientKey: rc.KeyFile,
		ClientKeyData: rc.KeyData, Token: rc.BearerToken,
	}
	file.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test", Namespace: w.Namespace}
	file.CurrentContext = "test"

	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	return &user{World: w, t: t, kubeconfig: path}
}

// does runs a verb, and checks its exit code and that the output contains a text.
func (u *user) does(code exit.Code, has string, args ...string) result {
	u.t.Helper()
	return u.doesWith(u.t.Context(), terminal.Streams{In: strings.NewReader("")}, code, has, args...)
}

func (u *user) doesWith(ctx context.Context, streams terminal.Streams, code exit.Code, has string,
	args ...string) result {
	u.t.Helper()

	got := runWith(ctx, streams, append([]string{args[0], "--kubeconfig", u.kubeconfig}, args[1:]...)...)
	if got.code != code || !strings.Contains(got.out+got.err, has) {
		u.t.Errorf("sparkctl %s: exit code %d, want %d and %q\n%s%s", strings.Join(args, " "), got.code, code, has,
			got.out, got.err)
	}

	if got.code != exit.OK && got.code != exit.Interrupted && streams.Width == 0 &&
		strings.Count(got.err, "error: ") != 1 {
		u.t.Errorf("sparkctl %s: the error is not one line: %q", strings.Join(args, " "), got.err)
	}
	return got
}

// manifest writes a manifest of an application to a file and returns the path.
func (u *user) manifest(name, more string) string {
	u.t.Helper()

	text := "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {name: " + name +
		", labels: {team: data}}\n" +
		"spec:\n  type: Scala\n  sparkVersion: 4.1.4\n  image: docker.io/apache/spark:4.1.4\n  mainClass: org.apache.spark.examples.SparkPi\n" +
		"  mainApplicationFile: local:///opt/spark/examples/jars/spark-examples.jar\n  driver: {}\n  executor: {instances: 1}\n" + more

	path := filepath.Join(u.t.TempDir(), name+".yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		u.t.Fatal(err)
	}
	return path
}

// driver waits for the driver pod of an application, and then writes the pod's status as a kubelet would.
func (u *user) driver(name string, phase corev1.PodPhase, state corev1.ContainerState) {
	u.t.Helper()

	pod := &corev1.Pod{}
	kit.Wait(u.t, "the driver of "+name, func(ctx context.Context) error {
		if err := u.API.Get(ctx, client.ObjectKey{Namespace: u.Namespace, Name: name + "-driver"}, pod); err != nil {
			return err
		}

		pod.Status.Phase = phase
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, State: state,
			Ready: state.Running != nil}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.Now()}}
		return u.API.Status().Update(ctx, pod)
	})
}

func running() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
}

// TestVerbsOnACluster checks the verbs with a complete operator on a real API server, from the creation of applications
// to their deletion.
func TestVerbsOnACluster(t *testing.T) {
	withoutSpark(t)
	w := scene.New(t)
	runOperator(t, w)
	u := newUser(t, w)
	u.does(exit.OK, "nothing found", "list")
	pi := u.manifest("pi", "")
	u.does(exit.OK, "dry run", "create", "-f", pi, "--dry-run")
	u.does(exit.OK, "nothing found", "list")
	u.does(exit.OK, "pi created", "create", "-f", pi)
	u.does(exit.Cluster, "exists already", "create", "-f", pi)
	u.driver("pi", corev1.PodRunning, running())
	u.does(exit.OK, "RUNNING", "wait", "pi", "--for=running", "--timeout=1m")
	t.Run("lists", func(t *testing.T) { (&user{w, t, u.kubeconfig}).lists() })
	t.Run("shows", func(t *testing.T) { (&user{w, t, u.kubeconfig}).shows() })
	t.Run("wait", func(t *testing.T) { (&user{w, t, u.kubeconfig}).waits() })
	t.Run("submit", func(t *testing.T) { (&user{w, t, u.kubeconfig}).submits() })
	t.Run("schedules", func(t *testing.T) { (&user{w, t, u.kubeconfig}).schedules() })
	t.Run("log", func(t *testing.T) { (&user{w, t, u.kubeconfig}).logs() })
	t.Run("cut log", func(t *testing.T) { (&user{w, t, u.kubeconfig}).cutLog() })
	t.Run("cause", func(t *testing.T) { (&user{w, t, u.kubeconfig}).findsCause() })
	t.Run("detach", func(t *testing.T) { (&user{w, t, u.kubeconfig}).detaches() })
	t.Run("scale", func(t *testing.T) { (&user{w, t, u.kubeconfig}).scales() })
	t.Run("explain", func(t *testing.T) { (&user{w, t, u.kubeconfig}).explains() })
	t.Run("diff", func(t *testing.T) { (&user{w, t, u.kubeconfig}).diffs() })
	t.Run("errors", func(t *testing.T) { (&user{w, t, u.kubeconfig}).errors() })
	t.Run("plugin", func(t *testing.T) { (&user{w, t, u.kubeconfig}).plugs() })
	t.Run("delete", func(t *testing.T) { (&user{w, t, u.kubeconfig}).deletes() })
}

func (u *user) lists() {
	table := u.does(exit.OK, "RUNNING", "list")
	if !strings.HasPrefix(table.out, "NAMESPACE") || strings.Count(table.out, "\n") != 2 {
		u.t.Errorf("the table is\n%s", table.out)
	}

	narrow := u.doesWith(u.t.Context(), terminal.Streams{In: strings.NewReader(""), Width: 60}, exit.OK, "RUNNING",
		"list", "-o", "wide")
	for line := range strings.Lines(ownColours.ReplaceAllString(narrow.out, "")) {
		if len(strings.TrimSpace(line)) > 60 {
			u.t.Errorf("%q is too long for 60 columns", line)
		}
	}

	u.does(exit.OK, "sparkapplication.sparkoperator.k8s.io/pi", "list", "-A", "-o", "name", "-l", "team=data",
		"--state", "running", "--kind", "app,cluster")

	for _, filter := range [][]string{{"-l", "team=other"}, {"--state", "failed"}, {"--older", "1h"},
		{"--kind", "schedule"}} {
		u.does(exit.OK, "nothing found", append([]string{"list"}, filter...)...)
	}

	u.does(exit.OK, "pi", "list", "-o", "jsonpath={.items[*].metadata.name}")

	var list struct{ Items []v1beta2.SparkApplication }
	if err := json.Unmarshal([]byte(u.does(exit.OK, "", "list", "-o", "json").out), &list); err != nil ||
		len(list.Items) != 1 || list.Items[0].Kind != "SparkApplication" {
		u.t.Errorf("%d applications, %v", len(list.Items), err)
	}

	for _, order := range []string{"name", "age", "state", "duration", "start", "end"} {
		u.does(exit.OK, "RUNNING", "list", "--sort-by", order)
		u.does(exit.OK, "RUNNING", "list", "--sort", order)
		u.does(exit.Usage, order, "list", "--sort-by", "colour")
	}

	u.does(exit.Usage, "PENDING_RERUN, ", "list", "--state", "lost")

	utc := u.does(exit.OK, "Z   -\n", "list", "--utc").out
	if heads := strings.Fields(utc); !slices.Equal(heads[7:11], []string{"AGE", "DURATION", "START", "END"}) {
		u.t.Errorf("the columns are %q", heads)
	}

	u.does(exit.OK, "WHO   IMAGE                          NONE\npi    docker.io/apache/spark:4.1.4   <none>\n", "list",
		"-o", "custom-columns=WHO:.metadata.name,IMAGE:{.spec.image},NONE:spec.missing.field")
	u.does(exit.Usage, "apache-app", "list", "--kind", "job")
	u.does(exit.Usage, "-l", "list", "-l", "!!")
	u.does(exit.OK, "apiVersion: v1\nitems:\n- apiVersion: sparkoperator.k8s.io/v1beta2\n", "list", "-o", "yaml")
	u.does(exit.OK, "", "list", "-o", "jsonpath={.missing}")

	for _, output := range []string{"xml", "jsonpath=", "jsonpath={", "jsonpath={.items[7]}", "custom-columns=",
		"custom-columns=NAME", "custom-columns=NAME:{", "custom-columns=NAME:.a[7"} {
		format, _, _ := strings.Cut(output, "=")
		u.does(exit.Usage, "-o "+format, "list", "-o", output)
	}
}

func (u *user) shows() {
	shown := u.does(exit.OK, "RUNNING", "status", "pi")
	for _, want := range []string{"name:      " + u.Namespace + "/pi", "phases:", "Launched", "pi-driver",
		"conditions:", "Submitted", "requested:", "events:"} {
		if !strings.Contains(shown.out, want) {
			u.t.Errorf("the status lacks %q:\n%s", want, shown.out)
		}
	}

	var report screen.Report
	if err := json.Unmarshal([]byte(u.does(exit.OK, "", "status", "pi", "-o", "json").out), &report); err != nil ||
		report.State != "RUNNING" || report.Attempt != 1 || len(report.Pods) != 1 || len(report.History) == 0 {
		u.t.Errorf("status -o json: %v, %+v", err, report)
	}

	u.does(exit.OK, "result: running\n", "status", "pi", "-o", "yaml")
	u.does(exit.OK, "result: running\n", "explain", "pi", "-o", "yaml")
	u.does(exit.OK, "kind: EventList\n", "events", "pi", "-o", "yaml")

	for _, verb := range []string{"status", "explain", "events"} {
		u.does(exit.Usage, "json, yaml", verb, "pi", "-o", "xml")
	}

	narrow := u.doesWith(u.t.Context(), terminal.Streams{In: strings.NewReader(""), Width: 60}, exit.OK, "RUNNING",
		"status", "app/pi")
	for line := range strings.Lines(narrow.out) {
		if line = strings.TrimRight(line, "\n"); len(line) > 60 && len(strings.Fields(line)) > 2 {
			u.t.Errorf("%q is too long for 60 columns", line)
		}
	}

	kit.Wait(u.t, "an Event about pi", func(context.Context) error {
		if got := runWith(u.t.Context(), terminal.Streams{}, "events", "pi", "--kubeconfig",
			u.kubeconfig); !strings.Contains(got.out, "SparkApplicationSubmitted") {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})
	u.does(exit.Cluster, "executor 7", "log", "pi", "--executor", "7")

	why := u.does(exit.OK, "is RUNNING", "explain", "pi")
	if !strings.Contains(why.out, "next:") {
		u.t.Errorf("the explanation is\n%s", why.out)
	}
}

// waits checks the verb wait with an application that succeeds and an application that fails.
func (u *user) waits() {
	ctx, interrupt := context.WithCancel(u.t.Context())
	interrupt()
	u.doesWith(ctx, terminal.Streams{In: strings.NewReader("")}, exit.Interrupted, "interrupted", "wait", "pi")
	u.does(exit.TimedOut, "within 10ms", "wait", "pi", "--timeout=10ms")
	u.does(exit.OK, "does not exist any more", "wait", "gone", "--for=deleted")
	u.does(exit.OK, "does not exist any more", "wait", "app/gone", "--for=deleted")
	u.does(exit.Usage, "succeeded", "wait", "pi", "--for=lunch")
	u.driver("pi", corev1.PodSucceeded, scene.Exited(0, ""))
	u.does(exit.OK, "COMPLETED", "wait", "pi")
	u.does(exit.OK, "sparkctl restart app/pi -n "+u.Namespace, "explain", "pi")

	ended := make(chan result, 1)
	go func() {
		ended <- runWith(u.t.Context(), terminal.Streams{}, "create", "--kubeconfig", u.kubeconfig, "-f",
			u.manifest("unlucky", ""), "--wait")
	}()

	u.driver("unlucky", corev1.PodFailed, scene.Exited(3, "out of luck"))

	if got := <-ended; got.code != exit.Failed || !strings.Contains(got.err, "out of luck") {
		u.t.Errorf("an application that fails: %+v", got)
	}

	u.does(exit.Failed, "out of luck", "wait", "unlucky", "--for=running")
	u.waitsForItsOwn()
}

// waitsForItsOwn checks that waits and followed logs do not take another object of the same name for their own.
func (u *user) waitsForItsOwn() {
	c, err := kube.New(kit.Rest(u.t), u.Namespace)
	if err != nil {
		u.t.Fatal(err)
	}

	earlier := u.Get("unlucky")
	earlier.UID = "earlier"

	if err := c.Wait(u.t.Context(), earlier, kube.GoalDeleted, nil); err != nil {
		u.t.Errorf("the wait for its deletion: %v", err)
	}

	for name, err := range map[string]error{
		"wait": c.Wait(u.t.Context(), earlier, kube.GoalEnded, nil),
		"log":  c.Logs(u.t.Context(), earlier, kube.LogOptions{Follow: true, Tail: -1}, io.Discard),
		"logs": c.Logs(u.t.Context(), earlier, kube.LogOptions{Follow: true, Tail: -1, Executor: kube.AllExecutors}, io.Discard),
	} {
		if err == nil || !strings.Contains(err.Error(), "unlucky was deleted") {
			u.t.Errorf("%s: %v", name, err)
		}
	}
}

func (u *user) submits() {
	args := []string{"submit", "--deploy-mode", "cluster", "--name", "job", "--class", "X", image, "--object-name",
		"job", "local:///x.jar", "--wait"}
	u.does(exit.OK, "job created", args...)

	if app := u.Get("job"); app.Spec.Arguments[0] != "--wait" || app.Spec.SparkVersion != "4.1.4" {
		u.t.Errorf("the application is %+v", app.Spec)
	}

	u.does(exit.OK, "/any-", "submit", "--deploy-mode", "cluster", "--name", "any", "--class", "X", image,
		"local:///x.jar")
	u.does(exit.OK, "job suspended", "suspend", "job")
	kit.Wait(u.t, "the suspension of job", func(context.Context) error {
		if state := u.Get("job").Status.AppState.State; state != v1beta2.ApplicationStateSuspended {
			return fmt.Errorf("it is %q", state)
		}
		return nil
	})
	u.does(exit.OK, "job", "list", "--state", "suspended", "-o", "name")
	u.does(exit.TimedOut, "sparkctl resume app/job -n "+u.Namespace, "wait", "job", "--timeout=1s")
	u.does(exit.OK, "job resumed", "resume", "job")
	kit.Wait(u.t, "job to run again", func(context.Context) error {
		if state := u.Get("job").Status.AppState.State; state != v1beta2.ApplicationStateSubmitted {
			return fmt.Errorf("it is %q", state)
		}
		return nil
	})
}

func (u *user) schedules() {
	s := u.Schedule("nightly", scene.Seldom)
	u.does(exit.OK, "a run is requested", "trigger", "nightly")
	kit.Wait(u.t, "a run of nightly", func(context.Context) error {
		if runs := u.RunsOf(s); len(runs) != 1 {
			return fmt.Errorf("its runs are %v", runs)
		}
		return nil
	})
	u.does(exit.Usage, "is not a schedule", "trigger", "pi")
	u.does(exit.OK, "nightly", "status", "schedule/nightly")
	u.does(exit.OK, "nightly suspended", "suspend", "schedule/nightly")
	u.does(exit.OK, "nightly resumed", "resume", "schedule/nightly")
}

// logs checks that the verb log follows an application whose first attempt fails and whose second attempt succeeds.
func (u *user) logs() {
	node := startKubelet(u.t, "node-"+u.Namespace)
	u.does(exit.OK, "again created", "create", "-f",
		u.manifest("again", "  restartPolicy: {type: OnFailure, onFailureRetries: 1, onFailureRetryInterval: 1}\n"))
	u.onNode(node, "again-driver", "")
	node.logs("again-driver", "first\nwithout an end")
	u.driver("again", corev1.PodRunning, running())

	followed := make(chan result, 1)
	go func() {
		followed <- runWith(u.t.Context(), terminal.Streams{}, "log", "again", "-f", "--kubeconfig", u.kubeconfig)
	}()

	kit.Wait(u.t, "the log to be followed", func(context.Context) error {
		if !node.asked("follow=true") {
			return fmt.Errorf("the requests are %v", node.Queries())
		}
		return nil
	})

	first := &corev1.Pod{}
	if err := u.API.Get(u.t.Context(), client.ObjectKey{Namespace: u.Namespace, Name: "again-driver"},
		first); err != nil {
		u.t.Fatal(err)
	}

	node.logs("again-driver", "second\n")
	u.driver("again", corev1.PodFailed, scene.Exited(1, "bad luck"))
	u.onNode(node, "again-driver", string(first.UID))
	u.driver("again", corev1.PodRunning, running())
	u.does(exit.OK, "second", "log", "again", "--tail", "5", "--since", "10s", "-p")

	for _, option := range []string{"spark-kubernetes-driver?", "tailLines=5", "sinceSeconds=10", "previous=true"} {
		if !node.asked(option) {
			u.t.Errorf("the requests lack %s: %v", option, node.Queries())
		}
	}

	u.executor(node, u.Get("again"))
	u.does(exit.OK, "[again-exec-1] I am one", "log", "again", "--executor", "all")
	u.does(exit.OK, "I am one", "log", "again", "--executor", "1")
	u.does(exit.Cluster, "of attempt 7", "log", "again", "--attempt", "7")
	u.driver("again", corev1.PodSucceeded, scene.Exited(0, ""))

	if got := <-followed; got.code != exit.OK || got.out != "first\nwithout an end\nsecond\n" {
		u.t.Errorf("the log of both attempts: %+v", got)
	}

	// The node has removed the container, as after an eviction.
	node.logs("again-driver", "unable to retrieve container logs for containerd://0123abc")
	u.does(exit.Cluster, "the log of pod again-driver cannot be read", "log", "again")

	u.keptExecutor(node, "again")
	u.keptLogs("again")
}

// cutLog checks that a followed log continues when its stream ends within a line while the driver runs, as when a load
// balancer closes the connection, and when the node is away for some seconds.
func (u *user) cutLog() {
	node := startKubelet(u.t, "cut-"+u.Namespace)
	u.does(exit.OK, "cut created", "create", "-f", u.manifest("cut", ""))
	u.onNode(node, "cut-driver", "")
	u.driver("cut", corev1.PodRunning, running())

	var streams atomic.Int32

	node.Serve("cut-driver", func(w http.ResponseWriter, r *http.Request) {
		text := "2026-01-02T03:04:05.1Z one\n2026-01-02T03:04:06.1Z tw"
		switch streams.Add(1) {
		case 1:
		case 2:
			w.WriteHeader(http.StatusBadGateway)
			return
		case 3:
			if got := r.URL.Query().Get("sinceTime"); got != "2026-01-02T03:04:04Z" {
				u.t.Errorf("the third stream begins at %q", got)
			}

			fallthrough
		default:
			text += "o\n2026-01-02T03:04:07.1Z three\n"
		}

		_, _ = io.WriteString(w, text)
	})

	s := u.begin("log", "cut", "-f")
	for _, line := range []string{"one", "two", "three"} {
		if got := s.until(""); got != line {
			u.t.Errorf("the line %q, want %q", got, line)
		}
	}

	u.driver("cut", corev1.PodSucceeded, scene.Exited(0, ""))

	for s.lines.Scan() {
		if text := s.lines.Text(); !strings.HasPrefix(text, "SparkApplication ") { // a state on the way to its end
			u.t.Errorf("after the end: %q", text)
		}
	}

	if code := <-s.ended; code != exit.OK {
		u.t.Errorf("exit code %d", code)
	}
}

// keptExecutor checks that the verb log prints the kept log of an executor whose pod exists without a log, as after an
// eviction.
func (u *user) keptExecutor(node *kubelet, name string) {
	pod := name + "-exec-1"
	node.logs(pod, "unable to retrieve container logs for containerd://0456def")
	u.does(exit.OK, "["+pod+"] the log of pod "+pod+" cannot be read", "log", name, "--executor", "all")

	executor := &corev1.Pod{}
	if err := u.API.Get(u.t.Context(), client.ObjectKey{Namespace: u.Namespace, Name: pod}, executor); err != nil {
		u.t.Fatal(err)
	}

	file := store.File{Name: store.ExecutorFile("1"), Pod: pod, PodUID: executor.UID, Executor: "1", Bytes: 99, Kept: 99}
	u.keep(name, 2, "I was one\n", file)

	if got := u.does(exit.OK, "I was one", "log", name, "--executor", "all"); got.out != "["+pod+"] I was one\n" {
		u.t.Errorf("the log of all executors is %q", got.out)
	}
}

// keep keeps a log of an attempt in the ConfigMap of an application.
func (u *user) keep(name string, attempt int32, text string, file store.File) {
	var content bytes.Buffer

	compress := gzip.NewWriter(&content)
	if _, err := compress.Write([]byte(text)); err != nil || compress.Close() != nil {
		u.t.Fatal(err)
	}

	app := u.Get(name)
	index := &store.Index{Attempt: store.Attempt{APIVersion: v1beta2.SchemeGroupVersion.String(), Kind: "SparkApplication", Namespace: app.Namespace,
		Name: app.Name, UID: app.UID, Number: attempt}}
	index.Set(file)

	places := store.ConfigMaps{Reader: u.API, Writer: u.API}
	if err := places.Save(u.t.Context(), index, map[string][]byte{file.Name: content.Bytes()}); err != nil {
		u.t.Fatal(err)
	}
}

// keptLogs checks that the verb log prints logs from the ConfigMap of an application whose pods are gone, and that a
// ConfigMap of somebody else is not read.
func (u *user) keptLogs(name string) {
	u.does(exit.OK, "COMPLETED", "wait", name)

	app := u.Get(name)
	if err := u.API.DeleteAllOf(u.t.Context(), &corev1.Pod{}, client.InNamespace(u.Namespace), client.MatchingLabels{lifecycle.AppUIDLabel: string(app.UID)},
		client.GracePeriodSeconds(0)); err != nil {
		u.t.Fatal(err)
	}

	u.does(exit.Cluster, "its log was deleted with it", "log", name)

	driver := store.File{Name: store.DriverFile, Pod: name + "-driver", Bytes: 99, Kept: 99}
	u.keep(name, 1, "first\n", driver)
	u.keep(name, 2, "second\n\x1b[31mred\n", driver)

	for _, args := range [][]string{{"log", name}, {"log", name, "-f"}, {"log", name, "--attempt", "2"}} {
		if got := u.does(exit.OK, "second\n", args...); got.out != "second\n"+`\x1b[31mred`+"\n" {
			u.t.Errorf("%v prints %q", args, got.out)
		}
	}

	u.does(exit.OK, "first\n", "log", name, "-p")
	u.does(exit.OK, "first\n", "log", name, "--attempt", "1")
	u.does(exit.Cluster, "there are logs of the attempts 1 2", "log", name, "--attempt", "3")
	u.does(exit.Cluster, "executor 1", "log", name, "--executor", "1")

	stolen := &corev1.ConfigMap{}
	if err := u.API.Get(u.t.Context(), client.ObjectKey{Namespace: app.Namespace, Name: store.ConfigMapName(store.Attempt{Name: app.Name, UID: app.UID})}, stolen); err != nil {
		u.t.Fatal(err)
	}

	// The other owner exists, because the garbage collector would delete the ConfigMap of an owner that does not.
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: name + "-other"}}
	u.Create(other)

	owners := stolen.OwnerReferences

	stolen.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: other.Name, UID: other.UID}}
	if err := u.API.Update(u.t.Context(), stolen); err != nil {
		u.t.Fatal(err)
	}

	u.does(exit.Cluster, "has no driver pod of attempt 2", "log", name, "--attempt", "2")

	stolen.OwnerReferences = owners
	if err := u.API.Update(u.t.Context(), stolen); err != nil {
		u.t.Fatal(err)
	}

	u.does(exit.OK, "a restart is requested", "restart", name, "--yes")
	u.attempt(name, 3)
	u.does(exit.OK, "second\n", "log", name, "--attempt", "2") // while the next attempt waits for a node
}

// detaches checks that verbs print the states of an object while they wait for its log. The states show users why there
// is no log, for example because an image is missing. It also checks that the text after Ctrl-C says how to come back.
func (u *user) detaches() {
	for _, args := range [][]string{{"create", "-f", u.manifest("slow", ""), "--wait", "--log"}, {"log", "slow", "-f"},
		{"wait", "slow"}} {
		s := u.begin(args...)
		s.until("SparkApplication " + u.Namespace + "/slow: SUBMITTED")
		s.interrupt()

		goal := "ended"
		if args[0] == "wait" {
			goal = "succeeded"
		}

		s.until("to come back: sparkctl wait app/slow -n " + u.Namespace + " --for=" + goal +
			", or sparkctl log app/slow -n " + u.Namespace + " -f")
		s.stop()
	}

	u.does(exit.OK, "SUBMITTED", "status", "slow")
}

// onNode waits until a new pod with the given name exists, and then binds the pod to a node. The parameter notUID is
// the UID of the old pod with the same name, or "" if there was none.
func (u *user) onNode(node *kubelet, name, notUID string) {
	u.t.Helper()

	pod := &corev1.Pod{}
	kit.Wait(u.t, "another pod "+name, func(ctx context.Context) error {
		err := u.API.Get(ctx, client.ObjectKey{Namespace: u.Namespace, Name: name}, pod)
		if err == nil && string(pod.UID) == notUID {
			return fmt.Errorf("it is the same")
		}
		return err
	})
	u.Bind(pod, node.node)
}

// executor creates a running executor of an application, as the driver would.
func (u *user) executor(node *kubelet, app *v1beta2.SparkApplication) {
	u.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: u.Namespace, Name: app.Name + "-exec-1", Labels: map[string]string{
			"sparkoperator.dev/app-uid": string(app.UID), "sparkoperator.dev/attempt": "2", "spark-role": "executor",
			"spark-exec-id": "1",
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "spark-kubernetes-executor", Image: "x"}}},
	}
	u.Create(pod)
	u.Bind(pod, node.node)
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, State: running()}}
	kit.Wait(u.t, "the executor's status", func(ctx context.Context) error {
		fresh := &corev1.Pod{}
		if err := u.API.Get(ctx, client.ObjectKeyFromObject(pod), fresh); err != nil {
			return err
		}

		fresh.Status = pod.Status
		return u.API.Status().Update(ctx, fresh)
	})
	node.logs(pod.Name, "I am one\n")
}

// example writes an example manifest for the user's namespace to a file and returns the path.
func (u *user) example(name string) string {
	u.t.Helper()

	text, err := os.ReadFile("../../examples/" + name + ".yaml")
	if err != nil {
		u.t.Fatal(err)
	}

	path := filepath.Join(u.t.TempDir(), name+".yaml")
	if err := os.WriteFile(path,
		[]byte(strings.ReplaceAll(string(text), "namespace: default", "namespace: "+u.Namespace)), 0o600); err != nil {
		u.t.Fatal(err)
	}
	return path
}

func (u *user) scales() {
	for _, name := range []string{"apache-cluster", "apache-cluster-hpa", "spark-connect"} {
		u.does(exit.OK, name+" created", "create", "-f", u.example(name))
	}

	u.does(exit.OK, "scaled to 3", "scale", "apache-cluster", "--replicas", "3")
	u.does(exit.OK, "scaled to 4", "scale", "connect/spark-connect", "--replicas", "4")
	u.does(exit.Usage, "minWorkers", "scale", "apache-cluster-hpa", "--replicas", "3")
	u.does(exit.Usage, "dynamic allocation", "scale", "pi", "--replicas", "3")
	u.does(exit.Usage, "--replicas", "scale", "pi")

	cluster, server := &sparkv1.SparkCluster{}, &v1alpha1.SparkConnect{}
	for name, object := range map[string]client.Object{"apache-cluster": cluster, "spark-connect": server} {
		if err := u.API.Get(u.t.Context(), client.ObjectKey{Namespace: u.Namespace, Name: name}, object); err != nil {
			u.t.Fatal(err)
		}
	}

	if n, m := cluster.Spec.ClusterTolerations.InstanceConfig.InitWorkers, *server.Spec.Executor.Instances; n != 3 ||
		m != 4 {
		u.t.Errorf("%d workers and %d executors are wanted", n, m)
	}

	kinds := u.does(exit.OK, "apache-cluster-hpa", "list", "--kind", "cluster,connect", "-o", "name")
	if strings.Count(kinds.out, "\n") != 3 {
		u.t.Errorf("the list is\n%s", kinds.out)
	}

	u.does(exit.OK, "apache-cluster suspended", "suspend", "apache-cluster", "--yes")
	u.does(exit.OK, "apache-cluster resumed", "resume", "apache-cluster")
	u.does(exit.OK, "SparkCluster", "status", "apache-cluster")
	u.does(exit.OK, "next:", "explain", "apache-cluster")
}

// explains checks the verb explain with an application whose driver pod cannot be scheduled, and with an application
// that has ended.
func (u *user) explains() {
	u.does(exit.OK, "stuck created", "create", "-f", u.manifest("stuck", ""))

	pod := &corev1.Pod{}
	kit.Wait(u.t, "the driver of stuck", func(ctx context.Context) error {
		if err := u.API.Get(ctx, client.ObjectKey{Namespace: u.Namespace, Name: "stuck-driver"}, pod); err != nil {
			return err
		}

		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
			Message:            "0/3 nodes are available: 3 Insufficient memory.",
			LastTransitionTime: metav1.Now(),
		}}
		return u.API.Status().Update(ctx, pod)
	})

	why := u.does(exit.OK, "Insufficient memory", "explain", "stuck")
	for _, want := range []string{"state:", "pod:    stuck-driver: Unschedulable", "do:     request less",
		"next:   the operator waits"} {
		if !strings.Contains(why.out, want) {
			u.t.Errorf("the explanation lacks %q:\n%s", want, why.out)
		}
	}

	narrow := u.doesWith(u.t.Context(), terminal.Streams{In: strings.NewReader(""), Width: 60}, exit.OK, "Insufficient",
		"explain", "stuck")
	for line := range strings.Lines(narrow.out) {
		if len(strings.TrimRight(line, "\n")) > 60 {
			u.t.Errorf("%q is too long for 60 columns", line)
		}
	}

	u.does(exit.OK, "nothing: it has ended", "explain", "unlucky")
	u.follows()
	u.does(exit.OK, "the next run starts at", "explain", "nightly")
}

// follows checks that status --watch shows the states of an application until its end, whatever the end is: on a
// terminal on the same screen, and otherwise line by line.
func (u *user) follows() {
	u.does(exit.OK, "doomed created", "create", "-f", u.manifest("doomed", ""))

	ends := make(chan result, 2)
	for _, width := range []int{0, 100} {
		go func() {
			streams := terminal.Streams{In: strings.NewReader(""), Width: width, Height: 30}
			ends <- runWith(u.t.Context(), streams, "status", "doomed", "--watch", "--kubeconfig", u.kubeconfig)
		}()
	}

	u.driver("doomed", corev1.PodRunning, running())
	u.does(exit.OK, "RUNNING", "wait", "doomed", "--for=running")
	u.driver("doomed", corev1.PodFailed, scene.Exited(3, "out of luck"))

	for range 2 {
		got := <-ends

		lines := strings.HasPrefix(got.out, "SparkApplication ")
		if got.code != exit.OK || !strings.Contains(got.out, "FAILED") ||
			strings.Contains(got.out, "\x1b[H") == lines || strings.Contains(got.out, "\x1b[K") == lines {
			u.t.Errorf("status --watch: exit code %d, %q, %s", got.code, got.out, got.err)
		}
	}
}

// diffs checks the verb diff with manifests of a running application, of an ended application, and of objects of other
// kinds.
func (u *user) diffs() {
	u.does(exit.OK, "live created", "create", "-f", u.manifest("live", ""))
	u.driver("live", corev1.PodRunning, running())
	u.does(exit.OK, "RUNNING", "wait", "live", "--for=running")
	u.does(exit.OK, "does not exist; kubectl apply would create it", "diff", "-f", u.manifest("new", ""))
	u.does(exit.OK, "no change", "diff", "-f", u.manifest("live", ""))

	more := u.does(exit.OK, "spec.sparkConf[spark.a]: (absent) -> \"b\"", "diff", "-f",
		u.manifest("live", "  sparkConf: {spark.a: b}\n"))
	if !strings.Contains(more.out, "restarts") {
		u.t.Errorf("the diff is\n%s", more.out)
	}

	quiet := u.does(exit.OK, "spec.timeToLiveSeconds: (absent) -> 100000", "diff", "-f",
		u.manifest("live", "  timeToLiveSeconds: 100000\n"))
	if !strings.Contains(quiet.out, "nothing that runs changes") {
		u.t.Errorf("the diff is\n%s", quiet.out)
	}

	u.does(exit.OK, "starts it again", "diff", "-f", u.manifest("unlucky", "  arguments: [x]\n"))
	u.does(exit.OK, "StatefulSet apache-cluster-worker", "diff", "-f", u.example("apache-cluster"))
}

// errors checks the messages for errors of the cluster: each message is one line that says what to do.
func (u *user) errors() {
	u.does(exit.Cluster, "did you mean pi", "status", "pie")
	u.does(exit.Cluster, "pi -n "+u.Namespace, "status", "pi", "-n", "default")
	u.does(exit.Cluster, "sparkctl list -A", "status", "nothing-like-any-other-name")
	u.does(exit.Usage, "the kinds are", "status", "job/pi")
	account := "system:serviceaccount:" + u.Namespace + ":powerless"
	u.does(exit.Cluster, "you are not allowed to list sparkapplications.sparkoperator.k8s.io in namespace "+u.Namespace,
		"list", "--as", account)
	u.does(exit.Cluster, "you are not allowed to create sparkapplications.sparkoperator.k8s.io", "create", "-f",
		u.manifest("forbidden", ""), "--as", account)
	// Below a path that it does not serve, the API server answers as for a missing definition.
	elsewhere := kit.Rest(u.t).Host + "/elsewhere"
	u.does(exit.Cluster, "no CustomResourceDefinition of sparkapplications.sparkoperator.k8s.io", "list", "--server",
		elsewhere)
	u.does(exit.Cluster, "no CustomResourceDefinition of sparkclusters.spark.apache.org", "status", "cluster/x",
		"--server", elsewhere)
	u.does(exit.Cluster, "no CustomResourceDefinition of sparkapplications.sparkoperator.k8s.io", "create", "-f",
		u.manifest("early", ""), "--server", elsewhere)
	u.does(exit.Cluster, "cannot be reached", "list", "--server", "http://127.0.0.1:1")
	u.does(exit.Cluster, "kubectl config get-contexts", "list", "--context", "nowhere")
	u.does(exit.Cluster, "kubectl create namespace nowhere", "create", "-n", "nowhere", "-f", u.manifest("lost", ""))
	u.does(exit.Usage, "names the namespace", "create", "-f", u.example("spark-pi"), "-n", "elsewhere")
	u.does(exit.Invalid, "spec.sparkConf[spark.master]", "create", "-f",
		u.manifest("bad", "  sparkConf: {spark.master: x}\n"))
	u.does(exit.Invalid, "coolness", "create", "-f", u.manifest("refused", "  pythonVersion: coolness\n"))

	if err := u.API.Get(u.t.Context(), client.ObjectKey{Namespace: u.Namespace, Name: "bad"},
		&v1beta2.SparkApplication{}); !apierrors.IsNotFound(err) {
		u.t.Errorf("an invalid application was created: %v", err)
	}

	empty := filepath.Join(u.t.TempDir(), "none")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		u.t.Fatal(err)
	}

	if got := run(u.t, "list", "--kubeconfig", empty); got.code != exit.Cluster ||
		!strings.Contains(got.err, "no cluster is configured") {
		u.t.Errorf("without a cluster: %+v", got)
	}
}

func (u *user) deletes() {
	asked := terminal.Streams{In: strings.NewReader("n\n"), Interactive: true}
	u.doesWith(u.t.Context(), asked, exit.Usage, "nothing was changed", "delete", "pi")
	u.interruptsPrompts()
	u.does(exit.Usage, "-l", "delete")
	u.does(exit.Cluster, "has the labels team=other", "delete", "-l", "team=other")

	asked.In = strings.NewReader("y\n")
	u.doesWith(u.t.Context(), asked, exit.OK, "pi deleted", "delete", "pi", "--wait")
	u.does(exit.OK, "unlucky deleted", "delete", "-l", "team=data")
	u.does(exit.Cluster, `no SparkApplication named "pi"`, "status", "app/pi")
}

// interruptsPrompts checks that Ctrl-C at the prompt of each verb that has one ends the verb at once, and that nothing
// was changed.
func (u *user) interruptsPrompts() {
	before := u.Get("pi").ResourceVersion
	for _, args := range [][]string{{"delete", "pi"}, {"restart", "pi"}, {"suspend", "pi"},
		{"scale", "connect/spark-connect", "--replicas", "2"}} {
		ctx, interrupt := context.WithCancel(u.t.Context())
		in, typed := io.Pipe() // nobody types an answer

		asked := terminal.Streams{In: in, Out: io.Discard, Err: &promptWriter{interrupt}, Interactive: true}
		if code := Main(ctx, append([]string{"sparkctl", args[0], "--kubeconfig", u.kubeconfig}, args[1:]...),
			asked); code != exit.Interrupted {
			u.t.Errorf("%v: exit code %d after Ctrl-C", args, code)
		}

		_ = typed.Close() // never fails

		interrupt()
	}

	if after := u.Get("pi").ResourceVersion; after != before {
		u.t.Errorf("pi was changed: %s, %s", before, after)
	}
}

// promptWriter interrupts the program when it prints a prompt.
type promptWriter struct{ interrupt context.CancelFunc }

func (w *promptWriter) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "[y/N]") {
		w.interrupt()
	}
	return len(p), nil
}
