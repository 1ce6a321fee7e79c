package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/manifest"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/cmdline"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

func TestMain(m *testing.M) {
	asPlugin()
	ctrllog.SetLogger(logr.Discard()) // for code without the operator's logger, such as an informer
	kit.Main(m)
}

// recorder records the objects that an operator creates.
type recorder struct {
	mu   sync.Mutex
	made []*unstructured.Unstructured
}

// recording is an HTTP transport to the API server that records each successful creation as the client sent it.
type recording struct {
	*recorder
	next http.RoundTripper
}

func (r recording) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodPost || strings.Contains(request.URL.Path, "events") ||
		request.URL.Query().Get("dryRun") != "" {
		return r.next.RoundTrip(request)
	}

	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}

	request.Body = io.NopCloser(bytes.NewReader(body))

	response, err := r.next.RoundTrip(request)
	if object := decoded(body); object != nil && err == nil && response.StatusCode == http.StatusCreated {
		r.mu.Lock()
		defer r.mu.Unlock()

		r.made = append(r.made, object)
	}
	return response, err
}

// decoded returns the object in the body of a request, or nil if the body is not an object.
func decoded(body []byte) *unstructured.Unstructured {
	tree := &unstructured.Unstructured{}

	if object, kind, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(body, nil, nil); err == nil {
		object.GetObjectKind().SetGroupVersionKind(*kind)

		if body, err = json.Marshal(object); err != nil {
			return nil
		}
	}

	if tree.UnmarshalJSON(body) != nil {
		return nil
	}
	return tree
}

// of returns the objects that were created for an owner, in the order of their creation.
func (r *recorder) of(owner client.Object) (objects []*unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()

	for _, object := range r.made {
		for _, reference := range object.GetOwnerReferences() {
			if reference.UID == owner.GetUID() {
				objects = append(objects, object)
			}
		}
	}
	return objects
}

// runOperator runs a real operator until the end of the test, and records the objects that the operator creates.
func runOperator(t *testing.T, w *scene.World) *recorder {
	t.Helper()

	cfg := config.Default()
	cfg.Namespaces.Names = []string{w.Namespace}
	cfg.LeaderElection.Enabled = new(false)
	cfg.Metrics.BindAddress, cfg.Health.BindAddress = config.Off, config.Off
	rc := kit.Rest(t)
	record := &recorder{}
	rc.Wrap(func(next http.RoundTripper) http.RoundTripper { return recording{record, next} })

	op, err := operator.NewOperator(t.Context(), cfg,
		operator.Environment{Rest: rc, Log: w.Logger(), Registerer: prometheus.NewRegistry(), SkipNameValidation: true})
	if err != nil {
		t.Fatal(err)
	}

	ended := make(chan error, 1)
	go func() { ended <- op.Start(t.Context()) }()

	t.Cleanup(func() {
		if err := <-ended; err != nil {
			t.Errorf("the operator ended with %v", err)
		}
	})
	return record
}

// TestRenderIsWhatTheOperatorCreates checks, for examples of all kinds, that render prints byte for byte what a running
// operator sends to a real API server for the stored object. It also checks that the API server stores everything that
// the operator sends.
func TestRenderIsWhatTheOperatorCreates(t *testing.T) {
	w := scene.New(t)
	w.Create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace,
		Name: "spark-operator-spark"}})

	record := runOperator(t, w)
	for _, file := range []string{
		"../../examples/spark-pi.yaml", "../../examples/spark-pi-python.yaml", "../../examples/spark-pi-ui.yaml",
		"../../examples/spark-pi-metrics.yaml",
		"../../examples/spark-pi-spark-submit.yaml", "../../examples/spark-connect.yaml",
		"../../examples/apache-pi.yaml", "../../examples/apache-pi-python.yaml",
		"../../examples/apache-cluster.yaml", "../../examples/apache-cluster-hpa.yaml",
		"testdata/render/everything.yaml",
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		owner := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, owner); err != nil {
			t.Fatal(err)
		}

		owner.SetNamespace(w.Namespace)
		w.Create(owner)
		compareCreated(t, w, record, file, owner)
	}
}

