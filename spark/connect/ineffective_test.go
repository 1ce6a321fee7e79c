package connect

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestKeysWithoutEffectWarn checks that a key causes a warning if only submissions in cluster mode read it, and that no
// other key causes a warning. The warning must contain the alternative.
func TestKeysWithoutEffectWarn(t *testing.T) {
	for key, says := range map[string]string{
		"spark.kubernetes.driverEnv.A":                             "has no effect: a Connect server's pod is made from its template; set env",
		"spark.kubernetes.driver.secretKeyRef.A":                   "set env",
		"spark.kubernetes.driver.secrets.a":                        "set volumes",
		"spark.kubernetes.driver.volumes.emptyDir.a.x":             "set volumes",
		"spark.kubernetes.driver.node.selector.a":                  "set nodeSelector",
		"spark.kubernetes.node.selector.a":                         "affects only the executors: a Connect server's pod is made from its template; set nodeSelector",
		"spark.kubernetes.driver.scheduler.name":                   "set schedulerName",
		"spark.kubernetes.scheduler.name":                          "affects only the executors",
		"spark.kubernetes.driver.podTemplateFile":                  "use the server's template itself",
		"spark.kubernetes.driver.pod.featureSteps":                 "has no effect",
		"spark.kubernetes.driver.service.annotation.a":             "use the server's Service",
		"spark.kubernetes.submission.waitAppCompletion":            "has no effect",
		"spark.kubernetes.securityContext.allowPrivilege":          "affects only the executors",
		"spark.kubernetes.driver.securityContext.x":                "set securityContext",
		"spark.driver.resource.gpu.amount":                         "adds no device to the server's pod; set limits",
		"spark.kubernetes.container.image":                         "has no effect, because the field image is set",
		"spark.kubernetes.driver.label.a":                          "",
		"spark.kubernetes.driver.annotation.a":                     "",
		"spark.kubernetes.driver.request.cores":                    "",
		"spark.kubernetes.driver.reusePersistentVolumeClaim":       "",
		"spark.kubernetes.executor.node.selector.a":                "",
		"spark.kubernetes.executor.container.image":                "",
		"spark.kubernetes.executor.scheduler.name":                 "",
		"spark.driver.resource.gpu.discoveryScript":                "",
		"spark.driver.extraJavaOptions":                            "",
		"spark.executorEnv.A":                                      "",
		"spark.kubernetes.driver.podTemplateContainerName":         "",
		"spark.kubernetes.driver.waitToReusePersistentVolumeClaim": "",
	} {
		o := build(t, minimal(key, "1"))
		if says == "" {
			if len(o.Warnings) > 0 {
				t.Errorf("%s: %v", key, o.Warnings)
			}
			continue
		}

		if len(o.Warnings) != 1 || o.Warnings[0].Key != key || !strings.Contains(o.Warnings[0].Text, says) {
			t.Errorf("%s: %v, want %q", key, o.Warnings, says)
		}
	}

	many := build(t, minimal("spark.kubernetes.driverEnv.A", "1", "spark.kubernetes.driverEnv.B", "2",
		"spark.kubernetes.driverEnv.C", "hunter2"))
	warned(t, many, "(the same holds for 2 more keys that begin with spark.kubernetes.driverEnv.)")

	if strings.Contains(texts(many)[0], "hunter2") {
		t.Errorf("a value is shown: %s", texts(many)[0])
	}
}

// TestWarningsNameTheirKey checks that a warning names its key, even if the key is empty or looks like an option or a
// sentence.
func TestWarningsNameTheirKey(t *testing.T) {
	o := build(t, minimal("--jars", "a", "", "b", "a: b", "c"))

	var keys []string
	for _, w := range o.Warnings {
		keys = append(keys, w.Key)
		if w.Field != "" || !strings.HasPrefix(w.Text, "is left out") {
			t.Errorf("%+v", w)
		}
	}

	slices.Sort(keys)

	if diff := cmp.Diff([]string{"", "--jars", "a: b"}, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}

	if text := (Warning{Field: "Service", Text: "x"}).String(); text != "Service: x" {
		t.Errorf("in words: %s", text)
	}

	if text := (Warning{Key: strings.Repeat("k", 1000), Text: "x"}).String(); len(text) > 300 {
		t.Errorf("%d bytes", len(text))
	}
}

