package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/doctor/findings"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// TestOperationsOnACluster checks the verbs restart, list --watch, ui, connect, top, doctor and version with a complete
// operator on a real API server.
func TestOperationsOnACluster(t *testing.T) {
	w := scene.New(t)
	runOperator(t, w)

	u := newUser(t, w)
	for _, part := range []struct {
		name string
		run  func(*user)
	}{
		{"restart", (*user).restarts}, {"restart of other kinds", (*user).restartsOthers}, {"watch", (*user).watches},
		{"ui", (*user).opensUI},
		{"connect", (*user).connects}, {"top", (*user).tops}, {"doctor", (*user).examines},
		{"version", (*user).versions}, {"names", (*user).completes},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(&user{w, t, u.kubeconfig}) })
	}
}

// session is a run of the program that has not ended.
type session struct {
	t         *testing.T
	lines     *bufio.Scanner
	interrupt context.CancelFunc
	ended     chan exit.Code
}

// begin starts a verb whose output is read line by line.
func (u *user) begin(args ...string) *session {
	u.t.Helper()
	ctx, interrupt := context.WithCancel(u.t.Context())
	reader, writer := io.Pipe()

	s := &session{t: u.t, lines: bufio.NewScanner(reader), interrupt: interrupt, ended: make(chan exit.Code, 1)}
	go func() {
		streams := terminal.Streams{In: strings.NewReader(""), Out: writer, Err: writer}
		code := Main(ctx, append([]string{"sparkctl", args[0], "--kubeconfig", u.kubeconfig}, args[1:]...), streams)
		_ = writer.Close() // never fails
		s.ended <- code
	}()

	u.t.Cleanup(interrupt)
	return s
}

// until reads lines of the output until a line contains the given text, and returns this line.
func (s *session) until(has string) string {
	s.t.Helper()

	var all []string
	for s.lines.Scan() {
		if strings.Contains(s.lines.Text(), has) {
			return s.lines.Text()
		}

		all = append(all, s.lines.Text())
	}

	s.t.Fatalf("no line has %q:\n%s", has, strings.Join(all, "\n"))
	return ""
}

// stop interrupts the program and checks its exit code.
func (s *session) stop() {
	s.t.Helper()
	s.interrupt()

	for s.lines.Scan() { // the program must be able to write
	}

	if code := <-s.ended; code != exit.Interrupted {
		s.t.Errorf("exit code %d after Ctrl-C", code)
	}
}

// attempt waits until the driver of an attempt exists.
func (u *user) attempt(name string, want int32) {
	u.t.Helper()
	kit.Wait(u.t, fmt.Sprintf("attempt %d of %s", want, name), func(ctx context.Context) error {
		pod := &corev1.Pod{}
		if err := u.API.Get(ctx, client.ObjectKey{Namespace: u.Namespace, Name: name + "-driver"}, pod); err != nil {
			return err
		}

		if got := pod.Labels[lifecycle.AttemptLabel]; got != fmt.Sprint(want) || pod.DeletionTimestamp != nil {
			return fmt.Errorf("the driver is of attempt %s", got)
		}
		return nil
	})
}

