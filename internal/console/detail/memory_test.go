package detail_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/console/detail"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/record/store"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/kubelet"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// gate passes requests on to the API server, and counts them.
type gate struct {
	mu    sync.Mutex
	lines []string // the path of each request, and the form of the answer that it wants
}

// open opens a gate, and returns the address that clients of the API server use instead of its own.
func (g *gate) open(t *testing.T) *rest.Config {
	t.Helper()

	rc := rest.AnonymousClientConfig(kit.Rest(t))

	target, err := url.Parse(rc.Host)
	if err != nil {
		t.Fatal(err)
	}

	transport, err := rest.TransportFor(rc)
	if err != nil {
		t.Fatal(err)
	}

	pass := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.lines = append(g.lines, r.URL.Path+" "+r.Header.Get("Accept"))
		g.mu.Unlock()

		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// passed returns the number of requests since its last call whose line has a text, and the number that ask for the
// metadata only.
func (g *gate) passed(text string) (all, metadata int) {
	g.mu.Lock()
	defer g.mu.Unlock()

	for _, line := range g.lines {
		if strings.Contains(line, text) {
			all++

			if strings.Contains(line, "as=PartialObjectMetadata") {
				metadata++
			}
		}
	}

	g.lines = nil
	return all, metadata
}

// startOf returns the parts of the start on the page of an application. It reads the page and its JSON, so it loads the
// page twice.
func startOf(s *site, path, token string) string {
	s.t.Helper()

	var parts []string
	for _, step := range data[detail.One](s, path, token).Application.Start {
		parts = append(parts, step.Name+" "+step.Duration().String())
	}
	return strings.Join(parts, ", ")
}

// TestStartsAreReadOnce loads the page of an application again and again. The log and Spark's REST API are read again
// until the start is complete or the driver has ended, and then no more. Other users read for themselves, and those
// without the right get nothing, also if they lose it.
func TestStartsAreReadOnce(t *testing.T) {
	g := &gate{}
	w, s := scene.New(t), serveFrom(t, g.open(t))
	node := kubelet.Start(t, "once-"+w.Namespace)
	pod := driver(t, w, w.Application("pi", scene.WithDriver), identity.RoleDriver, node.Name, http.NotFoundHandler())
	path, log := app+"/"+w.Namespace+"/pi", "/pods/"+pod.Name+"/log"

	driverStarts(t, w)

	ann, bob, carl, less := account(w, "ann", "pods", "pods/log", "pods/proxy"), account(w, "bob"), account(w, "carl", "pods", "pods/log"), account(w, "less", "pods")
	expect := func(what, token, want string, reads int) {
		t.Helper()
		g.passed("")

		got := startOf(s, path, token)
		if all, _ := g.passed(log); got != want || all != reads {
			t.Errorf("%s: the start is %s after %d reads of the log, want %s after %d", what, got, all, want, reads)
		}
	}

	const spark, task = "2026-01-02T12:00:06Z Running Spark version 4.1.4\n", "2026-01-02T12:00:07Z Starting task 0.0 in stage 0.0 (TID 0)\n"

	node.Log(pod.Name, spark)
	expect("the first task is to come", ann, "volumes and image 0s, JVM 5s", 2)
	node.Log(pod.Name, spark+task)
	expect("it has come", ann, "volumes and image 0s, JVM 5s, first task 1s", 1)

	if all, _ := g.passed("/proxy/"); all > 0 {
		t.Errorf("Spark's REST API is read %d times after the first task", all)
	}

	node.Log(pod.Name, strings.ReplaceAll(spark+task, "12:00:06Z", "12:00:05Z"))
	expect("it is known", ann, "volumes and image 0s, JVM 5s, first task 1s", 0)
	expect("another user", carl, "volumes and image 0s, JVM 4s, first task 2s", 1)
	expect("no right to logs", less, "volumes and image 0s", 2)

	if status, text := s.get("/o/"+path, bob); status != http.StatusNotFound || strings.Contains(text, "first task") {
		t.Errorf("a user without rights gets %d: %s", status, text)
	}

	if err := w.API.Delete(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "ann"}}); err != nil {
		t.Fatal(err)
	}

	w.Create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "ann-less"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "less"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.Namespace, Name: "ann"}},
	})
	kit.Wait(t, "the loss of the right", func(context.Context) error {
		status, text := s.get("/o/"+path, ann)
		if status != http.StatusOK || strings.Contains(text, "first task") {
			return fmt.Errorf("the page answers %d, and has the start", status)
		}
		return nil
	})
}