// TestServiceWarnings checks settings of the user's Service. A setting without effect must cause a warning, and no
// other setting may cause one.
func TestServiceWarnings(t *testing.T) {
	port := func(p corev1.ServicePort) corev1.Service {
		return corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{p}}}
	}
	for name, c := range map[string]struct {
		base corev1.Service
		want string
	}{
		"nothing": {},
		"settings that have an effect": {base: corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a",
			Labels: map[string]string{"a": "b"}}, Spec: corev1.ServiceSpec{Type: "LoadBalancer"}}},
		"its own namespace": {base: corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: minimal().Namespace}}},
		"another namespace": {corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "b"}},
			"metadata.namespace has no effect"},
		"a generated name": {corev1.Service{ObjectMeta: metav1.ObjectMeta{GenerateName: "b"}},
			"metadata.generateName"},
		"finalizers": {corev1.Service{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"a/b"}}},
			"metadata.finalizers"},
		"owners": {corev1.Service{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Name: "a"}}}},
			"metadata.ownerReferences"},
		"a selector": {corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"a": "b"}}},
			"spec.selector has no effect"},
		"another port": {base: port(corev1.ServicePort{Name: "jmx", Port: 8090,
			TargetPort: intstr.FromInt32(1)})},
		"another protocol": {base: port(corev1.ServicePort{Name: "dns", Port: 4040, Protocol: "UDP"})},
		"a node port":      {base: port(corev1.ServicePort{Name: "web-ui", Port: 4040, NodePort: 30000})},
		"no name": {base: port(corev1.ServicePort{Port: 15002,
			TargetPort: intstr.FromInt32(15002)})},
		"the clients' port by name": {port(corev1.ServicePort{Name: "spark-connect-server", Port: 443}),
			"spec.ports[0]: name, port and targetPort have no effect: port 15002 is spark-connect-server"},
		"the clients' port by number": {port(corev1.ServicePort{Name: "grpc", Port: 15002}), "spec.ports[0]"},
		"another target": {port(corev1.ServicePort{Name: "spark-connect-server", Port: 15002,
			TargetPort: intstr.FromInt32(80)}), "leads to port 15002"},
		"the web UI's target": {base: port(corev1.ServicePort{Name: "web-ui", Port: 80,
			TargetPort: intstr.FromInt32(4040)})},
		"a rejected Service": {base: corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "A B",
			Finalizers: []string{"a/b"}}}},
	} {
		got := ServiceWarnings(minimal(), &c.base)
		if c.want == "" && len(got) == 0 {
			continue
		}

		if len(got) != 1 || got[0].Field != "Service" || c.want == "" || !strings.Contains(got[0].Text, c.want) {
			t.Errorf("%s: %v, want %q", name, got, c.want)
		}
	}

	r := full()
	for key := range r.ObjectLabels {
		got := ServiceWarnings(r, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{key: "mine"}}})
		if len(got) != 1 || !strings.Contains(got[0].Text, "metadata.labels["+key+"] has no effect") {
			t.Errorf("label %s: %v", key, got)
		}
	}

	if got := ServiceWarnings(minimal(), nil); got != nil {
		t.Errorf("without a base: %v", got)
	}
}

// TestMarksOfTheService checks that the user's Service cannot have labels or annotations that identify pods and
// attempts. With such a label or annotation, the operator would delete the Service too early, together with a pod or an
// attempt, or would never delete it.
func TestMarksOfTheService(t *testing.T) {
	r := minimal()

	r.Reserved = "example.com/"
	for part, keys := range map[string][]string{
		"labels":      {"example.com/attempt", "example.com/app-uid", "spark-app-selector", "spark-role"},
		"annotations": {"example.com/content"},
	} {
		for _, key := range keys {
			base := &corev1.Service{}
			if marks := map[string]string{key: "1", "mine": "2"}; part == "labels" {
				base.Labels = marks
			} else {
				base.Annotations = marks
			}

			_, err := Service(r, base)
			if wrong := refused(t, err); wrong.Field != "Service" ||
				!strings.HasPrefix(wrong.Message, "metadata."+part+"["+key+"]: ") {
				t.Errorf("%s: %v", key, err)
			}
		}
	}

	base := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"spark-version": "4",
		"example.org/attempt": "1"}, Annotations: map[string]string{"spark-role": "x"}}}
	if _, err := Service(r, base); err != nil {
		t.Error(err)
	}
}

// TestProtocolOfTheUser checks that the Service keeps the user's appProtocol, which a Gateway reads.
func TestProtocolOfTheUser(t *testing.T) {
	s := service(t, minimal(), &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: serverPortName, Port: ServerPort, AppProtocol: new("kubernetes.io/h2c")}}}})

	got := map[string]string{}
	for _, p := range s.Spec.Ports {
		got[p.Name] = *p.AppProtocol
	}

	want := map[string]string{serverPortName: "kubernetes.io/h2c"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("protocols (-want +got):\n%s", diff)
	}
}
