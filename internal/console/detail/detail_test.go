package detail_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/console/detail"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/console/session"
	"github.com/sparkoperator/spark-operator/internal/console/view"
	"github.com/sparkoperator/spark-operator/internal/console/web"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/record/store"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/kubelet"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

func TestMain(m *testing.M) { kit.Main(m) }

const app = "sparkapplications.sparkoperator.k8s.io"

// operatorConfig is the configuration of the operator.
const operatorConfig = `apiVersion: config.sparkoperator.dev/v1alpha1
kind: Configuration
defaults:
  - name: all
    sparkDefaults: spark.sql.adaptive.enabled true
`

// site is a console with the pages of objects.
type site struct {
	t *testing.T
	*httptest.Server
	later *atomic.Int64 // how far the clock of the sessions is ahead
}

func serve(t *testing.T) *site {
	t.Helper()
	return serveFrom(t, rest.AnonymousClientConfig(kit.Rest(t)))
}

// serveFrom serves the pages from an API server, at which the users' tokens sign in.
func serveFrom(t *testing.T, cluster *rest.Config) *site {
	t.Helper()

	file := filepath.Join(t.TempDir(), "operator.yaml")
	if err := os.WriteFile(file, []byte(operatorConfig), 0o600); err != nil {
		t.Fatal(err)
	}

	later := &atomic.Int64{}
	sessions := session.New(session.Options{
		Idle: time.Hour, Lifetime: time.Hour, Cookie: "c", Cluster: cluster, Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) },
	})
	s := web.New(web.Options{Sessions: sessions, Views: web.Views{SignIn: view.SignIn, Problem: view.ProblemPage}})
	detail.Routes(s, detail.Options{Operator: func(context.Context) (preview.Operator, error) { return preview.Load(file) }, Shared: true})

	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return &site{t, server, later}
}

func (s *site) open(path, token string) *http.Response {
	s.t.Helper()

	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}

	r.Header.Set("Authorization", "Bearer "+token)

	response, err := s.Client().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}

	s.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func (s *site) get(path, token string) (int, string) {
	s.t.Helper()
	response := s.open(path, token) //nolint:bodyclose // its cleanup closes the body

	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// data decodes the JSON of a page.
func data[T any](s *site, path, token string) (out T) {
	s.t.Helper()

	status, text := s.get("/api/v1/objects/"+path, token)
	if err := json.Unmarshal([]byte(text), &out); err != nil || status != http.StatusOK {
		s.t.Fatalf("%s answers %d: %s", path, status, text)
	}

	if status, page := s.get("/o/"+path, token); status != http.StatusOK {
		s.t.Errorf("the page %s answers %d: %s", path, status, page)
	}
	return out
}

// account creates a service account with rights in the world's namespace, and returns its token.
func account(w *scene.World, name string, resources ...string) string {
	w.T.Helper()

	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
	w.Create(sa)

	if len(resources) > 0 {
		meta := metav1.ObjectMeta{Namespace: w.Namespace, Name: name}
		w.Create(&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{v1beta2.SchemeGroupVersion.Group, sparkv1.SchemeGroupVersion.Group}, Resources: []string{"*"}, Verbs: []string{"get", "list"}},
			{APIGroups: []string{""}, Resources: resources, Verbs: []string{"get", "list"}},
		}})
		w.Create(&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.Namespace, Name: name}},
		})
	}

	request := &authenticationv1.TokenRequest{}
	if err := w.API.SubResource("token").Create(w.T.Context(), sa, request); err != nil {
		w.T.Fatal(err)
	}
	return request.Status.Token
}

// driver creates the running driver pod of an object, which a handler serves, and binds it to a node if one is named.
func driver(t *testing.T, w *scene.World, owner client.Object, role, node string, handler http.Handler) *corev1.Pod {
	t.Helper()

	pod := scene.ForeignPod(w.Namespace, owner.GetName()+"-driver")
	pod.Labels = map[string]string{identity.RoleLabel: role, identity.AppUIDLabel: string(owner.GetUID()), identity.AttemptLabel: "1"}
	pod.Spec.Containers[0].Name = "spark-kubernetes-driver"

	ip := "10.9.9.9"
	if handler != nil {
		ip = address(t)

		listener, err := net.Listen("tcp", ip+":0") //nolint:noctx // ends with the test
		if err != nil {
			t.Fatal(err)
		}

		server := httptest.NewUnstartedServer(handler)
		server.Listener = listener
		server.Start()
		t.Cleanup(server.Close)

		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "spark-ui", ContainerPort: int32(listener.Addr().(*net.TCPAddr).Port)}}
	}

	w.Create(pod)

	if node != "" {
		w.Bind(pod, node)

		if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
			t.Fatal(err)
		}
	}

	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "spark-kubernetes-driver", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
	}}}
	if err := w.API.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