func compareCreated(t *testing.T, w *scene.World, record *recorder, file string, owner *unstructured.Unstructured) {
	t.Helper()

	stored, err := owner.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}

	path := filepath.Join(t.TempDir(), "stored.json")
	if err := os.WriteFile(path, stored, 0o600); err != nil {
		t.Fatal(err)
	}

	rendered := func(at string) []string {
		args := []string{"render", "-f", path, "-o", "json", "--show-secrets"}
		if at != "" {
			args = append(args, "--submit-time", at)
		}

		got := run(t, args...)
		if got.code != exit.OK || got.out == "" {
			t.Fatalf("%s: exit code %d, %s", file, got.code, got.err)
		}
		return strings.Split(strings.TrimSpace(got.out), "\n")
	}
	want := len(rendered(""))
	var made []*unstructured.Unstructured
	kit.Wait(t, fmt.Sprintf("%d objects of %s", want, file), func(context.Context) error {
		if made = record.of(owner); len(made) < want {
			return fmt.Errorf("%d were created: %v", len(made), namesOf(made))
		}
		return nil
	})
	podFollows(t, file, made)

	created, printed := map[string]string{}, map[string]string{}
	for _, object := range made {
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}

		created[nameOfObject(object)] = string(text)
	}

	for _, line := range rendered(submitTimeOf(made)) {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON([]byte(line)); err != nil {
			t.Fatal(err)
		}

		text, err := json.Marshal(object) // with keys in the same order
		if err != nil {
			t.Fatal(err)
		}

		printed[nameOfObject(object)] = string(text)

		live := object.DeepCopy()
		if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(object), live); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}

		delete(object.Object, "status")

		if lost := missing("", object.Object, live.Object); len(lost) > 0 {
			t.Errorf("%s: %s as it is stored lacks %v", file, nameOfObject(object), lost)
		}
	}

	if diff := cmp.Diff(created, printed); diff != "" {
		t.Errorf("%s (-created by the operator +rendered):\n%s", file, diff)
	}
}

// podFollows checks that the operator creates a driver pod after the other objects of the attempt and before the
// auxiliary objects, which is the order in which render prints them.
func podFollows(t *testing.T, file string, made []*unstructured.Unstructured) {
	t.Helper()

	pod := slices.IndexFunc(made, func(object *unstructured.Unstructured) bool { return object.GetKind() == "Pod" })
	for i, object := range made {
		auxiliary := object.GetLabels()["sparkoperator.dev/content"] != "" || object.GetKind() == "PodDisruptionBudget"
		if pod >= 0 && i != pod && auxiliary != (i > pod) {
			t.Errorf("%s: %s is created as number %d, the pod as number %d", file, nameOfObject(object), i, pod)
		}
	}
}

func nameOfObject(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetName()
}

func namesOf(objects []*unstructured.Unstructured) (names []string) {
	for _, object := range objects {
		names = append(names, nameOfObject(object))
	}
	return names
}

// submitTimeOf returns the submit time that the operator wrote into the driver's properties, or "" if the objects have
// no such time.
func submitTimeOf(objects []*unstructured.Unstructured) string {
	for _, object := range objects {
		data, _, _ := unstructured.NestedStringMap(object.Object, "data")
		for line := range strings.Lines(data["spark.properties"]) {
			if text, ok := strings.CutPrefix(line, "spark.app.submitTime="); ok {
				if ms, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil {
					return time.UnixMilli(ms).UTC().Format(time.RFC3339Nano)
				}
			}
		}
	}
	return ""
}

// missing compares two JSON values, and returns the paths of the wanted values that the other JSON value lacks. It
// ignores additional values, because the API server adds fields, and adds items at the end of lists.
func missing(path string, want, got any) (lost []string) {
	switch want := want.(type) {
	case map[string]any:
		fields, _ := got.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if list, isList := want[key].([]any); want[key] == nil || isList && len(list) == 0 {
				continue
			}

			if object, isObject := want[key].(map[string]any); isObject && len(object) == 0 {
				continue
			}

			lost = append(lost, missing(path+"."+key, want[key], fields[key])...)
		}
	case []any:
		items, _ := got.([]any)
		for i := range want {
			if i >= len(items) {
				return append(lost, fmt.Sprintf("%s[%d]", path, i))
			}

			lost = append(lost, missing(fmt.Sprintf("%s[%d]", path, i), want[i], items[i])...)
		}
	default:
		if !cmp.Equal(want, got) {
			lost = append(lost, fmt.Sprintf("%s: %v, not %v", path, got, want))
		}
	}
	return lost
}

