package draft_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
)

func containerNames(pod *corev1.Pod) []string {
	var names []string
	for _, c := range pod.Spec.Containers {
		names = append(names, c.Name)
	}
	return names
}

func TestDriverTemplateIsMerged(t *testing.T) {
	r := kit.With("spark.kubernetes.driver.podTemplateContainerName", "main", "spark.kubernetes.node.selector.zone",
		"c", "spark.kubernetes.driver.annotation.b", "2",
		"spark.kubernetes.container.image.pullSecrets", "ours")
	r.DriverTemplate = []byte(kit.FullTemplate)
	o := kit.Build(t, r)

	pod := o.Driver
	if diff := cmp.Diff([]string{"side", "last", "main"}, containerNames(pod)); diff != "" {
		t.Fatalf("the Spark container comes last (-want +got):\n%s", diff)
	}

	spark := pod.Spec.Containers[2]
	type view struct {
		Name, Namespace, Role, Mine, Account, Scheduler, Restart string
		Image, Policy, Message                                   string
		Zone, Disk, CPU, Memory, CPULimit, Storage               string
		HostNetwork                                              bool
	}
	want := view{
		Name: "my-app-1-c05dd8a1fbc0dc03-driver", Namespace: "ns1", Role: "driver", Mine: "1", Account: "templated",
		Scheduler: "templated",
		Restart:   "Never", Image: "docker.io/apache/spark:4.1.4", Policy: "IfNotPresent", Message: "File", Zone: "c",
		Disk: "ssd",
		CPU:  "1", Memory: "1408Mi", CPULimit: "3", Storage: "1Gi", HostNetwork: true,
	}
	limits := spark.Resources.Limits

	got := view{
		Name: pod.Name, Namespace: pod.Namespace, Role: pod.Labels["spark-role"], Mine: pod.Labels["mine"],
		Account:   pod.Spec.ServiceAccountName,
		Scheduler: pod.Spec.SchedulerName, Restart: string(pod.Spec.RestartPolicy), Image: spark.Image,
		Policy:  string(spark.ImagePullPolicy),
		Message: string(spark.TerminationMessagePolicy), Zone: pod.Spec.NodeSelector["zone"],
		Disk: pod.Spec.NodeSelector["disk"],
		CPU:  spark.Resources.Requests.Cpu().String(), Memory: limits.Memory().String(),
		CPULimit: limits.Cpu().String(),
		Storage:  limits.StorageEphemeral().String(), HostNetwork: pod.Spec.HostNetwork,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}

	if !slices.Equal(spark.Args[:2], []string{"before", "driver"}) || !slices.Equal(spark.Command, []string{"tini"}) {
		t.Errorf("command %q, args %q", spark.Command, spark.Args)
	}

	if spark.Env[0].Value != "theirs" || kit.EnvOf(spark)["SPARK_USER"] != "spark" || kit.EnvOf(spark)["T"] != "1" {
		t.Errorf("variables are %v", spark.Env)
	}

	if len(spark.Ports) != 5 || kit.MountsOf(spark)["v"] != "/v" || len(pod.Spec.ImagePullSecrets) != 2 ||
		len(pod.Spec.InitContainers) != 1 {
		t.Errorf("something of the template is lost: %+v", pod.Spec)
	}

	if pod.Annotations["a"] != "1" || pod.Annotations["b"] != "2" ||
		pod.Annotations[submit.DefaultContainerAnnotation] != "main" {
		t.Errorf("annotations are %v", pod.Annotations)
	}
}

func TestConfigurationWinsOverTheTemplate(t *testing.T) {
	r := kit.With("spark.kubernetes.driver.podTemplateContainerName", "main",
		"spark.kubernetes.authenticate.driver.serviceAccountName", "conf",
		"spark.kubernetes.driver.scheduler.name", "conf", "spark.kubernetes.scheduler.name", "other",
		"spark.kubernetes.driver.label.mine", "2",
		"spark.kubernetes.driver.limit.cores", "2")
	r.DriverTemplate = []byte(kit.FullTemplate)

	pod := kit.Build(t, r).Driver
	if pod.Spec.ServiceAccountName != "conf" || pod.Spec.DeprecatedServiceAccount != "conf" ||
		pod.Spec.SchedulerName != "conf" || pod.Labels["mine"] != "2" ||
		pod.Spec.Containers[2].Resources.Limits.Cpu().String() != "2" {
		t.Errorf("the template's settings stay: %+v", pod.Spec)
	}
}