// address returns an address of this machine to which an API server sends requests for a pod, which is no loopback.
func address(t *testing.T) string {
	t.Helper()

	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}

	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() && !ip.IP.IsLinkLocalUnicast() {
			return ip.IP.String()
		}
	}

	t.Skip("this machine has only loopback addresses, and an API server refuses to send requests for pods there")
	return ""
}

// TestTwoUsers reads the page of an application as a user who may see everything, as one without rights to pods, and as
// one who may see nothing.
func TestTwoUsers(t *testing.T) {
	w, s := scene.New(t), serve(t)

	created := w.Application("pi", scene.WithDriver)
	pod := driver(t, w, created, identity.RoleDriver, "", nil)
	w.Warn(pod.UID, pod.Name, "FailedMount", "<b>no</b> volume\x1b[31m")

	path := app + "/" + w.Namespace + "/pi"
	ann := data[detail.One](s, path, account(w, "ann", "pods", "events", "configmaps")).Application

	if ann == nil || len(ann.Pods) != 1 || len(ann.Events) != 1 || ann.Events[0].Message != `<b>no</b> volume\x1b[31m` || ann.NextStep() == "" {
		t.Fatalf("the page has %+v", ann)
	}

	if _, page := s.get("/o/"+path, account(w, "eve", "pods")); !strings.Contains(page, "the operator has not handled the last change yet") {
		t.Errorf("the page does not say why nothing happens: %s", page)
	}

	if len(ann.Links) != 1 || ann.Links[0].URL != "/ui/"+w.Namespace+"/pi-driver/" {
		t.Errorf("the links are %+v", ann.Links)
	}

	less := data[detail.One](s, path, account(w, "less", "secrets")).Application
	if notes := strings.Join(less.Missing, "\n"); !strings.Contains(notes, "the pods are missing") || !strings.Contains(notes, "the Events are missing") {
		t.Errorf("without rights to pods, the notes are %s", notes)
	}

	bob := account(w, "bob")
	for _, tab := range []string{"", "/logs", "/stages", "/manifest", "/usage", "/logs/stream?pod=pi-driver"} {
		hidden, text := s.get("/o/"+path+tab, bob)

		absent, other := s.get("/o/"+app+"/no-such-namespace/pi"+tab, bob)
		if hidden != http.StatusNotFound || absent != http.StatusNotFound || text != other {
			t.Errorf("%s: a foreign object is answered with %d, an absent one with %d", tab, hidden, absent)
		}
	}
}

// event is a server-sent event.
type event struct{ name, data string }

// stream reads a log until it ends, or until it has the given number of events.
func (s *site) stream(path, token string, most int) (events []event) {
	s.t.Helper()

	response := s.open(path, token) //nolint:bodyclose // its cleanup closes the body
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		s.t.Fatalf("the stream answers %d: %s", response.StatusCode, text)
	}

	var next event

	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 4<<20)

	for len(events) < most && lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case name == "event":
			next.name = value
		case name == "data":
			next.data += value + "\n"
		case lines.Text() == "" && next.name != "":
			events = append(events, next)
			next = event{}
		}
	}

	if err := lines.Err(); err != nil {
		s.t.Fatal(err)
	}
	return events
}