// secretSchedule is a schedule whose template has secrets in all places in which an application can have them.
const secretSchedule = `
apiVersion: sparkoperator.k8s.io/v1beta2
kind: ScheduledSparkApplication
metadata: {name: nightly, annotations: {kubectl.kubernetes.io/last-applied-configuration: hush}}
spec:
  schedule: "0 3 * * *"
  template:
    type: Scala
    sparkVersion: 4.1.4
    image: docker.io/apache/spark:4.1.4
    mainClass: org.apache.spark.examples.SparkPi
    mainApplicationFile: local:///opt/spark/examples/jars/spark-examples.jar
    sparkConf: {spark.hadoop.fs.s3a.secret.key: hush}
    hadoopConf: {fs.s3a.secret.key: hush}
    driver: {envVars: {DB_PASSWORD: hush}}
    executor: {env: [{name: DB_PASSWORD, value: hush}]}
`

// TestRenderedSecrets checks that the default output of render shows no secret, in any format.
func TestRenderedSecrets(t *testing.T) {
	const file = "testdata/render/everything.yaml"

	schedule := filepath.Join(t.TempDir(), "schedule.yaml")
	if err := os.WriteFile(schedule, []byte(secretSchedule), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, args := range [][]string{{"-f", file, "-o", "yaml"}, {"-f", file, "-o", "json"}, {"-f", file, "--spark-submit"}, {"-f", schedule}} {
		args = append([]string{"render"}, args...)

		got := run(t, args...)
		if got.code != exit.OK || strings.Contains(got.out, "hush") || !strings.Contains(got.out, "(redacted)") {
			t.Errorf("%v: exit code %d, %s\n%s", args, got.code, got.err, got.out)
		}

		if shown := run(t, append(args, "--show-secrets")...); !strings.Contains(shown.out, "hush") {
			t.Errorf("%v with --show-secrets hides them", args)
		}
	}

	data := run(t, "render", "-f", "../../examples/spark-pi-spark-submit.yaml")
	if !strings.Contains(data.out, "kind: Secret") ||
		!strings.Contains(data.out, "spark.properties: '*********(redacted)'") {
		t.Errorf("the data of a Secret is shown:\n%s", data.out)
	}
}

// TestRenderGolden checks the names of the objects of each example, in order, and one spark-submit command line.
func TestRenderGolden(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}

	var b strings.Builder
	for _, file := range files {
		got := run(t, "render", "-f", file, "-o", "name", "--submit-time", "2026-01-02T12:00:00Z")
		fmt.Fprintf(&b, "== %s: exit code %d\n%s%s", filepath.Base(file), got.code, got.out, got.err)
	}

	golden(t, "render/names.txt", b.String())
	golden(t, "render/everything.sh", run(t, "render", "-f", "testdata/render/everything.yaml", "--spark-submit").out)

	version := run(t, "render", "-f", "../../examples/spark-pi.yaml", "--spark-version", "3.5.7", "-n", "else", "-o",
		"json")
	if !strings.Contains(version.out, `"spark-version":"3.5.7"`) {
		t.Errorf("--spark-version has no effect:\n%s", version.out)
	}
}

