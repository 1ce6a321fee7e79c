package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
	"github.com/sparkoperator/spark-operator/test/kit/gobuild"
)

// historyServerName is the name of the History Server's Deployment and Service.
const historyServerName = cluster.Release + "-history"

// historyServer runs Spark's History Server on the volume of the documentation. Applications of both API groups end and
// lose their pods, and a driver is killed. Their stages and SQL plans must be visible through the links in the statuses
// and through sparkctl. While the applications run, the server is down. The logs of the drivers are kept in ConfigMaps,
// which sparkctl prints.
//
// It upgrades the release and does not undo this change.
func (w *suite) historyServer(t *testing.T) {
	w.needsEmbedded(t, "a directory of its node")

	logs := filepath.Join(w.Dir, "spark-events")
	if err := os.Mkdir(logs, 0o777); err != nil {
		t.Fatal(err)
	}

	if err := os.Chmod(logs, 0o777); err != nil { //nolint:gosec // drivers write there as another user
		t.Fatal(err)
	}

	w.historyVolumes(t, logs)

	agent, err := os.ReadFile(agentJar(t))
	if err == nil {
		err = os.WriteFile(filepath.Join(logs, ".agent.jar"), agent, 0o644) //nolint:gosec // for another user
	}

	if err != nil {
		t.Fatal(err)
	}

	front := newHistoryFront(t)
	w.upgrade(t, "--set", "historyServer.enable=true", "--set", "historyServer.logDirectory=file:///spark-events",
		"--set", "logs[0].name=all", "--set", "historyServer.volume.persistentVolumeClaim.claimName=spark-events", "--set", "historyServer.url="+front.URL,
		"--set", "historyServer.properties.spark\\.history\\.fs\\.update\\.interval=2s",
		"--set", "historyServer.metrics.jmxExporterJar=/spark-events/.agent.jar")

	w.scrape(t, w.historyPod(t), w.historyPod(t).Annotations, nil, "jvm_memory_used_bytes")
	w.scaleHistory(t, 0)

	w.create(t, configMapOf(t, "history-program", "testdata/history/main.py"))
	ended, killed, apache := w.historyApp(t, "history-ends"), w.historyApp(t, "history-killed", "kill"), historyApacheApp(t)

	for _, o := range []client.Object{ended, killed, apache} {
		w.create(t, o)
	}

	w.awaitEnd(t, ended, patience, v1beta2.ApplicationStateCompleted)
	w.awaitApache(t, apache, patience, appReleased)
	w.awaitEnd(t, killed, patience, v1beta2.ApplicationStateFailed)

	for _, o := range []client.Object{ended, killed} {
		if err := w.Client.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(o.GetNamespace()), client.MatchingLabels{labelAppUID: string(o.GetUID())}); err != nil {
			t.Fatal(err)
		}
	}

	w.scaleHistory(t, 1)

	address, stop, err := w.Forward(t.Context(), cluster.Namespace, historyServerName, 18080)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()

	front.leadTo(t, address)

	sparkctl := gobuild.Must(t, ".", "./cmd/sparkctl")

	for _, test := range []struct {
		object    client.Object
		verb      string
		id, link  string
		completed bool
	}{
		{ended, "app/history-ends", ended.Status.SparkApplicationID, ended.Status.Operator.HistoryServerURL, true},
		{apache, "apache-app/history-apache", apache.Status.Operator.AttemptID, apache.Status.Operator.HistoryServerURL, true},
		{killed, "app/history-killed", killed.Status.SparkApplicationID, killed.Status.Operator.HistoryServerURL, false},
	} {
		t.Run(test.object.GetName(), func(t *testing.T) {
			verb := func(args ...string) *exec.Cmd {
				return exec.CommandContext(t.Context(), sparkctl, append(args, test.verb, "--kubeconfig", w.Kubeconfig(), "-n", test.object.GetNamespace())...)
			}
			ui := func(args ...string) *exec.Cmd { return verb(append([]string{"ui", "--no-browser"}, args...)...) }

			printed := "rows: 7\n"
			if !test.completed { // the JVM is killed before it has passed on what the program prints
				printed = "NativeCodeLoader"
			}

			if text, err := verb("log").Output(); err != nil || !strings.Contains(string(text), printed) {
				t.Errorf("sparkctl log: %v\n%s", err, text)
			}

			if want := front.URL + "/history/" + test.id + "/"; test.link != want {
				t.Fatalf("the link is %q, want %q", test.link, want)
			}

			if text, err := ui().CombinedOutput(); err != nil || !strings.Contains(string(text), "are at "+test.link+"\n") {
				t.Errorf("sparkctl ui: %v\n%s", err, text)
			}

			checkHistory(t, test.link, test.id, test.completed)
			w.forwardedUI(t, ui("--attempt", "1"), "jobs/", test.id)
		})
	}

	for _, o := range []client.Object{ended, killed, apache} {
		w.remove(t, o)
	}

	// Servers of later tests have no volume. With --reuse-values, the stored values of the chart would bring it back.
	w.upgrade(t, "--reuse-values=false", "--reset-then-reuse-values", "--set", "historyServer.enable=false", "--set", "historyServer.volume=null")
}