// TestHostileLogs streams logs with long lines, colours and binary data, searches in them, and follows one.
func TestHostileLogs(t *testing.T) {
	w, s := scene.New(t), serve(t)
	node := kubelet.Start(t, "console-"+w.Namespace)

	pod := driver(t, w, w.Application("pi", scene.WithDriver), identity.RoleDriver, node.Name, nil)
	token := account(w, "ann", "pods", "pods/log")
	long := strings.Repeat("x", 10<<20)
	node.Log(pod.Name, "\x1b[31mERROR\x1b[0m <script>alert(1)</script>\n\x00\xff\x1b]8;;http://evil\x07\n"+long+"\nlast needle line\n")

	path := app + "/" + w.Namespace + "/pi/logs"

	logs := data[detail.Tab[model.Logs]](s, path, token).Tab
	if len(logs.Sources) != 1 || !logs.Sources[0].Selected || logs.Sources[0].Stream == "" {
		t.Fatalf("the logs are %+v", logs)
	}

	events := s.stream(strings.Replace(logs.Sources[0].Stream, "follow=true", "follow=", 1), token, 1000)

	var text strings.Builder
	for _, e := range events[:len(events)-1] {
		text.WriteString(e.data)
	}

	got := text.String()
	for _, want := range []string{"ERROR &lt;script&gt;alert(1)&lt;/script&gt;", `\x00\xff\x1b]8;;http://evil\x07`, "more bytes)", "last needle line"} {
		if !strings.Contains(got, want) {
			t.Errorf("the log lacks %q", want)
		}
	}

	if strings.ContainsAny(got, "\x00\x1b") || strings.Contains(got, "<script") || len(got) > 2<<20 {
		t.Errorf("the log has %d bytes or raw text", len(got))
	}

	if last := events[len(events)-1]; last.name != "end" || !strings.Contains(last.data, "has ended") {
		t.Errorf("the log ends with %+v", last)
	}

	found := s.stream("/o/"+path+"/stream?q=NEEDLE&pod="+pod.Name, token, 1000)
	if len(found) != 2 || !strings.Contains(found[0].data, "needle") || strings.Contains(found[0].data, "ERROR") {
		t.Errorf("the search finds %d events: %.300q", len(found), fmt.Sprint(found))
	}

	node.Serve(pod.Name, func(out http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(out, "2026-01-02T12:00:05Z first\n")
		_ = http.NewResponseController(out).Flush()

		<-r.Context().Done()
	})

	if live := s.stream("/o/"+path+"/stream?follow=true&pod="+pod.Name, token, 1); len(live) != 1 || !strings.Contains(live[0].data, "first") {
		t.Errorf("the live log begins with %+v", live)
	}
}

// TestLogOfAProgram follows a log with a token, with which the program sends other requests after a minute and after
// the end of its first session.
func TestLogOfAProgram(t *testing.T) {
	w, s := scene.New(t), serve(t)
	node := kubelet.Start(t, "console-"+w.Namespace)

	pod := driver(t, w, w.Application("pi", scene.WithDriver), identity.RoleDriver, node.Name, nil)
	token := account(w, "ann", "pods", "pods/log")
	more := make(chan string)

	node.Serve(pod.Name, func(out http.ResponseWriter, _ *http.Request) {
		for line := range more {
			_, _ = io.WriteString(out, "2026-01-02T12:00:05Z "+line+"\n")
			_ = http.NewResponseController(out).Flush()
		}
	})

	page := "/o/" + app + "/" + w.Namespace + "/pi"

	//nolint:bodyclose // its cleanup closes the body
	response := s.open(page+"/logs/stream?follow=true&pod="+pod.Name, token)
	events := bufio.NewScanner(response.Body)

	for i, passed := range []time.Duration{0, 2 * time.Minute, 2 * time.Hour} {
		s.later.Store(int64(passed))

		if status, text := s.get(page, token); status != http.StatusOK {
			t.Fatalf("after %v, the page answers %d: %s", passed, status, text)
		}

		line := fmt.Sprintf("line %d of the log", i)
		more <- line

		for !strings.Contains(events.Text(), line) {
			if !events.Scan() || strings.Contains(events.Text(), "ended") {
				t.Fatalf("after %v, the stream has %q instead of %q", passed, events.Text(), line)
			}
		}
	}

	close(more)
}