func (u *user) restarts() {
	u.does(exit.OK, "tau created", "create", "-f", u.manifest("tau", ""))
	u.driver("tau", corev1.PodRunning, running())
	u.does(exit.OK, "RUNNING", "wait", "tau", "--for=running", "--timeout=1m")

	declined := terminal.Streams{In: strings.NewReader("n\n"), Interactive: true}
	u.doesWith(u.t.Context(), declined, exit.Usage, "nothing was changed", "restart", "tau")
	u.does(exit.OK, "tau: a restart is requested", "restart", "-l", "team=data")
	u.attempt("tau", 2)
	u.driver("tau", corev1.PodRunning, running())
	u.driver("tau", corev1.PodSucceeded, scene.Exited(0, ""))
	u.does(exit.OK, "COMPLETED", "wait", "tau")
	again := u.begin("restart", "tau", "--yes", "--wait")
	again.until("a restart is requested")
	u.attempt("tau", 3)
	u.driver("tau", corev1.PodSucceeded, scene.Exited(0, ""))
	again.until("COMPLETED")

	for again.lines.Scan() { // the program must be able to write
	}

	if code := <-again.ended; code != exit.OK {
		u.t.Errorf("restart --wait: exit code %d", code)
	}

	if app := u.Get("tau"); app.Status.Operator.RestartRequest != lifecycle.RestartRequest(app.Annotations) ||
		app.Status.Operator.Attempt != 3 {
		u.t.Errorf("the operator remembers %+v", app.Status.Operator)
	}

	kit.Wait(u.t, "an Event about the restart", func(context.Context) error {
		if got := runWith(u.t.Context(), terminal.Streams{}, "events", "tau", "--kubeconfig",
			u.kubeconfig); !strings.Contains(got.out, "SparkApplicationRestartRequested") {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})
	u.does(exit.OK, "tau suspended", "suspend", "tau")
	u.does(exit.OK, "a restart is requested", "restart", "tau")
	kit.Wait(u.t, "the suspension of tau", func(context.Context) error {
		if state := u.Get("tau").Status.AppState.State; state != v1beta2.ApplicationStateSuspended {
			return fmt.Errorf("it is %q", state)
		}
		return nil
	})
	u.does(exit.OK, "it is suspended, and runs when it is resumed", "restart", "tau", "--wait")
	u.Schedule("nightly", scene.Seldom)
	u.does(exit.Usage, "sparkctl trigger schedule/nightly -n "+u.Namespace, "restart", "nightly")
	u.does(exit.Usage, "-l", "restart")
	u.does(exit.Cluster, "did you mean tau?", "restart", "tauu")
	u.does(exit.Cluster, "cannot be reached", "restart", "tau", "--server", "http://127.0.0.1:1")
	u.does(exit.Cluster, "no CustomResourceDefinition of sparkapplications.sparkoperator.k8s.io", "restart", "app/tau",
		"--server", kit.Rest(u.t).Host+"/elsewhere")
	u.reader("reader")
	u.does(exit.Cluster, "you are not allowed to patch sparkapplications.sparkoperator.k8s.io in namespace "+
		u.Namespace,
		"restart", "app/tau", "--as", "system:serviceaccount:"+u.Namespace+":reader")
}

// reader gives a service account the right to read applications and pods, and no other rights.
func (u *user) reader(name string) {
	u.t.Helper()
	meta := metav1.ObjectMeta{Namespace: u.Namespace, Name: name}
	u.Create(&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1beta2.SchemeGroupVersion.Group}, Resources: []string{"*"},
			Verbs: []string{"get", "list"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list"}},
	}})
	u.Create(&rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: u.Namespace, Name: name}},
	})
	kit.Wait(u.t, "the rights of "+name, func(ctx context.Context) error {
		args := []string{"list", "--kubeconfig", u.kubeconfig, "--as",
			"system:serviceaccount:" + u.Namespace + ":" + name}
		if got := runWith(ctx, terminal.Streams{}, args...); got.code != exit.OK {
			return errors.New(got.err)
		}
		return nil
	})
}

// restartsOthers checks restarts of a Connect server, a cluster and an application of spark.apache.org.
func (u *user) restartsOthers() {
	for _, name := range []string{"spark-operator-spark", "spark"} {
		u.Create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: u.Namespace, Name: name}})
	}

	names := []string{"connect/spark-connect", "cluster/apache-cluster", "apache-app/apache-pi"}

	for _, name := range []string{"spark-connect", "apache-cluster", "apache-pi"} {
		u.does(exit.OK, "created", "create", "-f", u.example(name))
	}

	server, cluster, app := &v1alpha1.SparkConnect{}, &sparkv1.SparkCluster{}, &sparkv1.SparkApplication{}
	done := map[string]func() (client.Object, string, bool){
		names[0]: func() (client.Object, string, bool) {
			o := server.Status.Operator
			return server, requestOf(o != nil, func() string { return o.RestartRequest }), o != nil && o.Attempt > 1
		},
		names[1]: func() (client.Object, string, bool) {
			o := cluster.Status.Operator
			return cluster, requestOf(o != nil, func() string { return o.RestartRequest }), true
		},
		names[2]: func() (client.Object, string, bool) {
			o := app.Status.Operator
			return app, requestOf(o != nil, func() string { return o.RestartRequest }), o != nil && o.Attempt > 1
		},
	}

	handled := func(name string, wantsRequest bool) {
		u.t.Helper()
		kit.Wait(u.t, name+" to be handled", func(ctx context.Context) error {
			object, _, _ := done[name]()

			_, key, _ := strings.Cut(name, "/")
			if err := u.API.Get(ctx, client.ObjectKey{Namespace: u.Namespace, Name: key}, object); err != nil {
				return err
			}

			object, request, again := done[name]()
			switch {
			case request == "" && wantsRequest, request != lifecycle.RestartRequest(object.GetAnnotations()):
				return fmt.Errorf("it remembers the request %q", request)
			case wantsRequest && !again:
				return errors.New("it does not run again")
			case !wantsRequest && u.unhandled(name):
				return errors.New("it has no status")
			}
			return nil
		})
	}
	for _, name := range names {
		handled(name, false)
		u.does(exit.OK, "a restart is requested", "restart", name)
		handled(name, true)
	}
}