func TestSparkContainerOfATemplate(t *testing.T) {
	for name, c := range map[string]struct {
		template, conf string
		want           []string
	}{
		"no configured name":                  {kit.FullTemplate, "", []string{"main", "last", "side"}},
		"configured name that does not exist": {kit.FullTemplate, "none", []string{"main", "last", "side"}},
		"configured name":                     {kit.FullTemplate, "last", []string{"side", "main", "last"}},
		"no containers":                       {`{"spec":{}}`, "x", []string{"spark-kubernetes-driver"}},
		"no spec":                             {`{}`, "", []string{"spark-kubernetes-driver"}},
		"container without a name": {`{"spec":{"containers":[{"image":"x"}]}}`, "",
			[]string{"spark-kubernetes-driver"}},
		"a PodTemplateSpec": {`{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c"}]}}`,
			"", []string{"c"}},
		"configured name without a template": {"", "x", []string{"spark-kubernetes-driver"}},
		"null instead of a list": {`{"spec":{"containers":null}}`, "",
			[]string{"spark-kubernetes-driver"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := kit.Minimal()

			r.DriverTemplate = []byte(c.template)
			if c.conf != "" {
				r.Conf.Set("spark.kubernetes.driver.podTemplateContainerName", c.conf)
			}

			if diff := cmp.Diff(c.want, containerNames(kit.Build(t, r).Driver)); diff != "" {
				t.Errorf("containers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDroppedTemplateFieldsWarn(t *testing.T) {
	r := kit.Minimal()
	r.DriverTemplate = []byte(`{"metadata":{"ownerReferences":[{"uid":"x","kind":"Node","name":"n","apiVersion":"v1","controller":true}]},
		"spec":{"fromTheFuture":1,"containers":[{"name":"c","futureToo":{}}]},"status":{"phase":"Running"}}`)

	o := kit.Build(t, r)
	for _, want := range []string{"ownerReferences"} {
		if !slices.ContainsFunc(o.Warnings,
			func(w string) bool { return strings.HasPrefix(w, "DriverTemplate: ") && strings.Contains(w, want) }) {
			t.Errorf("no warning tells of %s: %q", want, o.Warnings)
		}
	}

	if len(o.Driver.OwnerReferences) != 1 || o.Driver.OwnerReferences[0].UID != "uid-1" || o.Driver.Status.Phase != "" {
		t.Errorf("owners %v, status %v", o.Driver.OwnerReferences, o.Driver.Status)
	}
}

// executorPod returns the executors' pod template that is in the ConfigMap.
func executorPod(t *testing.T, o submit.Objects) *corev1.Pod {
	t.Helper()
	cm := kit.Find[*corev1.ConfigMap](t, o, "my-app-1-c05dd8a1fbc0dc03-driver-podspec-conf-map")

	pod := &corev1.Pod{}
	if err := json.Unmarshal([]byte(cm.Data["podspec-configmap-key"]), pod); err != nil {
		t.Fatalf("the template is not JSON: %v", err)
	}
	return pod
}

func TestExecutorTemplate(t *testing.T) {
	r := kit.Minimal()
	r.ExecutorTemplate = []byte(`{"spec":{"containers":[{"name":"main","env":[{"name":"T","value":"1"}]},{"name":"side","image":"s"}],"enableServiceLinks":true}}`)
	r.Executor = overlay.Overlay{Env: []corev1.EnvVar{{Name: "O", Value: "2"}},
		NodeSelector: map[string]string{"zone": "e"}}
	o := kit.Build(t, r)

	pod := executorPod(t, o)
	if diff := cmp.Diff([]string{"main", "side"}, containerNames(pod)); diff != "" {
		t.Errorf("Spark takes the first container (-want +got):\n%s", diff)
	}

	if env := kit.EnvOf(pod.Spec.Containers[0]); env["T"] != "1" || env["O"] != "2" ||
		pod.Spec.NodeSelector["zone"] != "e" {
		t.Errorf("template is %+v", pod.Spec)
	}

	if pod.APIVersion != "v1" || pod.Kind != "Pod" || pod.Spec.EnableServiceLinks == nil ||
		!*pod.Spec.EnableServiceLinks {
		t.Errorf("the template should be a Pod with all its fields: %+v", pod)
	}

	volume := kit.VolumeOf(t, o, "pod-template-volume").ConfigMap
	if volume.Name != "my-app-1-c05dd8a1fbc0dc03-driver-podspec-conf-map" ||
		volume.Items[0].Path != "pod-spec-template.yml" ||
		kit.MountsOf(kit.SparkContainer(t, o))["pod-template-volume"] != "/opt/spark/pod-template" {
		t.Errorf("volume is %+v", volume)
	}

	if got := kit.Props(t, o)["spark.kubernetes.executor.podTemplateFile"]; got != "/opt/spark/pod-template/pod-spec-template.yml" {
		t.Errorf("spark.properties has %q", got)
	}
}

func TestExecutorOverlayAloneMakesATemplate(t *testing.T) {
	r := kit.Minimal()
	if _, ok := kit.Props(t, kit.Build(t, r))["spark.kubernetes.executor.podTemplateFile"]; ok {
		t.Error("there is nothing to put into a template")
	}

	r.Executor.HostNetwork = true

	pod := executorPod(t, kit.Build(t, r))
	if diff := cmp.Diff([]string{"spark-kubernetes-executor"}, containerNames(pod)); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}

	if !pod.Spec.HostNetwork || *pod.Spec.EnableServiceLinks ||
		pod.Spec.Containers[0].TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError {
		t.Errorf("template is %+v", pod.Spec)
	}
}

func TestNamedExecutorContainerComesFirst(t *testing.T) {
	r := kit.With("spark.kubernetes.executor.podTemplateContainerName", "main")
	r.ExecutorTemplate = []byte(`{"spec":{"containers":[{"name":"side"},{"name":"main"}]}}`)
	r.Executor.Env = []corev1.EnvVar{{Name: "O", Value: "2"}}

	pod := executorPod(t, kit.Build(t, r))
	if pod.Spec.Containers[0].Name != "main" || kit.EnvOf(pod.Spec.Containers[0])["O"] != "2" {
		t.Errorf("containers are %+v", pod.Spec.Containers)
	}
}

func TestDriverOverlay(t *testing.T) {
	r := kit.Minimal()
	r.Driver = overlay.Overlay{
		Env:      []corev1.EnvVar{{Name: "SPARK_USER", Value: "o"}},
		Sidecars: []corev1.Container{{Name: "late", Image: "l"}},
		Labels:   map[string]string{"o": "1", "example.org/app": "no"}, SparkConfigMap: "sc",
		EnableServiceLinks: new(true),
	}
	o := kit.Build(t, r)

	spark := kit.SparkContainer(t, o)
	if env := kit.EnvOf(spark); env["SPARK_USER"] != "o" || env["SPARK_CONF_DIR"] != "/etc/spark/conf" {
		t.Errorf("the overlay's variables count: %v", env)
	}

	if o.Driver.Labels["o"] != "1" || o.Driver.Labels["example.org/app"] != "my-app" ||
		!*o.Driver.Spec.EnableServiceLinks {
		t.Errorf("labels are %v; the Request's win", o.Driver.Labels)
	}

	if o.Driver.Annotations[submit.DefaultContainerAnnotation] != "spark-kubernetes-driver" {
		t.Errorf("with a sidecar the pod should name its main container: %v", o.Driver.Annotations)
	}

	for key, value := range kit.ServiceOf(t, o).Spec.Selector {
		if o.Driver.Labels[key] != value {
			t.Errorf("the Service selects %s=%s, which the driver does not have", key, value)
		}
	}
}

// TestTheSparkContainerIsLast checks that the Spark container is the last container of the driver pod. This must also
// hold if the template renames the Spark container, and if the template and the overlay have sidecars.
func TestTheSparkContainerIsLast(t *testing.T) {
	sidecars := []corev1.Container{{Name: "one", Image: "s"}, {Name: "two", Image: "s"}}
	for name, c := range map[string]struct {
		template string
		sidecars []corev1.Container
		conf     []string
		want     []string
		marked   string
	}{
		"no sidecars": {"", nil, nil, []string{overlay.DriverContainer}, ""},
		"sidecars": {"", sidecars, nil, []string{"one", "two", overlay.DriverContainer},
			overlay.DriverContainer},
		"container name in the template": {`{"spec":{"containers":[{"name":"main"}]}}`, sidecars, nil,
			[]string{"one", "two", "main"}, "main"},
		"sidecars in the template and the overlay": {`{"spec":{"containers":[{"name":"main"},{"name":"side"}]}}`,
			sidecars, nil, []string{"side", "one", "two", "main"}, "main"},
		"default container in the template": {`{"metadata":{"annotations":{"kubectl.kubernetes.io/default-container":"one"}}}`, sidecars, nil, []string{"one", "two", overlay.DriverContainer}, "one"},
		"default container in the configuration": {"", sidecars,
			[]string{"spark.kubernetes.driver.annotation." + submit.DefaultContainerAnnotation, "two"},
			[]string{"one", "two", overlay.DriverContainer}, "two"},
		"sidecar in the template": {`{"spec":{"containers":[{"name":"main"},{"name":"side"}]}}`, nil,
			nil, []string{"side", "main"}, "main"},
	} {
		t.Run(name, func(t *testing.T) {
			r := kit.With(c.conf...)
			r.DriverTemplate, r.Driver.Sidecars = []byte(c.template), c.sidecars

			pod := kit.Build(t, r).Driver
			if diff := cmp.Diff(c.want, containerNames(pod)); diff != "" {
				t.Errorf("containers (-want +got):\n%s", diff)
			}

			if got := pod.Annotations[submit.DefaultContainerAnnotation]; got != c.marked {
				t.Errorf("the pod says that %q is its main container, want %q", got, c.marked)
			}
		})
	}
}

// TestTheExecutorTemplatesSparkContainerIsFirst checks that the first container of the executors' template is the Spark
// container, because Spark uses the first container.
func TestTheExecutorTemplatesSparkContainerIsFirst(t *testing.T) {
	r := kit.Minimal()
	r.ExecutorTemplate = []byte(`{"spec":{"containers":[{"name":"main"},{"name":"side"}]}}`)

	r.Executor.Sidecars = []corev1.Container{{Name: "one", Image: "s"}, {Name: "two", Image: "s"}}
	if got := containerNames(executorPod(t, kit.Build(t, r))); !slices.Equal(got,
		[]string{"main", "side", "one", "two"}) {
		t.Errorf("containers are %q", got)
	}
}

func TestInvalidTemplateErrorNamesField(t *testing.T) {
	for template, want := range map[string]string{
		`{"spec":{"containers":{}}}`:                                            "spec.containers: is an object, not a list",
		`{"spec":{"containers":[{"name":3}]}}`:                                  "spec.containers[0].name: is the number 3, not text",
		`{"spec":"x"}`:                                                          `spec: is the text "x", not an object`,
		`{"spec":{"hostNetwork":"yes"}}`:                                        `spec.hostNetwork: is the text "yes", not a boolean`,
		`{"spec":{"terminationGracePeriodSeconds":1.5}}`:                        "spec.terminationGracePeriodSeconds: is the number 1.5, not a whole number",
		`{"metadata":{"labels":[]}}`:                                            "metadata.labels: is a list, not a map",
		`{"spec":{"containers":[{"resources":{"limits":{"cpu":"lots"}}}]}}`:     `spec.containers[0].resources.limits[cpu]: "lots" is not a quantity`,
		`{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":true}}}]}}`: "is not a pod template",
		`{"kind":"Deployment"}`:                                                 "the API server accepts only Pod",
		`{"kind":{}}`:                                                           "the API server accepts only Pod",
		`{`:                                                                     "unexpected end",
		`just words`:                                                            "is not a pod template",
	} {
		r := kit.Minimal()
		r.DriverTemplate = []byte(template)
		kit.RefusedFor(t, r, "DriverTemplate", want)
		r.DriverTemplate, r.ExecutorTemplate = nil, r.DriverTemplate
		kit.RefusedFor(t, r, "ExecutorTemplate", want)
	}
}
