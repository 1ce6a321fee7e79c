package connect

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

var update = flag.Bool("update", false, "write the golden files anew")

// minimal returns the Request of a minimal server, with the given configuration pairs.
func minimal(pairs ...string) Request {
	c := conf.New()
	for i := 0; i < len(pairs); i += 2 {
		c.Set(pairs[i], pairs[i+1])
	}
	return Request{
		Name: "sc", Namespace: "ns", SparkVersion: "4.1.4", Image: "spark:4.1.4", Conf: c,
		Owner:        metav1.OwnerReference{APIVersion: "example.org/v1", Kind: "Connect", Name: "sc", UID: "uid-1"},
		Labels:       map[string]string{"example.org/server": "sc", "example.org/attempt": "3"},
		ObjectLabels: map[string]string{"example.org/of": "sc"},
		Selector:     map[string]string{"example.org/server": "sc"},
	}
}

// full returns a Request that uses every feature.
func full() Request {
	r := minimal(
		"spark.driver.cores", "2",
		"spark.driver.memory", "4g",
		"spark.sql.text", "it's \"quoted\" $HOME $(POD_IP) $$",
		"spark.sql.greeting", "żółć",
		"spark.ui.port", "4141",
		"spark.connect.grpc.binding.port", "15003",
		"spark.kubernetes.namespace", "elsewhere",
		"spark.kubernetes.driver.label.team", "a",
		"spark.kubernetes.driver.annotation.note", "n",
		"spark.kubernetes.authenticate.driver.serviceAccountName", "spark",
		"spark.kubernetes.container.image.pullPolicy", "Always",
		"spark.kubernetes.container.image.pullSecrets", "one, two",
	)
	r.Annotations = map[string]string{"example.org/hash": "h"}
	r.ServerTemplate = []byte(`
metadata: {name: theirs, labels: {mine: "1", spark-role: other}, annotations: {a: b}}
spec:
  future: 1
  restartPolicy: Always
  containers:
  - {name: side, image: "side:1", lifecycleFuture: {x: z}}
  - name: spark-kubernetes-driver
    env: [{name: WHERE, value: "http://$(POD_IP)"}, {name: POD_IP, value: "1.2.3.4"}]
    ports: [{name: metrics, containerPort: 8090}]
    lifecycle: {preStop: {exec: {command: ["true"]}}}
    resources: {requests: {cpu: 100m}}
    startupProbe: {tcpSocket: {port: 15003}, failureThreshold: 99}
    volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, emptyDir: {}}]
`)
	r.ExecutorTemplate = []byte(`{"metadata":{"labels":{"role":"exec"}},"spec":{"future":[1],"containers":[{"name":"spark-kubernetes-executor","image":"exec:1"}]}}`)
	return r
}

func TestGolden(t *testing.T) {
	for name, r := range map[string]Request{"minimal": minimal(), "full": full()} {
		t.Run(name, func(t *testing.T) {
			o := build(t, r)

			server, err := submit.Objects{Driver: o.Server, DriverExtra: o.ServerExtra}.DriverObject()
			if err != nil {
				t.Fatal(err)
			}

			base := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort}}

			service, err := Service(r, base)
			if err != nil {
				t.Fatal(err)
			}

			got := ""
			for _, object := range []any{o.Config, server, service, texts(o)} {
				text, err := yaml.Marshal(object)
				if err != nil {
					t.Fatal(err)
				}

				got += "---\n" + string(text)
			}

			path := filepath.Join("testdata", name+".yaml")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}

			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("objects differ from %s (-want +got; run with -update to accept):\n%s", path, diff)
			}
		})
	}
}