// unhandled reports whether the operator has not handled an object yet.
func (u *user) unhandled(name string) bool {
	return strings.Contains(runWith(u.t.Context(), terminal.Streams{}, "status", name, "--kubeconfig",
		u.kubeconfig).out, "New (pending)")
}

func requestOf(has bool, request func() string) string {
	if !has {
		return ""
	}
	return request()
}

// watches checks that list --watch prints changes, and that list uses colours only on a terminal.
func (u *user) watches() {
	s := u.begin("list", "--watch", "--kind", "app")
	s.until("tau")
	u.does(exit.OK, "later created", "create", "-f", u.manifest("later", ""))
	s.until("later")
	u.driver("later", corev1.PodRunning, running())
	s.until("RUNNING")
	u.does(exit.OK, "later deleted", "delete", "later")
	s.until("DELETED")
	s.stop()
	u.does(exit.Usage, "wide, name", "list", "--watch", "-o", "json")

	wide := terminal.Streams{In: strings.NewReader(""), Width: 200}

	u.t.Setenv("TERM", "xterm")
	u.t.Setenv("NO_COLOR", "")
	u.doesWith(u.t.Context(), wide, exit.OK, "\x1b[33mSUSPENDED\x1b[0m", "list", "--kind", "app")
	u.t.Setenv("NO_COLOR", "1")

	for _, streams := range []terminal.Streams{wide, {In: strings.NewReader("")}} {
		if got := u.doesWith(u.t.Context(), streams, exit.OK, "SUSPENDED", "list", "--kind",
			"app"); strings.Contains(got.out, "\x1b") {
			u.t.Errorf("colours without a terminal or with NO_COLOR: %q", got.out)
		}
	}
}

// runs creates an application, sets its driver pod to Running on the given node, and waits for the state RUNNING.
func (u *user) runs(name string, node *kubelet) {
	u.t.Helper()
	u.does(exit.OK, name+" created", "create", "-f", u.manifest(name, ""))
	u.onNode(node, name+"-driver", "")
	u.driver(name, corev1.PodRunning, running())
	u.does(exit.OK, "RUNNING", "wait", name, "--for=running", "--timeout=1m")
}

func (u *user) opensUI() {
	node := startKubelet(u.t, "ui-"+u.Namespace)
	node.serves(u.t, "the web UI of Spark")
	u.runs("shown", node)
	s := u.begin("ui", "shown")
	address := s.until("http://127.0.0.1:")
	address = address[strings.Index(address, "http://"):]
	address, _, _ = strings.Cut(address, " ")

	answer, err := http.Get(address)
	if err != nil {
		u.t.Fatal(err)
	}

	text, err := io.ReadAll(answer.Body)
	if err != nil || string(text) != "the web UI of Spark" || answer.Body.Close() != nil {
		u.t.Errorf("the UI answers %q, %v", text, err)
	}

	port := address[strings.LastIndex(address, ":")+1 : len(address)-1]
	u.does(exit.Usage, "choose another port with --port", "ui", "shown", "--port", port)
	s.stop()
	u.reader("viewer")
	u.does(exit.Cluster, "you are not allowed to create pods/portforward in namespace "+u.Namespace, "ui", "app/shown",
		"--as", "system:serviceaccount:"+u.Namespace+":viewer")
	u.driver("shown", corev1.PodSucceeded, scene.Exited(0, ""))
	u.does(exit.OK, "COMPLETED", "wait", "shown")
	u.does(exit.Cluster, "name its address with --history-server", "ui", "shown")
	u.does(exit.OK, "at http://history:18080/history/spark-", "ui", "shown", "--history-server", "http://history:18080")
	u.does(exit.OK, "spark.eventLog.enabled", "ui", "shown", "--history-server", "http://history:18080/")
	u.does(exit.Usage, "is not an address", "ui", "shown", "--history-server", "history")
	u.does(exit.Usage, "is a schedule", "ui", "nightly")
	u.does(exit.Cluster, "has no running driver", "ui", "tau")
	u.opensHistory(node)
}

