package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/record/bucket"
	"github.com/sparkoperator/spark-operator/internal/record/store"
	"github.com/sparkoperator/spark-operator/test/kit/gobuild"
)

// The places of kept logs: ConfigMaps, an object store, and an object store with streamInterval. Each is that of a
// namespace.
const (
	inMaps   = "maps"
	inStore  = "store"
	streamed = "stream"
)

// logNamespaces are the namespaces with an object store. Those of the other tests have ConfigMaps.
var logNamespaces = map[string]string{inStore: "kept-store", streamed: "kept-stream"}

// The name of the object store, and the interval of uploads to it.
const (
	logStore       = "log-store"
	streamInterval = "5s"
)

// logPlace is a namespace whose logs are kept in one of the places.
type logPlace struct {
	*suite
	namespace string
	sparkctl  string // the program
	logs      store.Logs
	url       string // of the store, for users; empty for ConfigMaps
}

// logPlaces upgrades the release so that it keeps logs, and returns the places. The upgrade is not undone. Another
// cluster than the embedded one has only the place with ConfigMaps.
func (w *suite) logPlaces(t *testing.T) map[string]*logPlace {
	t.Helper()

	sparkctl := gobuild.Must(t, ".", "./cmd/sparkctl")
	places := map[string]*logPlace{inMaps: {suite: w, namespace: "default", sparkctl: sparkctl, logs: store.ConfigMaps{Reader: w.Client}}}
	entries := []map[string]any{{"name": inMaps}}
	served := []string{"default"}

	if w.Embedded() {
		t.Setenv("AWS_ACCESS_KEY_ID", storeUser)
		t.Setenv("AWS_SECRET_ACCESS_KEY", storeSecret)
		w.startStore(t, logStore)

		const url = "s3://bucket/kept?region=us-east-1&use_path_style=true&endpoint=http://"
		for _, place := range []string{inStore, streamed} {
			namespace := logNamespaces[place]
			w.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"kept": place}}})

			entry := map[string]any{"name": place, "namespaceSelector": "kept=" + place,
				"store": fmt.Sprintf("%s%s.default.svc:%d", url, logStore, storePort)}
			if place == streamed {
				entry["streamInterval"] = streamInterval
			}

			entries, served = append(entries, entry), append(served, namespace)
			places[place] = &logPlace{suite: w, namespace: namespace, sparkctl: sparkctl}
		}
	}

	w.keepLogs(t, entries, served)

	if w.Embedded() {
		address, stop, err := w.Forward(t.Context(), "default", logStore, storePort)
		if err != nil {
			t.Fatal(err)
		}

		t.Cleanup(stop)

		for _, place := range []string{inStore, streamed} {
			places[place].reach(t, address)
		}
	}

	w.lifeProgram(t)

	for _, namespace := range served[1:] {
		program := configMapOf(t, "life-program", "testdata/life/main.py")
		program.Namespace = namespace
		w.create(t, program)
	}
	return places
}

// keepLogs upgrades the release so that it serves the given namespaces and keeps logs as the entries say. The History
// Server is switched off, because its volume exists in one namespace only.
func (w *suite) keepLogs(t *testing.T, entries []map[string]any, served []string) {
	t.Helper()

	args := []string{"--set", "historyServer.enable=false"}
	for value, content := range map[string]any{
		"logs": entries, "spark.jobNamespaces": served,
		"controller.env": []corev1.EnvVar{{Name: "AWS_ACCESS_KEY_ID", Value: storeUser}, {Name: "AWS_SECRET_ACCESS_KEY", Value: storeSecret}},
	} {
		text, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}

		args = append(args, "--set-json", value+"="+string(text))
	}

	w.upgrade(t, args...)
}

// reach opens the store at an address of this machine.
func (p *logPlace) reach(t *testing.T, address string) {
	t.Helper()

	p.url = "s3://bucket/kept?region=us-east-1&use_path_style=true&endpoint=http://" + address

	opened, err := store.OpenBucket(t.Context(), p.url, bucket.Hints{})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = opened.Close() })

	p.logs = opened
}

// attempt identifies an attempt of an object in the place.
func (*logPlace) attempt(o client.Object, number int32) store.Attempt {
	kind := kinds.Of(o)
	return store.Attempt{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Namespace: o.GetNamespace(), Name: o.GetName(),
		UID: o.GetUID(), Number: number}
}

// awaitIndex waits until the index of an attempt is as wanted, and returns it.
func (p *logPlace) awaitIndex(t *testing.T, o client.Object, number int32, goal string, done func(*store.Index) bool) (index *store.Index) {
	t.Helper()
	eventually(t, patience, goal, func() (string, bool) {
		var err error

		index, err = p.logs.Index(t.Context(), p.attempt(o, number))
		if err == nil && index != nil && done(index) {
			return "", true
		}

		text, _ := json.MarshalIndent(index, "", " ")
		return fmt.Sprintf("the index of attempt %d is %s, %v\n%s", number, text, err, p.describe(t, o)), false
	})
	return index
}

