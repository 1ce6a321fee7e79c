package connect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sparkoperator/spark-operator/spark/submit"
)

// containers returns the names of the containers of the server's pod. An asterisk marks the container that runs the
// server.
func containers(o Objects) string {
	var names []string
	for _, c := range o.Server.Spec.Containers {
		if slices.Contains(c.Args, mainClass) {
			c.Name = "*" + c.Name
		}

		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}

func TestWhichContainerIsTheServer(t *testing.T) {
	for template, c := range map[string]struct{ want, annotated string }{
		"":                                   {"*spark-kubernetes-driver", ""},
		"null":                               {"*spark-kubernetes-driver", ""},
		"{}":                                 {"*spark-kubernetes-driver", ""},
		"spec: {containers: [{name: mine}]}": {"*mine", ""},
		"spec: {containers: [{image: x}]}":   {"*spark-kubernetes-driver", ""},
		"spec: {containers: [{name: a}, {name: b}]}":                                         {"*a b", "a"},
		"spec: {containers: [{name: a}, {name: spark-kubernetes-driver}]}":                   {"a *spark-kubernetes-driver", "spark-kubernetes-driver"},
		"spec: {containers: [{name: a}, {name: spark-kubernetes-driver}, {name: b}]}":        {"a *spark-kubernetes-driver b", "spark-kubernetes-driver"},
		"spec: {initContainers: [{name: spark-kubernetes-driver}], containers: [{name: a}]}": {"*a", ""},
	} {
		r := minimal()
		r.ServerTemplate = []byte(template)

		o := build(t, r)
		if got := containers(o); got != c.want {
			t.Errorf("%s: containers are %q, want %q", template, got, c.want)
		}

		if got := o.Server.Annotations[submit.DefaultContainerAnnotation]; got != c.annotated {
			t.Errorf("%s: the default container is %q, want %q", template, got, c.annotated)
		}
	}
}

func TestTheConfigurationNamesTheContainer(t *testing.T) {
	r := minimal("spark.kubernetes.driver.podTemplateContainerName", "b")
	r.ServerTemplate = []byte("metadata: {annotations: {kubectl.kubernetes.io/default-container: a}}\nspec: {containers: [{name: a}, {name: b}]}")

	o := build(t, r)
	if got := containers(o); got != "a *b" {
		t.Errorf("containers are %q", got)
	}

	if got := o.Server.Annotations[submit.DefaultContainerAnnotation]; got != "a" {
		t.Errorf("the default container is %q, want the template's", got)
	}
}

func TestMetadataOfThePod(t *testing.T) {
	r := minimal("spark.kubernetes.driver.label.mine", "conf", "spark.kubernetes.driver.label.example.org/server",
		"conf",
		"spark.kubernetes.driver.annotation.note", "conf", "spark.kubernetes.driver.annotation.hash", "conf")
	r.Annotations = map[string]string{"hash": "ours"}
	r.ServerTemplate = []byte(`{"metadata": {"name": "n", "generateName": "g", "namespace": "x", "uid": "u", "ownerReferences": [{"uid": "o"}], "finalizers": ["f/f"],
		"labels": {"mine": "template", "kept": "1", "spark-version": "9", "example.org/attempt": "3"},
		"annotations": {"note": "template", "kept": "1", "hash": "template"}}, "status": {"phase": "Failed"}}`)
	o := build(t, r)

	want := map[string]string{"mine": "conf", "kept": "1", "example.org/server": "sc", "example.org/attempt": "3",
		"spark-role": "connect-server", "spark-version": "4.1.4"}
	if diff := cmp.Diff(want, o.Server.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(map[string]string{"note": "conf", "kept": "1", "hash": "ours"},
		o.Server.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}

	meta := o.Server.ObjectMeta
	if meta.Name != "sc-server" || meta.Namespace != "ns" || meta.GenerateName != "" || meta.UID != "" ||
		!slices.Equal(meta.Finalizers, []string{"f/f"}) {
		t.Errorf("the metadata are %+v", meta)
	}

	if len(meta.OwnerReferences) != 1 || meta.OwnerReferences[0].UID != "uid-1" ||
		!*meta.OwnerReferences[0].Controller {
		t.Errorf("owners are %+v", meta.OwnerReferences)
	}

	if o.Server.Status.Phase != "" || o.ServerExtra != nil {
		t.Errorf("there are a status %q and fields %v", o.Server.Status.Phase, o.ServerExtra)
	}

	warned(t, o, "ServerTemplate: metadata.name", "ServerTemplate: metadata.generateName",
		"ServerTemplate: metadata.namespace", "ServerTemplate: metadata.ownerReferences",
		"spark-version has no effect", "spark.kubernetes.driver.label.example.org/server")
}

// texts returns the warnings of o as text.
func texts(o Objects) (out []string) {
	for _, warning := range o.Warnings {
		out = append(out, warning.String())
	}
	return out
}

// warned checks that each warning of o contains one of the texts in want, and that each of these texts is in a warning.
func warned(t *testing.T, o Objects, want ...string) {
	t.Helper()

	in := func(text string) func(string) bool {
		return func(warning string) bool { return strings.Contains(warning, text) }
	}

	got := texts(o)
	for _, text := range want {
		if !slices.ContainsFunc(got, in(text)) {
			t.Errorf("no warning says %q: %q", text, got)
		}
	}

	for _, warning := range got {
		if !slices.ContainsFunc(want, func(text string) bool { return in(text)(warning) }) {
			t.Errorf("unexpected warning: %s", warning)
		}
	}
}

func TestVersionLabel(t *testing.T) {
	for version, want := range map[string]string{"4.1.4": "4.1.4", "": "", "4.1.4+mine": "",
		"4.1-SNAPSHOT": "4.1-SNAPSHOT"} {
		r := minimal()

		r.SparkVersion = version
		if got := build(t, r).Server.Labels["spark-version"]; got != want {
			t.Errorf("%q: the label is %q, want %q", version, got, want)
		}
	}
}

func TestRestartPolicy(t *testing.T) {
	for policy, warns := range map[string]int{"": 0, "Never": 0, "Always": 1, "OnFailure": 1} {
		r := minimal()
		r.ServerTemplate = []byte(`{"spec":{"restartPolicy":"` + policy + `"}}`)

		o := build(t, r)
		if o.Server.Spec.RestartPolicy != corev1.RestartPolicyNever || len(o.Warnings) != warns {
			t.Errorf("%q: it is %s, warnings %q", policy, o.Server.Spec.RestartPolicy, o.Warnings)
		}
	}
}

func TestImages(t *testing.T) {
	const every = "spark.kubernetes.container.image"

	const template, executorTemplate = `{"spec":{"containers":[{"image":"t"}]}}`,
		`{"spec":{"containers":[{"image":"e"}]}}`
	for name, c := range map[string]struct {
		image, server, executor string
		conf                    []string
		// want are the images of the server and of the executors, and spark.kubernetes.container.image.
		want [3]string
	}{
		"image of the Request": {image: "r", want: [3]string{"r", "r", "r"}},
		"images of the templates": {server: template, executor: executorTemplate,
			want: [3]string{"t", "e", ""}},
		"templates override the Request": {image: "r", server: template, executor: executorTemplate,
			want: [3]string{"t", "e", "r"}},
		"only the executors' template": {image: "r", executor: executorTemplate,
			want: [3]string{"r", "e", "r"}},
		"of the configuration": {conf: []string{every, "c"}, want: [3]string{"c", "c", "c"}},
		"images of the configuration by role": {conf: []string{"spark.kubernetes.driver.container.image", "d",
			"spark.kubernetes.executor.container.image", "x"}, want: [3]string{"d", "x", ""}},
		"the configuration's image of executors": {image: "r", executor: executorTemplate,
			conf: []string{"spark.kubernetes.executor.container.image", "x"}, want: [3]string{"r", "x", "r"}},
		"the Request overrides the configuration": {image: "r", conf: []string{every, "c"},
			want: [3]string{"r", "r", "c"}},
		"a reference": {conf: []string{"spark.my.tag", "1", every, "c:${spark.my.tag}"},
			want: [3]string{"c:1", "c:1", "c:${spark.my.tag}"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := minimal(c.conf...)
			r.Image, r.ServerTemplate, r.ExecutorTemplate = c.image, []byte(c.server), []byte(c.executor)
			o := build(t, r)
			spark := o.Server.Spec.Containers[0]
			settings := settings(t, o)

			got := [3]string{spark.Image, settings["spark.kubernetes.executor.container.image"], settings[every]}
			if got != c.want {
				t.Errorf("images are %q, want %q", got, c.want)
			}
		})
	}
}

// settings returns the configuration that spark-submit gets from the container's arguments, without the setting that
// the script adds.
func settings(t *testing.T, o Objects) map[string]string {
	t.Helper()

	for _, c := range o.Server.Spec.Containers {
		if slices.Contains(c.Args, mainClass) {
			args := slices.Clone(c.Args[2:])
			for i := range args {
				args[i] = expand(args[i], nil)
			}
			return received(t, o, args)
		}
	}

	t.Fatal("there is no server")
	return nil
}

func TestTheTemplateWinsOverTheConfiguration(t *testing.T) {
	conf := []string{"spark.kubernetes.authenticate.driver.serviceAccountName", "c",
		"spark.kubernetes.container.image.pullPolicy", "Always",
		"spark.kubernetes.container.image.pullSecrets", "a,b"}
	for template, want := range map[string][3]string{
		"{}": {"c", "Always", "a b"},
		"spec: {serviceAccountName: t, imagePullSecrets: [{name: t}], containers: [{imagePullPolicy: Never}]}": {"t",
			"Never", "t"},
		"spec: {serviceAccount: old}": {"", "Always", "a b"},
	} {
		r := minimal(conf...)
		r.ServerTemplate = []byte(template)
		spec := build(t, r).Server.Spec

		var secrets []string
		for _, s := range spec.ImagePullSecrets {
			secrets = append(secrets, s.Name)
		}

		if got := [3]string{spec.ServiceAccountName, string(spec.Containers[0].ImagePullPolicy),
			strings.Join(secrets, " ")}; got != want {
			t.Errorf("%s: %q, want %q", template, got, want)
		}
	}
}

func TestResources(t *testing.T) {
	for name, c := range map[string]struct {
		conf      []string
		resources string
		// want are CPU and memory of the requests, then of the limits.
		want  string
		warns int
	}{
		"Spark's defaults": {want: "1 1408Mi / 0 1408Mi"},
		"cores and memory of the configuration": {conf: []string{"spark.driver.cores", "3", "spark.driver.memory",
			"8g"}, want: "3 9011Mi / 0 9011Mi"},
		"an explicit overhead": {conf: []string{"spark.driver.memoryOverhead", "1g"},
			want: "1 2Gi / 0 2Gi"},
		"an overhead factor": {conf: []string{"spark.driver.memory", "10g",
			"spark.driver.memoryOverheadFactor", "0.5"}, want: "1 15Gi / 0 15Gi"},
		"an overhead factor for all pods": {conf: []string{"spark.driver.memory", "10g",
			"spark.kubernetes.memoryOverheadFactor", "0.2"}, want: "1 12Gi / 0 12Gi"},
		"a minimum overhead": {conf: []string{"spark.driver.minMemoryOverhead", "1g"},
			want: "1 2Gi / 0 2Gi"},
		"cores as Kubernetes quantities": {conf: []string{"spark.kubernetes.driver.request.cores", "500m",
			"spark.kubernetes.driver.limit.cores", "2"}, want: "500m 1408Mi / 2 1408Mi"},
		"a value with a reference": {conf: []string{"spark.my.size", "2g", "spark.driver.memory",
			"${spark.my.size}"}, want: "1 2432Mi / 0 2432Mi"},
		"a template's request of CPU": {resources: `{"requests":{"cpu":"100m"}}`,
			want: "100m 1408Mi / 0 1408Mi"},
		"a template's limit of CPU":   {resources: `{"limits":{"cpu":"4"}}`, want: "0 1408Mi / 4 1408Mi"},
		"a template's request":        {resources: `{"requests":{"memory":"3Gi"}}`, want: "1 3Gi / 0 0"},
		"a template's limit":          {resources: `{"limits":{"memory":"3Gi"}}`, want: "1 0 / 0 3Gi"},
		"a template's CPU and memory": {resources: `{"requests":{"cpu":"2","memory":"2Gi"},"limits":{"cpu":"2","memory":"2Gi"}}`, want: "2 2Gi / 2 2Gi"},
		"a template's other resource": {resources: `{"limits":{"nvidia.com/gpu":"1"}}`,
			want: "1 1408Mi / 0 1408Mi"},
		"a limit below heap and overhead": {resources: `{"limits":{"memory":"1Gi"}}`, want: "1 0 / 0 1Gi",
			warns: 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := minimal(c.conf...)
			if c.resources != "" {
				r.ServerTemplate = []byte(`{"spec":{"containers":[{"resources":` + c.resources + `}]}}`)
			}

			o := build(t, r)
			res := o.Server.Spec.Containers[0].Resources

			got := res.Requests.Cpu().String() + " " + res.Requests.Memory().String() + " / " +
				res.Limits.Cpu().String() + " " + res.Limits.Memory().String()
			if got != c.want {
				t.Errorf("requests / limits are %q, want %q", got, c.want)
			}

			if len(o.Warnings) != c.warns {
				t.Errorf("warnings are %q", o.Warnings)
			}

			for key := range res.Limits {
				if key != corev1.ResourceCPU && key != corev1.ResourceMemory &&
					!strings.Contains(c.resources, string(key)) {
					t.Errorf("there is a limit of %s", key)
				}
			}
		})
	}
}

func TestResourcesOfThePod(t *testing.T) {
	r := minimal()
	r.ServerTemplate = []byte(`{"spec":{"resources":{"limits":{"memory":"4Gi"}}}}`)

	res := build(t, r).Server.Spec.Containers[0].Resources
	if !res.Requests.Memory().IsZero() || !res.Limits.Memory().IsZero() || res.Requests.Cpu().String() != "1" {
		t.Errorf("resources of the container are %v: the pod's memory is said as a whole", res)
	}
}

func TestPorts(t *testing.T) {
	for name, c := range map[string]struct {
		conf  []string
		ports string
		want  string
	}{
		"the default ports": {want: "driver-rpc:7078 blockmanager:7079 web-ui:4040 spark-connect:15002"},
		"ports of the configuration": {conf: []string{"spark.driver.port", "1", "spark.driver.blockManager.port", "2",
			"spark.ui.port", "3", "spark.connect.grpc.binding.port", "4"},
			want: "driver-rpc:1 blockmanager:2 web-ui:3 spark-connect:4"},
		"the template's other ports": {ports: `[{"name":"jmx","containerPort":8090}]`,
			want: "jmx:8090 driver-rpc:7078 blockmanager:7079 web-ui:4040 spark-connect:15002"},
		"declared already": {ports: `[{"name":"mine","containerPort":15002,"hostPort":1}]`,
			want: "mine:15002 driver-rpc:7078 blockmanager:7079 web-ui:4040"},
		"another protocol": {ports: `[{"name":"dns","containerPort":4040,"protocol":"UDP"}]`,
			want: "dns:4040 driver-rpc:7078 blockmanager:7079 web-ui:4040 spark-connect:15002"},
		"a name that is already used": {ports: `[{"name":"web-ui","containerPort":80}]`,
			want: "web-ui:80 driver-rpc:7078 blockmanager:7079 :4040 spark-connect:15002"},
	} {
		t.Run(name, func(t *testing.T) {
			r := minimal(c.conf...)
			if c.ports != "" {
				r.ServerTemplate = []byte(`{"spec":{"containers":[{"ports":` + c.ports + `}]}}`)
			}

			o := build(t, r)
			spark := &o.Server.Spec.Containers[0]

			var got []string
			for _, p := range spark.Ports {
				got = append(got, fmt.Sprintf("%s:%d", p.Name, p.ContainerPort))
			}

			if strings.Join(got, " ") != c.want {
				t.Errorf("ports are %q, want %q", strings.Join(got, " "), c.want)
			}
		})
	}
}

func TestProbesOfTheUserAreKept(t *testing.T) {
	r := minimal("spark.connect.grpc.binding.port", "15999")
	r.ServerTemplate = []byte(`{"spec":{"containers":[{"readinessProbe":{"exec":{"command":["mine"]}},"livenessProbe":{"exec":{"command":["live"]}},
		"lifecycle":{"preStop":{"exec":{"command":["stop"]}}}}]}}`)

	c := build(t, r).Server.Spec.Containers[0]
	if got := c.ReadinessProbe.Exec.Command[0] + c.LivenessProbe.Exec.Command[0] +
		c.Lifecycle.PreStop.Exec.Command[0]; got != "mine"+"live"+"stop" {
		t.Errorf("the user's are %q", got)
	}

	if c.StartupProbe == nil || c.StartupProbe.TCPSocket.Port.IntVal != 15999 || c.StartupProbe.FailureThreshold != 30 {
		t.Errorf("the startup probe is %v", c.StartupProbe)
	}
}

func TestEnvironment(t *testing.T) {
	r := minimal()
	r.ServerTemplate = []byte(`{"spec":{"containers":[{"command":["mine"],"args":["x"],"env":[{"name":"A","value":"$(POD_IP)"},{"name":"SPARK_NO_DAEMONIZE","value":"false"},
		{"name":"POD_IP","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}},{"name":"A","value":"2"}],"envFrom":[{"configMapRef":{"name":"c"}}]}]}}`)
	o := build(t, r)
	c := o.Server.Spec.Containers[0]

	var got []string
	for _, e := range c.Env {
		got = append(got, e.Name+"="+e.Value)
	}

	if text := strings.Join(got, " "); text != "POD_IP= SPARK_NO_DAEMONIZE=true A=$(POD_IP) A=2" {
		t.Errorf("the environment is %q", text)
	}

	if len(c.EnvFrom) != 1 || c.Command[0] != "bash" {
		t.Errorf("the container is %v %v", c.EnvFrom, c.Command)
	}

	warned(t, o, "env: SPARK_NO_DAEMONIZE", "command and args")
}

func TestPodDefaults(t *testing.T) {
	o := build(t, minimal())
	if links := o.Server.Spec.EnableServiceLinks; links == nil || *links {
		t.Errorf("service links are %v", links)
	}

	r := minimal()
	r.ServerTemplate = []byte(`{"spec":{"enableServiceLinks":true,"containers":[{"terminationMessagePolicy":"File"}]}}`)

	spec := build(t, r).Server.Spec
	if !*spec.EnableServiceLinks || spec.Containers[0].TerminationMessagePolicy != corev1.TerminationMessageReadFile {
		t.Errorf("the template's are not kept: %v %v", *spec.EnableServiceLinks,
			spec.Containers[0].TerminationMessagePolicy)
	}
}

func TestFilesAreMountedOnlyWhereThereAreSome(t *testing.T) {
	for name, c := range map[string]struct {
		value, template string
		want            []string
	}{
		"none":       {"x", "", nil},
		"template":   {"x", "{}", []string{templateKey}},
		"properties": {"é", "", []string{propertiesKey}},
		"both":       {"é", "{}", []string{templateKey, propertiesKey}},
	} {
		t.Run(name, func(t *testing.T) {
			r := minimal("spark.t", c.value)
			r.ExecutorTemplate = []byte(c.template)
			o := build(t, r)

			var mounted, items []string
			for _, m := range o.Server.Spec.Containers[0].VolumeMounts {
				if m.Name != "spark-conf" || !m.ReadOnly || m.MountPath != "/tmp/spark/"+m.SubPath {
					t.Errorf("a mount is %+v", m)
				}

				mounted = append(mounted, m.SubPath)
			}

			for _, v := range o.Server.Spec.Volumes {
				for _, item := range v.ConfigMap.Items {
					items = append(items, item.Key)
				}
			}

			if diff := cmp.Diff([][]string{c.want, c.want}, [][]string{mounted, items}); diff != "" {
				t.Errorf("mounts and items (-want +got):\n%s", diff)
			}

			if len(o.Config.Data) != len(c.want) {
				t.Errorf("the ConfigMap has %d keys, want %d", len(o.Config.Data), len(c.want))
			}
		})
	}
}

func TestUnknownFieldsOfTheServer(t *testing.T) {
	r := minimal()
	r.ServerTemplate = []byte(`{"future":1,"metadata":{"future":2},"spec":{"future":3,"containers":[{"name":"a","future":4},{"future":5,"env":[{"name":"POD_IP","future":6}]}]}}`)
	r.Conf.Set("spark.kubernetes.driver.podTemplateContainerName", "spark-kubernetes-driver")
	o := build(t, r)
	// The first container is the server's. The second cannot be found, because it has no name.
	object, err := submit.Objects{Driver: o.Server, DriverExtra: o.ServerExtra}.DriverObject()
	if err != nil {
		t.Fatal(err)
	}

	text, err := json.Marshal(object.(*unstructured.Unstructured).Object)
	if err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{`"future":1`, `"future":2`, `"future":3`, `"future":4`, `"future":5`, `"future":6`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is lost: %s", want, text)
		}
	}
}

func TestLostFieldsWarn(t *testing.T) {
	r := minimal()
	r.ServerTemplate = []byte(`{"spec":{"containers":[{"env":[{"name":"SPARK_NO_DAEMONIZE","value":"true"},{"value":"x","future":6}]}]}}`)
	warned(t, build(t, r), "ServerTemplate: spec.containers[spark-kubernetes-driver].env[1]: has fields that cannot be kept")
}