// opensHistory opens the pages of the application shown, which has ended, without --history-server: through the History
// Server that runs in the cluster, and through the address in the status.
func (u *user) opensHistory(node *kubelet) {
	viewer := "system:serviceaccount:" + u.Namespace + ":viewer"
	u.does(exit.Cluster, "no Helm release owns the customresourcedefinition sparkapplications.sparkoperator.k8s.io", "ui", "shown")
	u.does(exit.Cluster, "you may not get the customresourcedefinition", "ui", "app/shown", "--as", viewer)
	u.does(exit.Cluster, "you may not list pods in namespace kube-system", "ui", "app/shown", "--history-namespace", "kube-system", "--as", viewer)
	u.helmOwns("sparkapplications.sparkoperator.k8s.io", "default")
	u.does(exit.Cluster, "no History Server of the operator's chart runs in namespace default", "ui", "shown")
	u.does(exit.Usage, "has had 1 attempts", "ui", "shown", "--attempt", "2", "--history-server", "http://history")

	server := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "history", Namespace: u.Namespace, Labels: map[string]string{"app.kubernetes.io/component": "history-server"}},
		Spec: corev1.PodSpec{NodeName: node.node, Containers: []corev1.Container{{Name: "history", Image: "spark",
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 18080}}}}},
	}
	if err := u.API.Create(u.t.Context(), server); err != nil {
		u.t.Fatal(err)
	}

	server.Status.Phase = corev1.PodRunning
	if err := u.API.Status().Update(u.t.Context(), server); err != nil {
		u.t.Fatal(err)
	}

	app := &v1beta2.SparkApplication{}
	if err := u.API.Get(u.t.Context(), client.ObjectKey{Namespace: u.Namespace, Name: "shown"}, app); err != nil {
		u.t.Fatal(err)
	}

	// The server is in a namespace of a tenant.
	u.does(exit.Cluster, "no History Server of the operator's chart runs in namespace default", "ui", "shown")
	u.helmOwns("sparkapplications.sparkoperator.k8s.io", u.Namespace)

	for _, args := range [][]string{{"ui", "shown"}, {"ui", "shown", "--attempt", "1"}, {"ui", "shown", "--history-namespace", u.Namespace}} {
		s := u.begin(args...)

		address := s.until("/history/" + app.Status.SparkApplicationID + "/ (press Ctrl-C")
		address, _, _ = strings.Cut(address[strings.Index(address, "http://"):], " ")

		answer, err := http.Get(address)
		if err != nil {
			u.t.Fatal(err)
		}

		if text, err := io.ReadAll(answer.Body); err != nil || string(text) != "the web UI of Spark" || answer.Body.Close() != nil {
			u.t.Errorf("the History Server at %s answers %q, %v", address, text, err)
		}

		s.stop()
	}

	link := func(address string) {
		stored := app.DeepCopy()
		stored.Status.Operator.HistoryServerURL = address

		if err := u.API.Status().Patch(u.t.Context(), stored, client.MergeFrom(app)); err != nil {
			u.t.Fatal(err)
		}
	}

	page := "https://history.example.com/history/" + app.Status.SparkApplicationID + "/"
	link(page)
	u.does(exit.OK, "are at "+page+"\n", "ui", "shown")
	link("javascript:alert(1)//" + app.Status.SparkApplicationID + "/")

	s := u.begin("ui", "shown")
	s.until("/history/" + app.Status.SparkApplicationID)
	s.stop()
}

// helmOwns makes a definition belong to a Helm release in a namespace, until the test ends.
func (u *user) helmOwns(definition, namespace string) {
	u.t.Helper()

	annotate := func(ctx context.Context, value string) {
		o := identity.MetadataOnly(apiextensions.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		o.SetName(definition)

		patch := fmt.Sprintf(`{"metadata":{"annotations":{"meta.helm.sh/release-namespace":%s}}}`, value)
		if err := u.API.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			u.t.Error(err)
		}
	}
	annotate(u.t.Context(), strconv.Quote(namespace))
	u.t.Cleanup(func() { annotate(context.WithoutCancel(u.t.Context()), "null") })
}