// TestStages reads stages of a running driver, and refuses a redirect, which would carry the user's token away.
func TestStages(t *testing.T) {
	w, s := scene.New(t), serve(t)

	var stolen atomic.Bool
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		stolen.Store(true)
		t.Errorf("a foreign server gets the headers %v", r.Header)
	}))
	t.Cleanup(thief.Close)

	redirects := atomic.Bool{}
	rest := http.NewServeMux()
	rest.HandleFunc("/api/v1/applications", func(out http.ResponseWriter, r *http.Request) {
		if redirects.Load() {
			http.Redirect(out, r, thief.URL, http.StatusFound)
			return
		}

		_, _ = io.WriteString(out, `[{"id":"spark-1"}]`)
	})
	rest.HandleFunc("/api/v1/applications/spark-1/stages", func(out http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(out, `[{"status":"COMPLETE","stageId":3,"attemptId":1,"name":"<b>count</b>\u0007","numTasks":8,"numCompleteTasks":8,"submissionTime":"2026-01-02T12:00:00.000GMT","completionTime":"2026-01-02T12:00:04.500GMT","inputBytes":7}]`)
	})
	rest.HandleFunc("/api/v1/applications/spark-1/stages/3/1/taskList", func(out http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(out, map[string]string{
			"length=101&sortBy=ID&status=running": `[{"index":5,"status":"RUNNING","duration":1,"launchTime":"2026-01-02T12:00:00.000GMT"}]`,
			"length=101&sortBy=runtime&status=failed&status=killed": `[{"index":7,"attempt":1,"status":"FAILED","executorId":"2","duration":1500,"errorMessage":"<b>lost</b>\u0007",
				"taskMetrics":{"jvmGcTime":3,"shuffleReadMetrics":{"remoteBytesRead":5,"localBytesRead":6}}}]`,
			"length=101&sortBy=-runtime&status=success": `[{"index":9,"status":"SUCCESS","duration":1600}` + strings.Repeat(`,{"index":8,"status":"SUCCESS"}`, 99) + "]",
		}[r.URL.RawQuery])
	})
	rest.HandleFunc("/api/v1/applications/spark-1/stages/3/1/taskSummary", func(out http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(out, `{"quantiles":[0.5,0.95,1.0],"duration":[100,900.0,1e300]}`)
	})
	driver(t, w, w.Application("pi", scene.WithDriver), identity.RoleDriver, "", rest)

	token, path := account(w, "ann", "pods", "pods/proxy"), app+"/"+w.Namespace+"/pi/stages"

	got := data[detail.Tab[model.Stages]](s, path, token).Tab
	if len(got.Stages) != 1 || got.Stages[0].Name != `<b>count</b>\x07` || got.Stages[0].Duration != 4500*time.Millisecond || got.Stages[0].InputBytes != 7 ||
		got.Stages[0].Attempt != 1 || got.Chosen != nil {
		t.Errorf("the stages are %+v", got)
	}

	chosen := data[detail.Tab[model.Stages]](s, path+"?stage=3.1", token).Tab.Chosen
	if chosen == nil || len(chosen.Tasks) != 100 || !chosen.More || chosen.Path != "/ui/"+w.Namespace+"/pi-driver/stages/stage/?id=3&attempt=1" {
		t.Fatalf("the tasks are %+v", chosen)
	}

	want := model.Task{
		Index: 7, Attempt: 1, Status: "FAILED", Executor: "2", Duration: 1500 * time.Millisecond, Collected: 3 * time.Millisecond, ShuffleRead: 11, Problem: `<b>lost</b>\x07`,
	}
	if d := cmp.Diff(want, chosen.Tasks[2]); d != "" || chosen.Median != 100*time.Millisecond || chosen.Longest < 20*365*24*time.Hour {
		t.Errorf("the median is %s, the longest %s (-want +got):\n%s", chosen.Median, chosen.Longest, d)
	}

	if run := chosen.Tasks[0]; run.Index != 5 || run.Duration < 24*time.Hour || chosen.Tasks[1].Index != 9 {
		t.Errorf("the longest tasks are %+v", chosen.Tasks[:2])
	}

	if got := data[detail.Tab[model.Stages]](s, path+"?stage=3.1&status=failed", token).Tab.Chosen; got == nil || len(got.Tasks) != 1 || got.More {
		t.Errorf("the failed tasks are %+v", got)
	}

	for _, query := range []string{"?stage=../jobs", "?stage=3.-1", "?stage=3.1&status=all"} {
		if got := data[detail.Tab[model.Stages]](s, path+query, token); got.Tab.Chosen != nil || !slices.ContainsFunc(got.Object.Missing, func(note string) bool { return strings.Contains(note, "names no stage") }) {
			t.Errorf("%s: %+v, and the notes %q", query, got.Tab.Chosen, got.Object.Missing)
		}
	}

	if got := data[detail.Tab[model.Stages]](s, path+"?stage=9.0", token).Tab.Chosen; got == nil || !strings.Contains(got.Missing, "no tasks") {
		t.Errorf("the tasks of an unknown stage are %+v", got)
	}

	redirects.Store(true)

	if got := data[detail.Tab[model.Stages]](s, path, token).Tab; stolen.Load() || !strings.Contains(got.Missing, "does not answer") {
		t.Errorf("after a redirect, the page has %+v", got)
	}

	if got := data[detail.Tab[model.Stages]](s, path, account(w, "less", "pods")).Tab; !strings.Contains(got.Missing, "pods/proxy") {
		t.Errorf("without the right, the page has %+v", got)
	}
}