// TestStartOfAnEndedDriverIsReadOnce checks that the log of a driver that has ended is read once, whatever it shows.
func TestStartOfAnEndedDriverIsReadOnce(t *testing.T) {
	g := &gate{}
	w, s := scene.New(t), serveFrom(t, g.open(t))
	node := kubelet.Start(t, "ended-"+w.Namespace)
	pod := driver(t, w, w.Application("pi", scene.WithDriver), identity.RoleDriver, node.Name, nil)

	driverStarts(t, w)

	pod.Status.Phase = corev1.PodFailed
	if err := w.API.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}

	ann := account(w, "ann", "pods", "pods/log")
	expect := func(what, want string, reads int) {
		t.Helper()
		g.passed("")

		got := startOf(s, app+"/"+w.Namespace+"/pi", ann)
		if all, _ := g.passed("/pods/" + pod.Name + "/log"); got != want || all != reads {
			t.Errorf("%s: the start is %s after %d reads of the log, want %s after %d", what, got, all, want, reads)
		}
	}

	node.Serve(pod.Name, func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(http.StatusInternalServerError) })
	expect("the node does not answer", "volumes and image 0s", 2)
	node.Log(pod.Name, "2026-01-02T12:00:06Z Running Spark version 4.1.4\n")
	expect("the node answers", "volumes and image 0s, JVM 5s", 1)
	node.Log(pod.Name, "")
	expect("the log is known", "volumes and image 0s, JVM 5s", 0)
}

// TestKeptLogsAreReadOnce loads the logs of ten attempts. Their ConfigMap is read once in each version, and its version
// once for each page. Other users read for themselves, and those without the right get nothing.
func TestKeptLogsAreReadOnce(t *testing.T) {
	g := &gate{}
	w, s := scene.New(t), serveFrom(t, g.open(t))
	created := w.Application("pi")

	before := created.DeepCopy()
	created.Status.Operator = &statusv1.OperatorStatus{Attempt: 10, Phase: "Failed"}

	if err := w.API.Status().Patch(t.Context(), created, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}

	attempt := store.Attempt{APIVersion: v1beta2.SchemeGroupVersion.String(), Kind: "SparkApplication", Namespace: w.Namespace, Name: "pi", UID: created.UID}
	keep := func(number int32) {
		t.Helper()

		a := attempt
		a.Number = number

		index := &store.Index{Driver: &store.File{Name: store.DriverFile, Pod: "pi-driver", PodUID: types.UID(fmt.Sprint(number))}, Attempt: a}
		if err := (store.ConfigMaps{Reader: w.API, Writer: w.API}).Save(t.Context(), index, map[string][]byte{store.DriverFile: nil}); err != nil {
			t.Fatal(err)
		}
	}

	ann, carl, less := account(w, "ann", "pods", "configmaps"), account(w, "carl", "pods", "configmaps"), account(w, "less", "pods")
	expect := func(what, token string, sources, reads, versions int) {
		t.Helper()
		g.passed("")

		logs := data[detail.Tab[model.Logs]](s, app+"/"+w.Namespace+"/pi/logs", token).Tab
		if all, metadata := g.passed("/configmaps/" + store.ConfigMapName(attempt)); len(logs.Sources) != sources || all-metadata != reads || metadata != versions {
			t.Errorf("%s: %d logs after %d reads, and %d of the version; want %d after %d, and %d", what, len(logs.Sources), all-metadata, metadata, sources, reads, versions)
		}
	}

	expect("nothing is kept", ann, 0, 0, 2)
	keep(1)
	keep(9)
	expect("two attempts", ann, 2, 1, 2)
	expect("again", ann, 2, 0, 2)
	keep(10)
	expect("a third attempt", ann, 3, 1, 2)
	expect("another user", carl, 3, 1, 2)
	expect("no right to ConfigMaps", less, 0, 0, 2)

	g.passed("")

	stream := "/o/" + app + "/" + w.Namespace + "/pi/logs/stream?pod=10/"
	response := s.open(stream, ann) //nolint:bodyclose // its cleanup closes the body

	if _, err := io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}

	if all, metadata := g.passed("/configmaps/"); all != 1 || metadata != 1 {
		t.Errorf("a log is shown after %d reads, %d of them of the version", all, metadata)
	}
}