func (u *user) connects() {
	node := startKubelet(u.t, "connect-"+u.Namespace)
	node.serves(u.t, "a Connect server")

	pod := &corev1.Pod{}
	kit.Wait(u.t, "the server", func(ctx context.Context) error {
		if err := u.API.Get(ctx, client.ObjectKey{Namespace: u.Namespace, Name: "spark-connect-server"},
			pod); err != nil {
			return err
		}

		if pod.Spec.NodeName == "" {
			u.Bind(pod, node.node)
		}

		pod.Status.Phase = corev1.PodRunning
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, State: running(),
			Ready: true}}
		return u.API.Status().Update(ctx, pod)
	})
	s := u.begin("connect", "spark-connect", "--port", "0")
	s.until("sc://localhost:")
	s.stop()
	u.does(exit.Usage, "is not a Connect server", "connect", "tau")

	tools := u.t.TempDir()
	if err := os.WriteFile(filepath.Join(tools, "pyspark"), []byte("#!/bin/sh\necho shell of $2\nexit 3\n"),
		0o700); err != nil {
		u.t.Fatal(err)
	}

	u.t.Setenv("PATH", tools+":"+os.Getenv("PATH"))

	if got := u.does(exit.Failed, "exit code 3", "connect", "spark-connect", "--shell"); !strings.Contains(got.out,
		"shell of sc://localhost:") {
		u.t.Errorf("the shell says %q", got.out)
	}
	// Without pyspark, a Python that can import the client opens the session.
	pythons := u.t.TempDir()
	for name, script := range map[string]string{
		"python3": "#!/bin/sh\nexit 1\n",
		"python":  "#!/bin/sh\n[ $1 = -c ] || { echo \"$1 $2 $3\"; exit 4; }\n",
	} {
		if err := os.WriteFile(filepath.Join(pythons, name), []byte(script), 0o700); err != nil {
			u.t.Fatal(err)
		}
	}

	u.t.Setenv("PATH", pythons)

	if got := u.does(exit.Failed, "python ended with exit code 4", "connect", "spark-connect",
		"--shell"); !strings.Contains(got.out, "-i -c import os, sys") ||
		!strings.Contains(got.out, `remote("sc://localhost:`) {
		u.t.Errorf("Python gets %q", got.out)
	}

	u.t.Setenv("PATH", "")
	u.does(exit.Usage, "pyspark-client or 'pyspark[connect]'", "connect", "spark-connect", "--shell")
}

// front starts a server in front of the API server that answers some paths itself, and returns its address.
func (u *user) front(answers map[string]string) string {
	rc := kit.Rest(u.t)

	transport, err := rest.TransportFor(rc)
	if err != nil {
		u.t.Fatal(err)
	}

	behind, err := url.Parse(rc.Host)
	if err != nil {
		u.t.Fatal(err)
	}

	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(behind) }, Transport: transport}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		for path, answer := range answers {
			if strings.HasSuffix(request.URL.Path, path) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, answer)
				return
			}
		}

		proxy.ServeHTTP(w, request)
	}))
	u.t.Cleanup(server.Close)
	return server.URL
}