// driverStarts stores in the status of the application pi that its driver was created and has started.
func driverStarts(t *testing.T, w *scene.World) {
	t.Helper()

	began := metav1.NewTime(time.Date(2026, 1, 2, 12, 0, 1, 0, time.UTC))
	run := w.Get("pi")
	before := run.DeepCopy()
	run.Status.Operator = started(12)
	run.Status.Operator.Start = &statusv1.OperatorStart{Attempt: 1, DriverCreated: &began, DriverStarted: &began}

	if err := w.API.Status().Patch(t.Context(), run, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// TestStart reads the parts of a start from the log of the driver while it runs and after its end, and from Spark's
// REST API if the log does not show them.
func TestStart(t *testing.T) {
	w, s := scene.New(t), serve(t)
	node := kubelet.Start(t, "start-"+w.Namespace)

	rest := http.NewServeMux()
	rest.HandleFunc("/api/v1/applications", func(out http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(out, `[{"id":"a","attempts":[{"startTime":"2026-01-02T12:00:06.500GMT"}]}]`)
	})
	rest.HandleFunc("/api/v1/applications/a/stages", func(out http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(out, `[{"stageId":0,"firstTaskLaunchedTime":"2026-01-02T12:00:08.000GMT"}]`)
	})

	created := w.Application("pi", scene.WithDriver)
	pod := driver(t, w, created, identity.RoleDriver, node.Name, rest)

	driverStarts(t, w)

	all, less := account(w, "ann", "pods", "pods/log", "pods/proxy"), account(w, "less", "pods")
	expect := func(what, token, want string) {
		t.Helper()

		var parts []string
		for _, step := range data[detail.One](s, app+"/"+w.Namespace+"/pi", token).Application.Start {
			parts = append(parts, step.Name+" "+step.Duration().String())
		}

		if got := strings.Join(parts, ", "); got != want {
			t.Errorf("%s: the start is %s, want %s", what, got, want)
		}
	}

	node.Log(pod.Name, "2026-01-02T12:00:05Z a program that logs no steps\n")
	expect("REST", all, "volumes and image 0s, JVM 5.5s, first task 1.5s")
	node.Log(pod.Name, "2026-01-02T12:00:06Z INFO SparkContext: Running Spark version 4.1.4\n")
	expect("both", all, "volumes and image 0s, JVM 5s, first task 2s")
	node.Log(pod.Name, "2026-01-02T12:00:06Z INFO SparkContext: Running Spark version 4.1.4\n2026-01-02T12:00:07Z INFO TaskSetManager: Starting task 0.0 in stage 0.0 (TID 0)\n")
	expect("the log", all, "volumes and image 0s, JVM 5s, first task 1s")
	expect("no rights", less, "volumes and image 0s")

	if got := node.Queries(); !strings.Contains(got, "limitBytes=262144&timestamps=true") {
		t.Errorf("the requests for the log are %s", got)
	}

	pod.Status.Phase = corev1.PodSucceeded
	if err := w.API.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}

	expect("after the end", all, "volumes and image 0s, JVM 5s, first task 1s")
	node.Log(pod.Name, "nothing\n")
	expect("after the end, without a log", account(w, "later", "pods", "pods/log"), "volumes and image 0s")
}

// TestManifest reads the manifest without secrets, and what the operator would create.
func TestManifest(t *testing.T) {
	w, s := scene.New(t), serve(t)
	w.Application("pi", scene.WithDriver, func(a *v1beta2.SparkApplication) {
		a.Spec.SparkConf = map[string]string{"spark.hadoop.fs.s3a.secret.key": "hunter2", "spark.ui.enabled": "true"}
		a.Spec.Driver.EnvVars = map[string]string{"DB_PASSWORD": "hunter2"}
		a.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: `{"secret":"hunter2"}`}
	})

	token := account(w, "ann", "pods")
	spec := data[detail.Tab[model.Spec]](s, app+"/"+w.Namespace+"/pi/manifest", token).Tab

	if whole := fmt.Sprint(spec); strings.Contains(whole, "hunter2") || !strings.Contains(spec.Manifest, "mainClass: org.apache.spark.examples.SparkPi") || !strings.Contains(spec.Effective, "spark.ui.enabled") {
		t.Errorf("the spec is %s", whole)
	}

	kinds := map[string]int{}
	for _, r := range spec.Rendered {
		kinds[r.Kind]++
	}

	if kinds["Pod"] != 1 || kinds["ConfigMap"] == 0 {
		t.Errorf("the rendered objects are %v", kinds)
	}

	if want := (model.Origin{Name: "sparkConf[spark.sql.adaptive.enabled]", Value: "true", From: "defaults[0] (all)"}); !slices.Contains(spec.Origins, want) {
		t.Errorf("the origins are %+v, want %+v", spec.Origins, want)
	}

	for _, want := range []model.Origin{
		{Name: "spark.sql.adaptive.enabled", Value: "true", From: "defaults[0] (all)"}, {Name: "spark.ui.enabled", Value: "true", From: "spec.sparkConf[spark.ui.enabled]"},
		{Name: "spark.kubernetes.container.image", Value: "docker.io/apache/spark:4.1.4", From: "spec.image"}, {Name: "spark.kubernetes.namespace", Value: w.Namespace, From: "the operator"},
	} {
		if !slices.Contains(spec.Properties, want) {
			t.Errorf("the properties lack %+v: %+v", want, spec.Properties)
		}
	}

	w.Schedule("nightly", "0 3 * * *", func(n *v1beta2.ScheduledSparkApplication) {
		n.Spec.Template.SparkConf = map[string]string{"spark.hadoop.fs.s3a.secret.key": "hunter2"}
	})

	next := data[detail.Tab[model.Spec]](s, "scheduledsparkapplications.sparkoperator.k8s.io/"+w.Namespace+"/nightly/manifest", token).Tab
	if whole := fmt.Sprint(next); strings.Contains(whole, "hunter2") || len(next.Rendered) < 2 || !strings.Contains(next.Rendered[0].YAML, "(redacted)") {
		t.Errorf("the spec of the schedule is %s", whole)
	}

	if _, page := s.get("/o/"+app+"/"+w.Namespace+"/pi/manifest", token); !strings.Contains(page, "spec.sparkConf[spark.ui.enabled]") {
		t.Errorf("the page lacks the origin of a property: %s", page)
	}
}