// TestSubmitLineBuildsTheSameDriver checks that spark-submit builds the operator's driver pod from the printed command
// line, except for names, labels and the owner.
func TestSubmitLineBuildsTheSameDriver(t *testing.T) {
	for _, file := range []string{"../../examples/spark-pi.yaml", "../../examples/spark-pi-python.yaml",
		"testdata/render/everything.yaml", "../../examples/apache-pi.yaml"} {
		documents, err := manifest.Objects([]string{file}, terminal.Streams{Err: io.Discard}, "")
		if err != nil {
			t.Fatal(err)
		}

		object := documents[0].Object
		o := preview.Operator{Config: config.Default(), Now: scene.Noon}

		launched, err := o.Launch(object)
		if err != nil {
			t.Fatal(err)
		}

		line, err := preview.SubmitLine(o, object)
		if err != nil {
			t.Fatal(err)
		}

		r, _, err := cmdline.Parse(line.Args,
			cmdline.Submitter{SparkVersion: "4.1.4", ReadFile: func(path string) ([]byte, error) {
				return line.Files[strings.TrimPrefix(path, "/")], nil
			}})
		if err != nil {
			t.Fatalf("%s: %v\n%s", file, err, line)
		}

		driver := podIn(t, launched.Objects)
		r.AppID, r.ResourceNamePrefix, r.SubmitTime = driver.Labels["spark-app-selector"], "prefix", scene.Noon

		built, err := native.Build(r)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}

		if diff := cmp.Diff(neutral(t, driver), neutral(t, built.Driver)); diff != "" {
			t.Errorf("%s (-operator +spark-submit):\n%s", file, diff)
		}
	}
}

func podIn(t *testing.T, objects []client.Object) *corev1.Pod {
	t.Helper()

	for _, object := range objects {
		if pod, ok := object.(*corev1.Pod); ok {
			return pod
		}
	}

	t.Fatal("no pod")
	return nil
}

// neutral returns the spec of a driver pod in a form that can be compared: without the names of the objects that the
// pod mounts, and with the environment variables sorted by name. Spark-submit writes the variables in another order
// than the operator.
func neutral(t *testing.T, pod *corev1.Pod) corev1.PodSpec {
	t.Helper()

	spec := *pod.Spec.DeepCopy()
	for i := range spec.Volumes {
		if spec.Volumes[i].ConfigMap != nil {
			spec.Volumes[i].ConfigMap.Name = ""
		}

		if strings.HasPrefix(spec.Volumes[i].Name, "spark-local-dir") {
			spec.Volumes[i].Name = "spark-local-dir-1"
		}
	}

	for i := range spec.Containers {
		for j := range spec.Containers[i].VolumeMounts {
			mount := &spec.Containers[i].VolumeMounts[j]
			if strings.HasPrefix(mount.Name, "spark-local-dir") {
				mount.Name, mount.MountPath = "spark-local-dir-1", "/local"
			}
		}

		for j := range spec.Containers[i].Env {
			switch env := &spec.Containers[i].Env[j]; env.Name {
			case "SPARK_LOCAL_DIRS":
				env.Value = "/local"
			case "SPARK_USER":
				env.Value = ""
			}
		}

		slices.SortFunc(spec.Containers[i].Env, func(a, b corev1.EnvVar) int { return strings.Compare(a.Name, b.Name) })
	}
	return spec
}

func TestRenderUsage(t *testing.T) {
	for _, test := range []struct {
		args []string
		code exit.Code
		says string
	}{
		{nil, exit.Usage, "-f"},
		{[]string{"-f", "../../examples/spark-pi.yaml", "-o", "xml"}, exit.Usage, "xml"},
		{[]string{"-f", "../../examples/spark-pi.yaml", "--submit-time", "now"}, exit.Usage, "--submit-time"},
		{[]string{"-f", "/does/not/exist"}, exit.Invalid, "/does/not/exist"},
		{[]string{"-f", "../../examples/exposure-policy.yaml"}, exit.Invalid, "no custom resource"},
		{[]string{"-f", "testdata/lint/faults.yaml"}, exit.Invalid, "testdata/lint/faults.yaml:73:1"},
		{[]string{"-f", "testdata/lint/broken.yaml"}, exit.Invalid,
			"testdata/lint/broken.yaml:13:5: spec.driver.cores: is the text"},
		{[]string{"-f", "../../examples/apache-cluster.yaml", "--spark-submit"}, exit.Invalid, "SparkCluster"},
	} {
		if got := run(t, append([]string{"render"}, test.args...)...); got.code != test.code ||
			!strings.Contains(got.err, test.says) {
			t.Errorf("%v: exit code %d, %q", test.args, got.code, got.err)
		}
	}
}