func (u *user) tops() {
	u.does(exit.OK, "busy created", "create", "-f", u.manifest("busy", ""))
	u.driver("busy", corev1.PodRunning, running())
	u.does(exit.OK, "RUNNING", "wait", "busy", "--for=running", "--timeout=1m")

	bare := u.does(exit.OK, "busy-driver", "top", "busy")
	for _, want := range []string{"note: no values of CPU and memory: the cluster has no metrics API",
		"note: no stages: Spark's REST API does not answer"} {
		if !strings.Contains(bare.out, want) {
			u.t.Errorf("the page lacks %q:\n%s", want, bare.out)
		}
	}

	u.reader("onlooker")
	u.does(exit.OK, "no stages: you are not allowed to get pods/proxy", "top", "app/busy", "--as",
		"system:serviceaccount:"+u.Namespace+":onlooker")
	front := u.front(map[string]string{
		"/apis/metrics.k8s.io/v1beta1/namespaces/" + u.Namespace +
			"/pods": `{"items":[{"metadata":{"name":"busy-driver"},"containers":[{"usage":{"cpu":"750m","memory":"600Mi"}}]}]}`,
		"/proxy/api/v1/applications": `[{"id":"spark-1"}]`,
		"/proxy/api/v1/applications/spark-1/stages": `[{"status":"ACTIVE","stageId":3,"name":"count at Job.scala:7","numTasks":200,"numCompleteTasks":100,"numActiveTasks":4},
			{"status":"COMPLETE","stageId":2,"name":"x","numTasks":1,"numCompleteTasks":1}]`,
	})

	full := u.does(exit.OK, "750m", "top", "busy", "--server", front)
	for _, want := range []string{"600Mi",
		"stage 3    [##########..........] 100/200 tasks, 4 run  count at Job.scala:7",
		"stages: 1 active, 0 pending, 1 complete"} {
		if !strings.Contains(full.out, want) {
			u.t.Errorf("the page lacks %q:\n%s", want, full.out)
		}
	}

	times := u.front(map[string]string{
		"/proxy/api/v1/applications":                      `[{"id":"spark-1","attempts":[{"startTime":"2020-01-01T00:00:10.100GMT"}]}]`,
		"/proxy/api/v1/applications/spark-1/allexecutors": `[{"id":"driver","addTime":"2020-01-01T00:00:11.000GMT"},{"id":"2","addTime":"2020-01-01T00:00:20.000GMT"},{"id":"1","addTime":"2020-01-01T00:00:15.100GMT"}]`,
		"/proxy/api/v1/applications/spark-1/stages":       `[{"stageId":1},{"stageId":0,"firstTaskLaunchedTime":"2020-01-01T00:00:17.200GMT"}]`,
	})
	u.does(exit.OK, "JVM 0s, executor's JVM 5s, first task 2s", "status", "busy", "--server", times)
	u.does(exit.OK, `"firstTask": "2020-01-01T00:00:17.2Z"`, "status", "busy", "--server", times, "-o", "json")

	logged := u.front(map[string]string{"/pods/busy-driver/log": "2020-01-01T00:00:10.1Z INFO SparkContext: Running Spark version 4.1.4\n" +
		"2020-01-01T00:00:15.1Z INFO Registered executor NettyRpcEndpointRef(spark-client://Executor) (10.0.0.1:1) with ID 1\n" +
		"2020-01-01T00:00:17.2Z INFO TaskSetManager: Starting task 0.0 in stage 0.0 (TID 0) (10.0.0.1,executor 1)\n"})
	u.does(exit.OK, "JVM 0s, executor's JVM 5s, first task 2s", "status", "busy", "--server", logged)

	if silent := u.does(exit.OK, "start:", "status", "busy"); strings.Contains(silent.out, "JVM") {
		u.t.Errorf("times of Spark without its answer:\n%s", silent.out)
	}

	s := u.begin("top", "busy", "--watch", "--server", front)
	s.until("stages:")
	s.until("stages:")
	s.stop()
	u.does(exit.Usage, "is a schedule", "top", "nightly")
	u.does(exit.Cluster, "sparkctl list -A", "top", "nothing-like-any-other-name")
}

// deployment creates the Deployment of an operator, with one ready replica or none.
func (u *user) deployment(name, image string, ready int32) *appsv1.Deployment {
	u.t.Helper()

	labels := map[string]string{"app.kubernetes.io/name": "spark-operator", "app.kubernetes.io/instance": name,
		"app.kubernetes.io/version": "9.9.9"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: u.Namespace, Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "spark-operator-controller",
					Image: image}}},
			},
		},
	}
	u.Create(d)
	kit.Wait(u.t, "the status of "+name, func(ctx context.Context) error {
		if err := u.API.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
			return err
		}

		d.Status.Replicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas = 1, ready, ready
		return u.API.Status().Update(ctx, d)
	})
	return d
}

// finding runs doctor and returns the finding that has the given level and whose text contains the given text. It
// fails the test if doctor reports no such finding.
func (u *user) finding(code exit.Code, level findings.Level, text string, args ...string) findings.Finding {
	u.t.Helper()
	u.t.Setenv("KUBECONFIG", u.kubeconfig) // with the flag, the commands of the findings would have it too

	got := runWith(u.t.Context(), terminal.Streams{In: strings.NewReader("")},
		append([]string{"doctor", "-o", "json"}, args...)...)
	if got.code != code {
		u.t.Errorf("doctor %q: exit code %d, %s", args, got.code, got.err)
	}

	var all []findings.Finding
	if err := json.Unmarshal([]byte(got.out), &all); err != nil {
		u.t.Fatalf("%v: %s", err, got.out)
	}

	for _, f := range all {
		if f.Level == level && strings.Contains(f.Text, text) {
			if level == findings.Error && f.Fix == "" {
				u.t.Errorf("%+v has no fix", f)
			}
			return f
		}
	}

	u.t.Errorf("no %s with %q in\n%s", level, text, got.out)
	return findings.Finding{}
}