// TestAttempts compares the driver pods of two attempts, by default the last two.
func TestAttempts(t *testing.T) {
	w, s := scene.New(t), serve(t)
	created := w.Application("pi", scene.WithDriver)
	path, token := app+"/"+w.Namespace+"/pi/manifest", account(w, "ann", "pods")

	for _, attempt := range []string{"1", "2"} {
		pod := scene.ForeignPod(w.Namespace, "pi-driver-"+attempt)
		pod.Labels = map[string]string{
			identity.RoleLabel: identity.RoleDriver, identity.AppUIDLabel: string(created.UID), identity.AttemptLabel: attempt,
		}
		pod.Spec.Containers[0].Image = "spark:" + attempt
		w.Create(pod)

		spec := data[detail.Tab[model.Spec]](s, path, token).Tab
		if attempt == "1" && (spec.A != "1" || spec.B != model.Now || len(spec.Changes) < 2) {
			t.Errorf("with one attempt, the page compares %q and %q: %+v", spec.A, spec.B, spec.Changes)
		}
	}

	spec := data[detail.Tab[model.Spec]](s, path, token).Tab
	if want := []model.Change{{Name: "image", Before: `"spark:1"`, After: `"spark:2"`}}; spec.A != "1" || spec.B != "2" || !slices.Equal(spec.Changes, want) {
		t.Errorf("the page compares %q and %q: %+v", spec.A, spec.B, spec.Changes)
	}

	if spec := data[detail.Tab[model.Spec]](s, path+"?a=2&b=now", token).Tab; len(spec.Changes) < 2 || spec.Changes[0].Before == `"spark:1"` {
		t.Errorf("attempt 2 and now are compared as %+v", spec.Changes)
	}

	if spec := data[detail.Tab[model.Spec]](s, path+"?a=7&b=2", token).Tab; len(spec.Changes) > 0 || !strings.Contains(spec.Missing, "attempt 7 is gone") {
		t.Errorf("a missing attempt: %+v, %s", spec.Changes, spec.Missing)
	}
}