func build(t *testing.T, r Request) Objects {
	t.Helper()

	o, err := Build(r)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// container returns the container of the server's pod that has the given name.
func container(t *testing.T, o Objects, name string) *corev1.Container {
	t.Helper()

	for i := range o.Server.Spec.Containers {
		if c := &o.Server.Spec.Containers[i]; c.Name == name {
			return c
		}
	}

	t.Fatalf("the pod has no container %q", name)
	return nil
}

// refused returns err as a *submit.Error, and fails the test if err has another type.
func refused(t *testing.T, err error) *submit.Error {
	t.Helper()

	wrong, ok := errors.AsType[*submit.Error](err)
	if !ok {
		t.Fatalf("the error is %T %v, want one that names key or field", err, err)
	}

	if wrong.Key == "" == (wrong.Field == "") {
		t.Errorf("%v: exactly one of key and field should be named", err)
	}
	return wrong
}

func TestRefusals(t *testing.T) {
	const bad = "\xff"
	long := strings.Repeat("n", 57)
	big := strings.Repeat("x", maxConfigMap)
	template := func(text string) func(*Request) { return func(r *Request) { r.ServerTemplate = []byte(text) } }

	set := func(key, value string) func(*Request) { return func(r *Request) { r.Conf.Set(key, value) } }
	for name, c := range map[string]struct {
		change func(*Request)
		// names is the expected key or field, says a part of the message.
		names, says string
	}{
		"no name":             {func(r *Request) { r.Name = "" }, "Name", "cannot be a server's name"},
		"a name too long":     {func(r *Request) { r.Name = long }, "Name", "63 characters"},
		"a name with a digit": {func(r *Request) { r.Name = "1a" }, "Name", "1a-server"},
		"a name with a dot":   {func(r *Request) { r.Name = "a.b" }, "Name", "a.b-server"},
		"no namespace": {func(r *Request) { r.Namespace = "" }, "Namespace",
			"is not a valid namespace name"},
		"a master other than Kubernetes": {func(r *Request) { r.Master = "yarn" }, "Master", "k8s://"},
		"no image":                       {func(r *Request) { r.Image = "" }, "Image", "need an image"},
		"an image only for the server": {func(r *Request) { r.Image = ""; r.Conf.Set(executorImageKey, "e") },
			"Image", "the server needs an image"},
		"a label of Spark": {func(r *Request) { r.Labels["spark-role"] = "x" }, "Labels",
			"Spark's own"},
		"an invalid label name": {func(r *Request) { r.Labels["a b"] = "x" }, "Labels",
			"not a valid label name"},
		"an invalid label value": {func(r *Request) { r.ObjectLabels["a"] = "x y" }, "ObjectLabels",
			"not a valid label value"},
		"a selector of Spark": {func(r *Request) { r.Selector["spark-version"] = "4" }, "Selector",
			"Spark's own"},
		"a driver label of Spark": {set("spark.kubernetes.driver.label.spark-role", "x"),
			"spark.kubernetes.driver.label.spark-role", "Spark's own"},
		"a driver annotation": {set("spark.kubernetes.driver.annotation.a b", "x"),
			"spark.kubernetes.driver.annotation.a b", "not a valid annotation name"},
		"a pull policy": {set("spark.kubernetes.container.image.pullPolicy", "Sometimes"),
			"spark.kubernetes.container.image.pullPolicy", "Always, Never or IfNotPresent"},
		"a port that is not a number": {set("spark.ui.port", "x"), "spark.ui.port", ""},
		"any port": {set("spark.connect.grpc.binding.port", "0"),
			"spark.connect.grpc.binding.port", "from 1 to 65535"},
		"a port too high": {set("spark.driver.port", "65536"), "spark.driver.port",
			"from 1 to 65535"},
		"two equal ports":                 {set("spark.ui.port", "7078"), "spark.ui.port", "spark.driver.port"},
		"memory that is not a size":       {set("spark.driver.memory", "much"), "spark.driver.memory", ""},
		"more memory than a JVM can have": {set("spark.driver.memory", "2gb"), "spark.driver.memory", ""},
		"no cores":                        {set("spark.driver.cores", "0"), "spark.driver.cores", "more than zero"},
		"cores that are not an amount": {set("spark.kubernetes.driver.request.cores", "few"),
			"spark.kubernetes.driver.request.cores", ""},
		"a value that is not UTF-8":    {set("spark.x", bad), "spark.x", "UTF-8"},
		"a key that is not UTF-8":      {set("spark.x"+bad, "1"), "spark.x?", "UTF-8"},
		"blanks and a carriage return": {set("spark.x", " a\r"), "spark.x", "blanks at its ends"},
		"blanks and NUL":               {set("spark.x", "a\x00b "), "spark.x", "blanks at its ends"},
		"blanks and a long value": {set("spark.x", strings.Repeat("y", argumentLimit)+" "), "spark.x",
			"blanks at its ends"},
		"a configuration that is too large": {set("spark.x", big), "Conf", "more than a ConfigMap holds"},
		"an invalid server template":        {template("- 1"), "ServerTemplate", "is not a pod template"},
		"a template of another kind": {template("kind: Deployment"), "ServerTemplate",
			"the API server accepts only Pod"},
		"a template field of a wrong type": {template("spec: {containers: 3}"), "ServerTemplate", "spec.containers"},
		"an invalid executor template": {func(r *Request) { r.ExecutorTemplate = []byte("{") }, "ExecutorTemplate",
			"is not a pod template"},
		"a big executor template": {func(r *Request) {
			r.ExecutorTemplate = []byte(`{"spec":{"hostname":"` +
				big + `"}}`)
		}, "ExecutorTemplate", "more than a ConfigMap holds"},
		"a volume with a reserved name": {func(r *Request) {
			r.ExecutorTemplate = []byte("{}")
			r.ServerTemplate = []byte("spec: {volumes: [{name: spark-conf, emptyDir: {}}]}")
		}, "ServerTemplate", `"spark-conf" is reserved`},
		"a mount at a reserved path": {func(r *Request) {
			r.ExecutorTemplate = []byte("{}")
			r.ServerTemplate = []byte("spec: {containers: [{volumeMounts: [{name: v, mountPath: /tmp/spark/executor-pod-template.yaml/}]}]}")
		}, "ServerTemplate", "/tmp/spark/executor-pod-template.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			r := minimal()
			c.change(&r)
			_, err := Build(r)

			wrong := refused(t, err)
			if got := wrong.Key + wrong.Field; got != c.names {
				t.Errorf("the error names %q, want %q: %v", got, c.names, err)
			}

			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("the error is %q, want %q in it", err, c.says)
			}

			if len(err.Error()) > 600 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestASecretIsNotShown(t *testing.T) {
	for _, value := range []string{" hunter2é", " hunter2\r", "hunter2 "} {
		_, err := Build(minimal("spark.ssl.password", value))
		if wrong := refused(t, err); wrong.Key != "spark.ssl.password" || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error is %v", err)
		}
	}

	o := build(t, minimal("spark.ssl.password", "hunter2é\r"))
	if len(o.Warnings) != 0 {
		t.Errorf("warnings are %q", o.Warnings)
	}
}

func TestBuildLeavesTheRequestAlone(t *testing.T) {
	r, want := full(), full()
	build(t, r)

	if _, err := Service(r, nil); err != nil {
		t.Fatal(err)
	}

	if _, err := Executor(r, 1, "uid-2"); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(want.Conf.Map(), r.Conf.Map()); diff != "" {
		t.Errorf("the configuration has changed (-want +got):\n%s", diff)
	}

	r.Conf, want.Conf = nil, nil
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("the request has changed (-want +got):\n%s", diff)
	}
}

func TestTheSameRequestGivesTheSameObjects(t *testing.T) {
	want := build(t, full())
	for range 20 {
		if diff := cmp.Diff(want, build(t, full())); diff != "" {
			t.Fatalf("objects differ (-first +later):\n%s", diff)
		}
	}
}

func TestNumberOfWarningsIsLimited(t *testing.T) {
	r := minimal()
	for _, c := range "abcdefghijklmnopqrstuvwxyz" {
		r.Conf.Set("foreign."+string(c), "1")
	}

	if o := build(t, r); len(o.Warnings) != conf.MaxWarnings {
		t.Errorf("there are %d warnings, want %d", len(o.Warnings), conf.MaxWarnings)
	}
}

func TestWithoutAnOwnerNothingIsOwned(t *testing.T) {
	r := minimal()
	r.Owner = metav1.OwnerReference{}

	o := build(t, r)
	if len(o.Config.OwnerReferences)+len(o.Server.OwnerReferences) > 0 {
		t.Errorf("owners are %v and %v", o.Config.OwnerReferences, o.Server.OwnerReferences)
	}
}