func (u *user) examines() {
	u.finding(exit.Cluster, findings.Error, "no operator is installed")
	u.finding(exit.Cluster, findings.OK, "sparkclusters.spark.apache.org serves")

	lacks := u.finding(exit.Cluster, findings.Error,
		"the service account "+u.Namespace+"/default of drivers lacks rights: get, list, watch, create")
	if !strings.Contains(string(lacks.Fix), "kubectl -n "+u.Namespace+" create role") {
		u.t.Errorf("the fix is %q", lacks.Fix)
	}

	account := "system:serviceaccount:" + u.Namespace + ":powerless"

	powerless := u.finding(exit.Cluster, findings.Unknown,
		"you are not allowed to list deployments.apps in all namespaces", "--as", account)
	if powerless.Fix != "kubectl auth can-i list deployments.apps -A" {
		u.t.Errorf("the fix is %q", powerless.Fix)
	}

	verbs := []string{"get", "list", "watch", "create", "patch", "delete", "deletecollection"}
	meta := metav1.ObjectMeta{Namespace: u.Namespace, Name: "spark-driver"}
	u.Create(&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods", "configmaps", "services", "persistentvolumeclaims"},
			Verbs: verbs},
	}})
	u.Create(&rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: u.Namespace, Name: "default"}},
	})
	u.finding(exit.Cluster, findings.OK, u.Namespace+"/default has the rights of a driver")
	u.finding(exit.Cluster, findings.Note, "no metrics API")
	u.does(exit.OK, "volcanic created", "create", "-f", u.manifest("volcanic", "  batchScheduler: volcano\n"))
	u.finding(exit.Cluster, findings.Error, "Volcano is not installed, but used by "+u.Namespace+"/volcanic")
	u.deployment("ours", "docker.io/sparkoperator/spark-operator:9.9.9", 0)
	u.finding(exit.Cluster, findings.Error, u.Namespace+"/ours: no replica of version 9.9.9 is ready")
	u.examinesNamespaces()
	u.examinesHistory()
	u.deployment("theirs", "ghcr.io/kubeflow/spark-operator/controller:2.3.0", 1)

	other := u.finding(exit.Cluster, findings.Warning, "both serve sparkoperator.k8s.io")
	if other.Fix != terminal.Commandf("kubectl -n %s scale deployment theirs --replicas=0", u.Namespace) {
		u.t.Errorf("the fix is %q", other.Fix)
	}

	text := u.does(exit.Cluster, "doctor found", "doctor")
	if !strings.Contains(text.out, "\n                      fix: helm ") {
		u.t.Errorf("the findings are\n%s", text.out)
	}

	u.does(exit.Cluster, "cannot be reached", "doctor", "--server", "http://127.0.0.1:1")
	u.does(exit.Usage, "json", "doctor", "-o", "xml")
}

// examinesNamespaces checks the findings about the namespaces of an operator whose account has rights in this namespace
// only.
func (u *user) examinesNamespaces() {
	file := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: u.Namespace, Name: "ours"}}
	file.Data = map[string]string{"config.yaml": "namespaces: {names: [" + u.Namespace + ", there-is-none]}"}
	u.Create(file)

	lost := u.finding(exit.Cluster, findings.Error, u.Namespace+"/ours does not serve the namespace there-is-none")
	if !strings.Contains(string(lost.Fix), "helm upgrade") {
		u.t.Errorf("the fix is %q", lost.Fix)
	}
	// Any user may create a Deployment with the labels of an operator, and the ConfigMap to it.
	for content, text := range map[string]string{
		`namespaces: {names: ["x; touch y", "--kubeconfig=y"]}`: `has the namespace "x; touch y", which is not a valid name`,
		"a: &a " + strings.Repeat("x", 10_000) + "\nnamespaces: {names: [" + strings.Repeat("*a,",
			10_000) + "]}": "aliases are written out",
	} {
		file.Data["config.yaml"] = content
		if err := u.API.Update(u.t.Context(), file); err != nil {
			u.t.Fatal(err)
		}

		level := findings.Warning
		if strings.HasPrefix(content, "a:") {
			level = findings.Unknown
		}

		u.finding(exit.Cluster, level, text)

		if got := u.does(exit.Cluster, "", "doctor"); strings.Contains(got.out, "namespace x; touch y &&") {
			u.t.Errorf("a command has a tenant's words:\n%s", got.out)
		}
	}

	file.Data["config.yaml"] = "namespaces: {names: [" + u.Namespace + "]}"
	if err := u.API.Update(u.t.Context(), file); err != nil {
		u.t.Fatal(err)
	}

	u.finding(exit.Cluster, findings.Error,
		u.Namespace+"/ours lacks rights in the namespace "+u.Namespace+": it may not get, list, create, patch events")
	everything := metav1.ObjectMeta{Namespace: u.Namespace, Name: "everything"}
	u.Create(&rbacv1.Role{ObjectMeta: everything,
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}})
	u.Create(&rbacv1.RoleBinding{
		ObjectMeta: everything, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role",
			Name: everything.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: u.Namespace, Name: "default"}},
	})
	u.finding(exit.Cluster, findings.OK, u.Namespace+"/ours has rights in its namespaces: "+u.Namespace)
}