// TestSources lists the logs of pods and the kept logs of earlier attempts, and shows two of them side by side.
func TestSources(t *testing.T) {
	w, s := scene.New(t), serve(t)
	created := w.Application("pi", scene.WithDriver)
	driver(t, w, created, identity.RoleDriver, "", nil)

	before := created.DeepCopy()
	created.Status.Operator = &statusv1.OperatorStatus{Attempt: 3, Phase: "Running"}

	if err := w.API.Status().Patch(t.Context(), created, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}

	for _, number := range []int32{1, 2} {
		index := &store.Index{Driver: &store.File{Name: store.DriverFile, Pod: "pi-driver", PodUID: types.UID(fmt.Sprint(number))}, Attempt: store.Attempt{
			APIVersion: v1beta2.SchemeGroupVersion.String(), Kind: "SparkApplication", Namespace: w.Namespace, Name: "pi", UID: created.UID, Number: number,
		}}
		if err := (store.ConfigMaps{Reader: w.API, Writer: w.API}).Save(t.Context(), index, map[string][]byte{store.DriverFile: nil}); err != nil {
			t.Fatal(err)
		}
	}

	token, path := account(w, "ann", "pods", "pods/log", "configmaps"), app+"/"+w.Namespace+"/pi/logs"
	logs := data[detail.Tab[model.Logs]](s, path+"?pod=pi-driver&pod=1/&q=needle", token).Tab

	var names, shown []string
	for _, source := range logs.Sources {
		if names = append(names, source.Name); source.Selected && strings.Contains(source.Stream, "q=needle") {
			shown = append(shown, source.Name)
		}
	}

	if !slices.Equal(names, []string{"pi-driver", "2/", "1/"}) || !slices.Equal(shown, []string{"pi-driver", "1/"}) {
		t.Errorf("the page lists %q and shows %q; %s", names, shown, logs.Missing)
	}
}

// TestUsage reads the core-hours of an application.
func TestUsage(t *testing.T) {
	w, s := scene.New(t), serve(t)
	created := w.Application("pi", scene.WithDriver)

	before := created.DeepCopy()
	created.Status.Operator = &statusv1.OperatorStatus{Attempt: 1, Usage: &statusv1.OperatorUsage{
		Time: new(metav1.Now()), Attempt: 1, Driver: statusv1.UsageOfPods{UsageSums: statusv1.UsageSums{CPUMillicoreSeconds: 7_200_000}},
	}}

	if err := w.API.Status().Patch(t.Context(), created, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}

	token, path := account(w, "ann", "pods"), app+"/"+w.Namespace+"/pi/usage"
	if got := data[detail.Tab[detail.Usage]](s, path, token).Tab.Usage; got == nil || got.Total.CPUMillicoreSeconds != 7_200_000 {
		t.Errorf("the usage is %+v", got)
	}

	if _, page := s.get("/o/"+path, token); !strings.Contains(page, `<td class="n">2.00</td>`) && !strings.Contains(page, `<td class="n">2</td>`) {
		t.Errorf("the page lacks 2 core-hours: %s", page)
	}
}