// historyVolumes creates the volumes of the documentation, for another directory of the node.
func (w *suite) historyVolumes(t *testing.T, directory string) {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(root, "examples/history-volume.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	file := filepath.Join(t.TempDir(), "volume.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "/var/lib/spark-events", directory)), 0o600); err != nil {
		t.Fatal(err)
	}

	if err := w.Kubectl(t.Context(), "apply", "-f", file); err != nil {
		t.Fatal(err)
	}
}

// historyApp returns an application that runs a query on the driver and one executor.
func (w *suite) historyApp(t *testing.T, name string, args ...string) *v1beta2.SparkApplication {
	t.Helper()
	return w.example(t, "spark-pi-python.yaml", func(a *v1beta2.SparkApplication) {
		a.Name, a.Spec.Arguments = name, args
		a.Spec.MainApplicationFile = "local:///opt/history/main.py"
		a.Spec.Volumes = []corev1.Volume{historyProgram}
		a.Spec.Driver.VolumeMounts = []corev1.VolumeMount{{Name: historyProgram.Name, MountPath: "/opt/history"}}
	})
}

// historyProgram is the volume with the driver's program.
var historyProgram = corev1.Volume{Name: "program", VolumeSource: corev1.VolumeSource{
	ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "history-program"}},
}}

func historyApacheApp(t *testing.T) *sparkv1.SparkApplication {
	t.Helper()
	app := apacheApp(t, "history-apache", `{pyFiles: "local:///opt/history/main.py"}`)
	app.Spec.DriverSpec = &sparkv1.PodTemplate{PodTemplateSpec: raw(`{"spec": {
		"containers": [{"name": "spark-kubernetes-driver", "volumeMounts": [{"name": "program", "mountPath": "/opt/history"}]}],
		"volumes": [{"name": "program", "configMap": {"name": "history-program"}}]}}`)}
	return app
}

// configMapOf returns a ConfigMap with a file.
func configMapOf(t *testing.T, name, file string) *corev1.ConfigMap {
	t.Helper()

	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{filepath.Base(file): string(text)}}
}

// historyPod returns the pod of the History Server.
func (w *suite) historyPod(t *testing.T) *corev1.Pod {
	t.Helper()

	var pods corev1.PodList
	if err := w.Client.List(t.Context(), &pods, client.InNamespace(cluster.Namespace), client.MatchingLabels{"app.kubernetes.io/component": "history-server"}); err != nil {
		t.Fatal(err)
	}

	if len(pods.Items) != 1 {
		t.Fatalf("the History Server has the pods %v", objectNames(&pods))
	}
	return &pods.Items[0]
}

// scaleHistory stops or starts the History Server, and waits until it has stopped or is ready.
func (w *suite) scaleHistory(t *testing.T, replicas int32) {
	t.Helper()

	server := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: historyServerName}}
	w.patch(t, server, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
	eventually(t, 4*time.Minute, fmt.Sprintf("%d replicas of the History Server", replicas), func() (string, bool) {
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(server), server); err != nil {
			return err.Error(), false
		}

		status := server.Status
		return fmt.Sprintf("%+v", status), status.ObservedGeneration == server.Generation && status.Replicas == replicas && status.ReadyReplicas == replicas
	})
}

// checkHistory checks that the pages of an application and the History Server's REST API show its stages and SQL plans.
func checkHistory(t *testing.T, link, id string, completed bool) {
	t.Helper()

	base, _, _ := strings.Cut(link, "/history/")

	var known struct {
		Attempts []struct{ Completed bool }
	}

	eventually(t, patience, "the application "+id, func() (string, bool) {
		answer, err := http.Get(base + "/api/v1/applications/" + id)
		if err != nil {
			return err.Error(), false
		}
		defer func() { _ = answer.Body.Close() }()

		return answer.Status, json.NewDecoder(answer.Body).Decode(&known) == nil && len(known.Attempts) == 1
	})

	if known.Attempts[0].Completed != completed {
		t.Errorf("the application is completed: %t", !completed)
	}

	for path, has := range map[string]string{
		"/api/v1/applications/" + id + "/stages":  `"COMPLETE"`,
		"/api/v1/applications/" + id + "/sql":     "HashAggregate",
		"/history/" + id + "/jobs/":               "Completed Jobs",
		"/history/" + id + "/stages/":             "Completed Stages",
		"/history/" + id + "/SQL/":                "Completed Queries",
		"/history/" + id + "/SQL/execution/?id=0": "HashAggregate",
	} {
		if text := fetch(t, base+path, http.StatusOK); !strings.Contains(text, has) {
			t.Errorf("%s lacks %q:\n%.2000s", path, has, text)
		}
	}
}

// historyFront is an HTTP server whose address is known before the address of the History Server.
type historyFront struct {
	*httptest.Server
	target atomic.Pointer[url.URL]
}

func newHistoryFront(t *testing.T) *historyFront {
	t.Helper()

	front := &historyFront{}
	front.Server = httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(front.target.Load())
		r.Out.Host = r.In.Host // redirects of the History Server contain it
	}})
	t.Cleanup(front.Close)
	return front
}

// leadTo sets the address of the History Server.
func (f *historyFront) leadTo(t *testing.T, address string) {
	t.Helper()

	target, err := url.Parse("http://" + address)
	if err != nil {
		t.Fatal(err)
	}

	f.target.Store(target)
}
