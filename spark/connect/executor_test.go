package connect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/spark/submit"
)

// template returns the executors' pod template from o's ConfigMap, as the server reads it.
func template(t *testing.T, o Objects) *corev1.Pod {
	t.Helper()

	pod := &corev1.Pod{}
	if err := yaml.Unmarshal([]byte(o.Config.Data[templateKey]), pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

func TestExecutorTemplate(t *testing.T) {
	r := minimal()
	r.ExecutorTemplate = []byte(`
metadata: {name: theirs, namespace: x, labels: {a: "1"}, annotations: {b: "2"}, ownerReferences: [{uid: u}]}
spec:
  nodeSelector: {zone: z}
  future: 1
  containers:
  - {name: side, image: s}
  - {name: spark-kubernetes-executor, image: e, env: [{name: A, value: "$(B)"}]}
`)
	o := build(t, r)

	pod := template(t, o)
	if pod.Kind != "Pod" || pod.Name+pod.Namespace != "" || len(pod.OwnerReferences) > 0 || pod.Labels["a"] != "1" ||
		pod.Annotations["b"] != "2" {
		t.Errorf("the pod is %s %+v", pod.Kind, pod.ObjectMeta)
	}

	spec := pod.Spec
	if spec.NodeSelector["zone"] != "z" || spec.EnableServiceLinks == nil || *spec.EnableServiceLinks ||
		len(spec.Containers) != 2 {
		t.Errorf("the spec is %+v", spec)
	}

	executor := spec.Containers[1]
	if executor.Name != "spark-kubernetes-executor" || executor.Env[0].Value != "$(B)" ||
		executor.TerminationMessagePolicy != "FallbackToLogsOnError" {
		t.Errorf("the container is %+v", executor)
	}

	if spec.Containers[0].TerminationMessagePolicy != "" {
		t.Errorf("the sidecar has changed: %+v", spec.Containers[0])
	}

	if !strings.Contains(o.Config.Data[templateKey], `"future": 1`) {
		t.Errorf("the field that no type knows is lost: %s", o.Config.Data[templateKey])
	}

	warned(t, o, "ExecutorTemplate: metadata.name", "ExecutorTemplate: metadata.namespace",
		"ExecutorTemplate: metadata.ownerReferences")
}

func TestContainerOfTheExecutors(t *testing.T) {
	for text, want := range map[string]string{
		"{}":                                 "spark-kubernetes-executor",
		"spec: {containers: [{image: x}]}":   "spark-kubernetes-executor",
		"spec: {containers: [{name: mine}]}": "mine",
		"spec: {containers: [{name: a}, {name: spark-kubernetes-executor}]}": "spark-kubernetes-executor",
	} {
		r := minimal()
		r.ExecutorTemplate = []byte(text)

		got := ""
		for _, c := range template(t, build(t, r)).Spec.Containers {
			if c.TerminationMessagePolicy != "" {
				got += c.Name
			}
		}

		if got != want {
			t.Errorf("%s: the executor's container is %q, want %q", text, got, want)
		}
	}
}

func TestNoTemplateNoFile(t *testing.T) {
	o := build(t, minimal("spark.kubernetes.executor.podTemplateFile", "/mine.yaml"))
	if len(o.Config.Data) > 0 || len(o.Server.Spec.Volumes) > 0 {
		t.Errorf("there are %v and %v", o.Config.Data, o.Server.Spec.Volumes)
	}

	if got := settings(t, o)["spark.kubernetes.executor.podTemplateFile"]; got != "/mine.yaml" {
		t.Errorf("the image's own template is %q", got)
	}
}

func TestExecutor(t *testing.T) {
	r := full()
	for key, value := range map[string]string{
		"spark.executor.memory": "2g", "spark.executor.cores": "3", "spark.kubernetes.executor.label.mine": "1",
		"spark.executorEnv.A": "b",
		// Keys that a submission in cluster mode would reject.
		"spark.jars": "/opt/mine.jar", "spark.driver.bindAddress": "127.0.0.1",
		"spark.kubernetes.executor.podTemplateFile": "/x",
	} {
		r.Conf.Set(key, value)
	}

	pod, err := Executor(r, 7, "uid-2")
	if err != nil {
		t.Fatal(err)
	}

	if pod.Name != "sc-exec-7" || pod.Namespace != "ns" || len(pod.OwnerReferences) != 1 ||
		pod.OwnerReferences[0].UID != "uid-2" {
		t.Errorf("the executor is %s/%s of %+v", pod.Namespace, pod.Name, pod.OwnerReferences)
	}

	for key, want := range map[string]string{"role": "exec", "mine": "1", "spark-role": "executor",
		"example.org/server": "sc", "example.org/attempt": "3", "spark-exec-id": "7"} {
		if pod.Labels[key] != want {
			t.Errorf("label %s is %q, want %q", key, pod.Labels[key], want)
		}
	}

	c := pod.Spec.Containers[0]
	if c.Image != "exec:1" || c.Resources.Requests.Cpu().String() != "3" ||
		c.Resources.Limits.Memory().String() != "2432Mi" {
		t.Errorf("the container is %s %v", c.Image, c.Resources)
	}
}

func TestExecutorRefusals(t *testing.T) {
	for key, value := range map[string]string{"spark.executor.memory": "x", "spark.executor.cores": "0",
		"spark.executor.instances":                "-1",
		"spark.kubernetes.executor.request.cores": "few", "spark.kubernetes.executor.label.a b": "1",
		"spark.ui.port": "0"} {
		_, err := Executor(minimal(key, value), 1, "")
		if wrong := refused(t, err); wrong.Key != key {
			t.Errorf("the error is %v, want one of %s", err, key)
		}
	}

	r := minimal()
	r.ExecutorTemplate = []byte("[")

	_, err := Executor(r, 1, "")
	if wrong := refused(t, err); wrong.Field != "ExecutorTemplate" {
		t.Errorf("the error is %v", err)
	}

	r.Image, r.ExecutorTemplate = "", nil
	if _, err = Executor(r, 1, ""); refused(t, err).Field != "Image" {
		t.Errorf("the error is %v", err)
	}
}

// FuzzTemplates checks that no template makes Build panic. It also checks that no template overrides a field of the
// server's pod that Build sets itself.
func FuzzTemplates(f *testing.F) {
	for _, text := range []string{string(full().ServerTemplate), string(full().ExecutorTemplate), "", "null", "[]", "{",
		"spec: 3", "a: &a [*a]",
		`{"spec":{"containers":[{"name":3}]}}`, `{"spec":{"containers":[{"future":[1,{"a":null}]},{"name":"x"}]}}`,
		`{"metadata":{"future":1}}`,
		`{"spec":{"volumes":[{"name":"spark-conf","future":1}],"restartPolicy":"Always"}}`} {
		f.Add(text, text)
	}

	f.Fuzz(func(t *testing.T, server, executor string) {
		r := minimal("spark.t", "é")
		r.ServerTemplate, r.ExecutorTemplate = []byte(server), []byte(executor)

		o, err := Build(r)
		if err != nil {
			if wrong := refused(t, err); wrong.Message == "" {
				t.Error("the error says nothing")
			}
			return
		}

		object, err := submit.Objects{Driver: o.Server, DriverExtra: o.ServerExtra}.DriverObject()
		if err != nil {
			t.Fatal(err)
		}

		text, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}

		pod := &corev1.Pod{}
		if err := yaml.Unmarshal(text, pod); err != nil {
			t.Fatalf("what is created is no pod: %v\n%s", err, text)
		}

		if pod.Name != "sc-server" || pod.Namespace != "ns" || pod.Spec.RestartPolicy != "Never" ||
			pod.Labels["spark-role"] != RoleServer ||
			len(pod.OwnerReferences) != 1 || pod.OwnerReferences[0].UID != "uid-1" || pod.Status.Phase != "" {
			t.Errorf("the pod is %+v %s", pod.ObjectMeta, pod.Spec.RestartPolicy)
		}

		if diff := cmp.Diff(settings(t, o)["spark.t"], "é"); diff != "" {
			t.Error(diff)
		}

		if executor != "" && template(t, o).Kind != "Pod" {
			t.Errorf("the executors' template is %s", o.Config.Data[templateKey])
		}
	})
}

// TestMemoryOfExecutor checks the keys that change the memory of an executor. Executor once ignored old names, and the
// language that makes Spark add Python's memory.
func TestMemoryOfExecutor(t *testing.T) {
	const language, python = "spark.kubernetes.resource.type", "spark.executor.pyspark.memory"

	for name, c := range map[string]struct {
		settings []string
		want     string
	}{
		"default":                           {nil, "1408Mi"},
		"overhead":                          {[]string{"spark.executor.memoryOverhead", "3g"}, "4Gi"},
		"old name of the overhead":          {[]string{"spark.yarn.executor.memoryOverhead", "3g"}, "4Gi"},
		"old name, with a reference":        {[]string{"spark.yarn.executor.memoryOverhead", "${spark.m}", "spark.m", "3g"}, "4Gi"},
		"both names":                        {[]string{"spark.executor.memoryOverhead", "1g", "spark.yarn.executor.memoryOverhead", "3g"}, "2Gi"},
		"off-heap memory":                   {[]string{"spark.memory.offHeap.enabled", "true", "spark.memory.offHeap.size", "1g"}, "2432Mi"},
		"old name of the off-heap memory":   {[]string{"spark.unsafe.offHeap", "true", "spark.memory.offHeap.size", "1g"}, "2432Mi"},
		"Python's memory":                   {[]string{language, "python", python, "1g"}, "2432Mi"},
		"Python's memory, with a reference": {[]string{language, "${spark.l}", "spark.l", "python", python, "1g"}, "2432Mi"},
		"Python's memory in Java":           {[]string{python, "1g"}, "1408Mi"},
		"the overhead in Python":            {[]string{language, "python", "spark.executor.memory", "10g"}, "11Gi"},
		"a factor in Python": {[]string{language, "python", "spark.executor.memory", "10g",
			"spark.kubernetes.memoryOverheadFactor", "0.2"}, "12Gi"},
	} {
		pod, err := Executor(minimal(c.settings...), 1, "")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}

		if diff := cmp.Diff(c.want, pod.Spec.Containers[0].Resources.Requests.Memory().String()); diff != "" {
			t.Errorf("%s: memory (-want +got):\n%s", name, diff)
		}
	}
}