// TestClusterApplications reads the applications of a standalone cluster from its master.
func TestClusterApplications(t *testing.T) {
	w, s := scene.New(t), serve(t)

	cluster := &sparkv1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "shared"}}
	cluster.Spec.RuntimeVersions.SparkVersion = "4.1.4"
	w.Create(cluster)

	rest := http.NewServeMux()
	rest.HandleFunc("/json/", func(out http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(out, `{"activeapps":[{"id":"app-2","name":"<b>shell</b>\u0007","user":"eve","state":"RUNNING","cores":4,"starttime":1767355200000}],"completedapps":[{"id":"app-1","state":"FINISHED"}]}`)
	})
	driver(t, w, cluster, identity.RoleMaster, "", rest)

	path := "sparkclusters.spark.apache.org/" + w.Namespace + "/shared"

	got := data[detail.One](s, path, account(w, "ann", "pods", "events", "pods/proxy")).Cluster
	if got == nil || len(got.Applications) != 2 || got.Applications[0] != (model.ClusterApplication{
		ID: "app-2", Name: `<b>shell</b>\x07`, User: "eve", State: "RUNNING", Cores: 4, Started: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC),
	}) {
		t.Fatalf("the cluster is %+v", got)
	}

	if got := data[detail.One](s, path, account(w, "less", "pods")).Cluster; len(got.Applications) > 0 || !strings.Contains(got.NoApplications, "does not answer") {
		t.Errorf("without the right, the applications are %+v, %q", got.Applications, got.NoApplications)
	}
}

// TestSchedule reads the runs of a schedule, and compares two of them.
func TestSchedule(t *testing.T) {
	w, s := scene.New(t), serve(t)
	w.Schedule("nightly", "0 3 * * *")

	for i, name := range []string{"nightly-1", "nightly-2"} {
		w.Application(name, func(a *v1beta2.SparkApplication) {
			a.Labels = map[string]string{v1beta2.ScheduledAppNameLabel: "nightly"}
			a.Spec.Arguments = []string{fmt.Sprint(i)}
		})

		run := w.Get(name)
		before := run.DeepCopy()
		run.Status.Operator = started(i)

		if err := w.API.Status().Patch(t.Context(), run, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}

	token := account(w, "ann", "pods", "events", "configmaps")
	query := "?" + url.Values{"compare": {"nightly-2", "nightly-1"}}.Encode()

	page := data[detail.One](s, "scheduledsparkapplications.sparkoperator.k8s.io/"+w.Namespace+"/nightly"+query, token).Schedule
	if page == nil || len(page.Runs) != 2 || len(page.Upcoming) == 0 || page.Compared == nil {
		t.Fatalf("the page has %+v", page)
	}

	if c := page.Compared; c.A.Name != "nightly-1" || len(c.Changes) != 1 || c.Changes[0] != (model.Change{Name: "spec.arguments", Before: `["0"]`, After: `["1"]`}) {
		t.Errorf("the comparison is %+v", c)
	}
}

// started returns the operator's status of a run that started at the given hour.
func started(hour int) *statusv1.OperatorStatus {
	at := metav1.NewMicroTime(time.Date(2026, 1, 2, hour, 0, 0, 0, time.UTC))
	return &statusv1.OperatorStatus{Attempt: 1, Phase: "Running", SubmittedAt: &at}
}

// TestConnectSessions reads the sessions of a Connect server from the tags of its jobs.
func TestConnectSessions(t *testing.T) {
	w, s := scene.New(t), serve(t)

	server := &v1alpha1.SparkConnect{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "shared"}, Spec: v1alpha1.SparkConnectSpec{SparkVersion: "4.1.4"}}
	w.Create(server)

	rest := http.NewServeMux()
	rest.HandleFunc("/api/v1/applications", func(out http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(out, `[{"id":"a"}]`) })
	rest.HandleFunc("/api/v1/applications/a/jobs", func(out http.ResponseWriter, _ *http.Request) {
		const tag = "SparkConnect_OperationTag_User_eve_x_Session_11-22_Operation_"
		fmt.Fprintf(out, `[{"submissionTime":"2026-01-02T12:00:09.000GMT","jobTags":["mine","%s2"]},{"submissionTime":"2026-01-02T12:00:01.000GMT","jobTags":["%s1"]},{"jobTags":["%s1"]},{"jobGroup":"x"}]`, tag, tag, tag)
	})
	driver(t, w, server, identity.RoleServer, "", rest)

	got := data[detail.One](s, "sparkconnects.sparkoperator.k8s.io/"+w.Namespace+"/shared", account(w, "ann", "pods", "events", "pods/proxy")).Connect
	if got == nil || len(got.Sessions) != 1 || got.Sessions[0].ID != "11-22" || got.Sessions[0].User != "eve_x" || got.Sessions[0].Queries != 2 {
		t.Fatalf("the sessions are %+v", got)
	}
}