// examinesHistory checks the findings about the History Server of an operator that switches on event logs.
func (u *user) examinesHistory() {
	file := &corev1.ConfigMap{}
	if err := u.API.Get(u.t.Context(), client.ObjectKey{Namespace: u.Namespace, Name: "ours"}, file); err != nil {
		u.t.Fatal(err)
	}

	before := file.Data["config.yaml"]
	configure := func(text string) {
		file.Data["config.yaml"] = text
		if err := u.API.Update(u.t.Context(), file); err != nil {
			u.t.Fatal(err)
		}
	}

	configure(before + "\ndefaults: [{eventLogDirectory: s3a://logs/events}]")

	missing := u.finding(exit.Cluster, findings.Note, "applications write event logs to s3a://logs/events, and "+u.Namespace+"/ours knows no History Server")
	if !strings.Contains(string(missing.Fix), "historyServer.enable=true") {
		u.t.Errorf("the fix is %q", missing.Fix)
	}

	configure(before + "\ndefaults: [{eventLogDirectory: s3a://logs/events, historyServer: 'https://history.example.com'}]")

	if got := u.does(exit.Cluster, "", "doctor"); strings.Contains(got.out, "event logs") {
		u.t.Errorf("doctor demands another History Server:\n%s", got.out)
	}

	server := u.deployment("ours-history", "docker.io/apache/spark:4.1.4", 0)
	labelled := server.DeepCopy()
	labelled.Labels["app.kubernetes.io/component"] = "history-server"

	if err := u.API.Patch(u.t.Context(), labelled, client.MergeFrom(server)); err != nil {
		u.t.Fatal(err)
	}

	if got := u.does(exit.OK, "operator ", "version"); strings.Contains(got.out, "ours-history") {
		u.t.Errorf("the History Server is an operator:\n%s", got.out)
	}

	configure(before)
}

func (u *user) versions() {
	u.does(exit.OK, "operator "+u.Namespace+"/ours 9.9.9 (image docker.io/sparkoperator/spark-operator:9.9.9",
		"version")
	u.does(exit.OK, `"operators":[{`, "version", "-o", "json")

	if got := u.does(exit.OK, "sparkctl", "version", "--client"); strings.Contains(got.out, "operator ") {
		u.t.Errorf("the version of the client is %q", got.out)
	}

	u.does(exit.Cluster, "cannot be reached", "version", "--server", "http://127.0.0.1:1")
	u.does(exit.Cluster, "you are not allowed to list deployments.apps", "version", "--as",
		"system:serviceaccount:"+u.Namespace+":powerless")
}

// completes checks the words that need a cluster, and that a verb without names lists those that exist.
func (u *user) completes() {
	u.does(exit.OK, "offered created", "create", u.manifest("offered", ""))

	for word, line := range map[string][]string{
		"offered": {"status", "off"}, "app/offered": {"status", "app/"}, u.Namespace: {"list", "-n", ""},
		"kube-system": {"status", "x", "--namespace", ""},
	} {
		if got := completions(u.t, u.kubeconfig, line...); !slices.Contains(got, word) {
			u.t.Errorf("%q: %q lacks %q", line, got, word)
		}
	}

	for _, args := range [][]string{{"status"}, {"explain"}, {"log", "-f"}, {"delete", "--yes"}, {"suspend"}} {
		u.does(exit.Usage, "offered", args...)
	}
}