// isWhole reports whether the whole log of the driver is kept.
func isWhole(x *store.Index) bool {
	d := x.Driver
	return d != nil && d.Name != "" && d.Missing == "" && d.Partial == "" && !d.Truncated()
}

// awaitWhole waits until the whole log of an attempt's driver is kept.
func (p *logPlace) awaitWhole(t *testing.T, o client.Object, number int32) *store.Index {
	t.Helper()
	return p.awaitIndex(t, o, number, "the whole log of "+o.GetName(), isWhole)
}

// awaitLogs waits until the status has the wanted result about the logs.
func (p *logPlace) awaitLogs(t *testing.T, o client.Object, goal string, done func(*statusv1.OperatorLogs) bool) {
	t.Helper()
	awaitObject(t, p.suite, o, patience, goal, func(o client.Object) bool {
		status := kube.OperatorStatus(o)
		return status != nil && status.Logs != nil && done(status.Logs)
	})
}

// isKept returns a condition for awaitLogs: the log of the attempt is kept, and nothing of it is missing.
func isKept(number int32) func(*statusv1.OperatorLogs) bool {
	return func(l *statusv1.OperatorLogs) bool { return l.Attempt == number && l.KeptAt != nil && l.Reason == "" }
}

// text returns the text of a file in the place.
func (p *logPlace) text(t *testing.T, o client.Object, number int32, file string) string {
	t.Helper()

	in, err := p.logs.Open(t.Context(), p.attempt(o, number), file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()

	plain, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}

	text, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// log runs `sparkctl log` as a user of the place, and returns what it prints.
func (p *logPlace) log(t *testing.T, o client.Object, args ...string) (text, notes string, err error) {
	t.Helper()

	cmd := exec.CommandContext(t.Context(), p.sparkctl,
		append([]string{"log", kinds.Of(o).Name + "/" + o.GetName(), "--kubeconfig", p.Kubeconfig(), "-n", p.namespace}, args...)...)
	if p.url != "" {
		cmd.Env = append(os.Environ(), "SPARK_LOG_STORE="+p.url)
	}
	var out, errors bytes.Buffer

	cmd.Stdout, cmd.Stderr = &out, &errors
	err = cmd.Run()
	return out.String(), errors.String(), err
}

// printed returns what `sparkctl log` prints. It has to succeed.
func (p *logPlace) printed(t *testing.T, o client.Object, args ...string) string {
	t.Helper()

	text, notes, err := p.log(t, o, args...)
	if err != nil {
		t.Fatalf("sparkctl log %s %s: %v\n%s", o.GetName(), strings.Join(args, " "), err, notes)
	}
	return text
}

// untilLogged waits until the log of an object's driver, which runs, has a line with a text.
func (p *logPlace) untilLogged(t *testing.T, o client.Object, role, line string) *corev1.Pod {
	t.Helper()

	var pod corev1.Pod
	eventually(t, patience, fmt.Sprintf("%q in the log of %s", line, o.GetName()), func() (string, bool) {
		pods := p.podsOf(t, o, role)
		if len(pods) != 1 {
			return p.describe(t, o), false
		}

		pod = pods[0]

		text, err := p.Core.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
		return fmt.Sprintf("%v\n%s", err, text), strings.Contains(string(text), line)
	})
	return &pod
}

// deletePods deletes all pods of an object that has ended, and waits until they are gone.
func (p *logPlace) deletePods(t *testing.T, o client.Object) {
	t.Helper()

	namespace, labels := client.InNamespace(o.GetNamespace()), client.MatchingLabels{labelAppUID: string(o.GetUID())}
	if err := p.Client.DeleteAllOf(t.Context(), &corev1.Pod{}, namespace, labels); err != nil {
		t.Fatal(err)
	}

	eventually(t, patience, "deletion of the pods", func() (string, bool) {
		var pods corev1.PodList
		if err := p.Client.List(t.Context(), &pods, namespace, labels); err != nil {
			t.Fatal(err)
		}
		return strings.Join(objectNames(&pods), ", "), len(pods.Items) == 0
	})
}

// outlives checks that `sparkctl log` prints the log of an attempt with and without its pod alike, with a line that the
// driver wrote. The object has ended.
func (p *logPlace) outlives(t *testing.T, o client.Object, number int32, role, line string) {
	t.Helper()

	attempt, before := fmt.Sprintf("--attempt=%d", number), ""
	if pods := p.podsOf(t, o, role); slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.DeletionTimestamp == nil }) {
		before = p.printed(t, o, attempt)
	}

	p.deletePods(t, o)

	after := p.printed(t, o, attempt)
	if !strings.Contains(after, line) {
		t.Errorf("the kept log lacks %q:\n%s", line, after)
	}

	if before != "" && before != after {
		t.Errorf("sparkctl log of the pod:\n%s\nand of the kept log:\n%s", before, after)
	}
}
