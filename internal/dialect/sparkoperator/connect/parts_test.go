package connect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/connect"
	"github.com/sparkoperator/spark-operator/spark/expose"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// TestConnectConf checks which configuration key each field sets, and which source has precedence if two of them set
// the same key.
func TestConnectConf(t *testing.T) {
	sc := aConnect(func(sc *v1alpha1.SparkConnect) {
		sc.Labels = map[string]string{"team": "a", "kueue.x-k8s.io/queue-name": "q"}
		sc.Spec.SparkConf = map[string]string{
			"spark.driver.memory": "9g", "spark.executor.instances": "9", "spark.hadoop.fs.a": "conf",
			"spark.sql.ansi.enabled":                                    "true",
			"spark.kubernetes.authenticate.executor.serviceAccountName": "worker",
			"spark.kubernetes.authenticate.caCertFile":                  "/ca",
			"spark.dynamicAllocation.shuffleTracking.enabled":           "false",
		}
		sc.Spec.HadoopConf = map[string]string{"fs.a": "hadoop", "spark.hadoop.fs.b": "whole"}
		sc.Spec.Server.SparkPodSpec = v1alpha1.SparkPodSpec{Cores: new(int32(2)), Memory: new("3g")}
		sc.Spec.Executor = v1alpha1.ExecutorSpec{Instances: new(int32(0)),
			SparkPodSpec: v1alpha1.SparkPodSpec{Cores: new(int32(4)), Memory: new("5g")}}
		sc.Spec.DynamicAllocation = &v1alpha1.DynamicAllocation{
			Enabled: true, InitialExecutors: new(int32(1)), MinExecutors: new(int32(1)), MaxExecutors: new(int32(7)),
			ShuffleTrackingTimeout: new(int64(60000)),
		}
	})

	want := map[string]string{
		"spark.driver.cores": "2", "spark.driver.memory": "3g", "spark.executor.cores": "4",
		"spark.executor.memory": "5g", "spark.executor.instances": "0",
		"spark.hadoop.fs.a": "hadoop", "spark.hadoop.fs.b": "whole", "spark.sql.ansi.enabled": "true",
		"spark.kubernetes.authenticate.executor.serviceAccountName": "worker",
		"spark.kubernetes.driver.label.team":                        "a", "spark.kubernetes.executor.label.team": "a",
		"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.initialExecutors": "1",
		"spark.dynamicAllocation.minExecutors": "1",
		"spark.dynamicAllocation.maxExecutors": "7", "spark.dynamicAllocation.shuffleTracking.enabled": "true",
		"spark.dynamicAllocation.shuffleTracking.timeout": "60000ms",
	}
	if diff := cmp.Diff(want, connectConf(sc).Map()); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestConnectExecutorsWanted(t *testing.T) {
	enabled := &v1alpha1.DynamicAllocation{Enabled: true, MinExecutors: new(int32(3))}
	for name, tc := range map[string]struct {
		spec v1alpha1.SparkConnectSpec
		want int32
	}{
		"the default":                {v1alpha1.SparkConnectSpec{}, 2},
		"the field":                  {v1alpha1.SparkConnectSpec{Executor: v1alpha1.ExecutorSpec{Instances: new(int32(0))}}, 0},
		"the key":                    {v1alpha1.SparkConnectSpec{SparkConf: map[string]string{"spark.executor.instances": " 5 "}}, 5},
		"a key that is not a number": {v1alpha1.SparkConnectSpec{SparkConf: map[string]string{"spark.executor.instances": "${n}"}}, 2},
		"a key beyond an int32":      {v1alpha1.SparkConnectSpec{SparkConf: map[string]string{"spark.executor.instances": "2147483648"}}, 2},
		"a negative key":             {v1alpha1.SparkConnectSpec{SparkConf: map[string]string{"spark.executor.instances": "-1"}}, 0},
		"dynamic allocation": {v1alpha1.SparkConnectSpec{DynamicAllocation: enabled,
			Executor: v1alpha1.ExecutorSpec{Instances: new(int32(9))}}, 3},
		"dynamic allocation in sparkConf":      {v1alpha1.SparkConnectSpec{SparkConf: map[string]string{"spark.dynamicAllocation.enabled": "TRUE", "spark.dynamicAllocation.minExecutors": "1"}}, 1},
		"dynamic allocation without a minimum": {v1alpha1.SparkConnectSpec{SparkConf: map[string]string{"spark.dynamicAllocation.enabled": "true"}}, 0},
		"dynamic allocation is disabled":       {v1alpha1.SparkConnectSpec{DynamicAllocation: &v1alpha1.DynamicAllocation{MinExecutors: new(int32(3))}}, 2},
	} {
		if got := connectExecutors(&v1alpha1.SparkConnect{Spec: tc.spec}); got != tc.want {
			t.Errorf("%s: %d executors, want %d", name, got, tc.want)
		}
	}
}

// TestConnectInvalidSpecs checks that the message about an invalid spec begins with the name of the field.
func TestConnectInvalidSpecs(t *testing.T) {
	template := func(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }
	for name, tc := range map[string]struct {
		mod  func(*v1alpha1.SparkConnect)
		want string
	}{
		"no image": {func(sc *v1alpha1.SparkConnect) { sc.Spec.Image = nil }, "spec.image: "},
		"a name too long": {func(sc *v1alpha1.SparkConnect) { sc.Name = strings.Repeat("a", 57) },
			"metadata.name: "},
		"a name with a dot":   {func(sc *v1alpha1.SparkConnect) { sc.Name = "a.b" }, "metadata.name: "},
		"a name with a digit": {func(sc *v1alpha1.SparkConnect) { sc.Name = "1a" }, "metadata.name: "},
		"server memory": {func(sc *v1alpha1.SparkConnect) { sc.Spec.Server.Memory = new("4 gigs") },
			"spec.server.memory: "},
		"executor memory": {func(sc *v1alpha1.SparkConnect) { sc.Spec.Executor.Memory = new("-1g") },
			"spec.executor.memory: "},
		"server memory in sparkConf":   {func(sc *v1alpha1.SparkConnect) { sc.Spec.SparkConf = map[string]string{"spark.driver.memory": "0"} }, "spec.sparkConf[spark.driver.memory]: "},
		"executor memory in sparkConf": {func(sc *v1alpha1.SparkConnect) { sc.Spec.SparkConf = map[string]string{"spark.executor.memory": "x"} }, "spec.sparkConf[spark.executor.memory]: "},
		"server template":              {func(sc *v1alpha1.SparkConnect) { sc.Spec.Server.Template = template(`{"spec":{"containers":{}}}`) }, "spec.server.template.spec.containers: "},
		"executor template":            {func(sc *v1alpha1.SparkConnect) { sc.Spec.Executor.Template = template(`{"spec":[]}`) }, "spec.executor.template.spec: "},
		"a label of the operator":      {func(sc *v1alpha1.SparkConnect) { sc.Labels = map[string]string{"sparkoperator.dev/attempt": "9"} }, "metadata.labels[sparkoperator.dev/attempt]: "},
		"a label of the operator in sparkConf": {func(sc *v1alpha1.SparkConnect) {
			sc.Spec.SparkConf = map[string]string{"spark.kubernetes.executor.label.sparkoperator.dev/x": "9"}
		}, "spec.sparkConf[spark.kubernetes.executor.label.sparkoperator.dev/x]: "},
		"a label of the operator in the server's template": {func(sc *v1alpha1.SparkConnect) {
			sc.Spec.Server.Template = template(`{"metadata":{"labels":{"sparkoperator.dev/x":"1"}}}`)
		}, "spec.server.template.metadata.labels[sparkoperator.dev/x]: "},
		"a label of the operator in the executors' template": {func(sc *v1alpha1.SparkConnect) {
			sc.Spec.Executor.Template = template(`{"metadata":{"labels":{"sparkoperator.dev/x":"1"}}}`)
		}, "spec.executor.template.metadata.labels[sparkoperator.dev/x]: "},
		"an annotation of the operator": {func(sc *v1alpha1.SparkConnect) {
			sc.Spec.Server.Template = template(`{"metadata":{"annotations":{"sparkoperator.dev/adopted":"1"}}}`)
		}, "spec.server.template.metadata.annotations[sparkoperator.dev/adopted]: "},
		"an annotation of the operator in sparkConf": {func(sc *v1alpha1.SparkConnect) {
			sc.Spec.SparkConf = map[string]string{"spark.kubernetes.driver.annotation.sparkoperator.dev/submitted-by": "x"}
		}, "spec.sparkConf[spark.kubernetes.driver.annotation.sparkoperator.dev/submitted-by]: "},
		"an invalid port":                        {func(sc *v1alpha1.SparkConnect) { sc.Spec.SparkConf = map[string]string{"spark.driver.port": "0"} }, "spec.sparkConf[spark.driver.port]: "},
		"a value with a zero byte":               {func(sc *v1alpha1.SparkConnect) { sc.Spec.SparkConf = map[string]string{"spark.a": "\x00 "} }, "spec.sparkConf[spark.a]: "},
		"a value of hadoopConf with a zero byte": {func(sc *v1alpha1.SparkConnect) { sc.Spec.HadoopConf = map[string]string{"fs.a": "\x00 "} }, "spec.hadoopConf[fs.a]: "},
		"a label of Spark":                       {func(sc *v1alpha1.SparkConnect) { sc.Labels = map[string]string{"spark-role": "x"} }, "metadata.labels[spark-role]: "},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := Connects{}.invalid(aConnect(tc.mod))
			if wrong == nil || wrong.Reason != lifecycle.ReasonInvalid || !strings.HasPrefix(wrong.Message, tc.want) {
				t.Errorf("found %+v, want %q", wrong, tc.want)
			}
		})
	}
	// These faults only affect executors. Without the check the server would start, and no pod would show why executors
	// are missing.
	for key, value := range map[string]string{
		"spark.kubernetes.executor.label.bad":         "bad value!",
		"spark.kubernetes.executor.label.ref":         "${env:TEAM}", // never replaced
		"spark.kubernetes.executor.node.selector.a b": "c",
		"spark.kubernetes.executor.request.cores":     "abc",
		"spark.kubernetes.executor.limit.cores":       "abc",
		"spark.executor.cores":                        "none",
		"spark.executor.memoryOverhead":               "lots",
		"spark.executor.memoryOverheadFactor":         "half",
		"spark.executor.instances":                    "many",
		"spark.dynamicAllocation.enabled":             "yes",
		"spark.executor.resource.gpu.amount":          "some",
		"spark.kubernetes.executor.secretKeyRef.A":    "no-key",
	} {
		sc := aConnect(func(sc *v1alpha1.SparkConnect) {
			sc.Spec.SparkConf = map[string]string{key: value}
			if key == "spark.executor.instances" {
				sc.Spec.Executor.Instances = nil
			}
		})
		if wrong := (Connects{}).invalid(sc); wrong == nil ||
			!strings.HasPrefix(wrong.Message, "spec.sparkConf["+key+"]: ") {
			t.Errorf("%s: %s: found %+v", key, value, wrong)
		}
	}

	many := aConnect(func(sc *v1alpha1.SparkConnect) { sc.Name, sc.Spec.Server.Memory = "A", new("x") })
	if wrong := (Connects{}).invalid(many); !strings.Contains(wrong.Message, "metadata.name") ||
		!strings.Contains(wrong.Message, "spec.server.memory") {
		t.Errorf("not all that is wrong: %s", wrong.Message)
	}
}

// TestConnectValidSpecs checks that unusual but valid specs are accepted.
func TestConnectValidSpecs(t *testing.T) {
	for name, mod := range map[string]func(*v1alpha1.SparkConnect){
		"the longest name": func(sc *v1alpha1.SparkConnect) { sc.Name = strings.Repeat("a", 56) },
		"images in the templates": func(sc *v1alpha1.SparkConnect) {
			sc.Spec.Image = nil
			sc.Spec.Server.Template = &runtime.RawExtension{Raw: []byte(`{"spec":{"containers":[{"name":"spark-kubernetes-driver","image":"a"}]}}`)}
			sc.Spec.Executor.Template = &runtime.RawExtension{Raw: []byte(`{"spec":{"containers":[{"name":"spark-kubernetes-executor","image":"b"}]}}`)}
		},
		"an image in sparkConf": func(sc *v1alpha1.SparkConnect) {
			sc.Spec.Image, sc.Spec.SparkConf = nil, map[string]string{"spark.kubernetes.container.image": "a"}
		},
		"a reference": func(sc *v1alpha1.SparkConnect) {
			sc.Spec.SparkConf = map[string]string{"spark.executor.memory": "${spark.my.size}", "spark.my.size": "1g"}
		},
		"references that only the server can replace": func(sc *v1alpha1.SparkConnect) {
			sc.Spec.SparkConf = map[string]string{
				"spark.executor.memory": "${env:MEMORY}", "spark.executor.cores": "${spark.app.cores}",
				"spark.kubernetes.executor.request.cores": "${system:cores}",
				"spark.executor.memoryOverhead":           "${env:A}${env:B}",
			}
		},
		"files in the image": func(sc *v1alpha1.SparkConnect) {
			sc.Spec.SparkConf = map[string]string{"spark.jars": "/opt/a.jar", "spark.files": "/opt/b",
				"spark.kubernetes.driver.secrets.a": "/a"}
		},
		"an empty field": func(sc *v1alpha1.SparkConnect) { sc.Spec.Server.Memory = new("") },
		"an invalid Service": func(sc *v1alpha1.SparkConnect) {
			sc.Spec.Server.Service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "A B"}}
		},
	} {
		if wrong := (Connects{}).invalid(aConnect(mod)); wrong != nil {
			t.Errorf("%s: %s", name, wrong.Message)
		}
	}
}

func TestConnectVersionWarning(t *testing.T) {
	for name, tc := range map[string]struct {
		version string
		conf    map[string]string
		want    bool
	}{
		"4.0":               {version: "4.0.0"},
		"4.3 as a snapshot": {version: "v4.3.0-SNAPSHOT"},
		"3.5":               {version: "3.5.8", want: true},
		"3.5 with the package": {version: "3.5.8",
			conf: map[string]string{"spark.jars.packages": "a:b:1,org.apache.spark:spark-connect_2.12:3.5.8"}},
		"3.5 with another package": {version: "3.5.8", conf: map[string]string{"spark.jars.packages": "a:b:1"},
			want: true},
		"3.5 with jars": {version: "3.5.8", conf: map[string]string{"spark.jars": "/opt/connect.jar"}},
	} {
		warnings := connectWarnings(&v1alpha1.SparkConnect{Spec: v1alpha1.SparkConnectSpec{SparkVersion: tc.version,
			SparkConf: tc.conf}})
		if (len(warnings) > 0) != tc.want {
			t.Errorf("%s: warnings %q", name, warnings)
		}

		if tc.want && !strings.HasPrefix(warnings[0], "spec.sparkVersion: ") {
			t.Errorf("%s: %q names no field", name, warnings[0])
		}
	}
}

// TestHashOfSpellings checks that a template has the same hash if people, kubectl, Helm or typed clients write it in
// different spellings.
func TestHashOfSpellings(t *testing.T) {
	hash := func(text string) string {
		spec := aConnect().Spec
		spec.Server.Template = &runtime.RawExtension{Raw: []byte(text)}
		return hash(&spec)
	}
	for name, pair := range map[string][2]string{
		"a typed client": {
			`{"spec":{"containers":[{"name":"a"}]}}`,
			`{"metadata":{"creationTimestamp":null},"spec":{"containers":[{"name":"a","resources":{}}]},"status":{}}`,
		},
		"the order of keys": {`{"spec":{"serviceAccountName":"s","hostNetwork":true}}`,
			`{"spec": {"hostNetwork": true, "serviceAccountName": "s"}}`},
		"quantities": {
			`{"spec":{"containers":[{"resources":{"limits":{"cpu":"1000m","memory":"1024Mi"}}}]}}`,
			`{"spec":{"containers":[{"resources":{"limits":{"cpu":1,"memory":"1Gi"}}}]}}`,
		},
		"unknown fields": {`{"spec":{"x":{"a":1,"b":2}}}`,
			`{"spec":{"x":{"b":2,"a":1}},"metadata":{"creationTimestamp":null}}`},
	} {
		if a, b := hash(pair[0]), hash(pair[1]); a != b {
			t.Errorf("%s: %s and %s", name, a, b)
		}
	}
}

// TestConnectWarnings checks that each field without an effect causes one warning, which names the field.
func TestConnectWarnings(t *testing.T) {
	sc := aConnect(func(sc *v1alpha1.SparkConnect) {
		sc.Labels = map[string]string{sparkoperator.LabelConnectName: "other"}
		sc.Spec.SparkConf = map[string]string{
			"--jars": "a", "spark.kubernetes.driverEnv.A": "b", "spark.master": "local",
			"spark.kubernetes.container.image": "other",
		}
		sc.Spec.HadoopConf = map[string]string{"k": "a", "spark.hadoop.k": "b", "same": "c", "spark.hadoop.same": "c"}
		sc.Spec.Server.Template = &runtime.RawExtension{Raw: []byte(`{"metadata":{"name":"mine"}}`)}
	})

	objects, err := Connects{}.Render(sc,
		lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1}, connectBegan)
	if err != nil {
		t.Fatal(err)
	}

	var fields []string
	for _, text := range objects.Warnings {
		field, _, _ := strings.Cut(text, ": ")
		fields = append(fields, field)
	}

	slices.Sort(fields)

	want := []string{
		"metadata.labels[sparkoperator.k8s.io/connect-name]", "spec.hadoopConf[k]", "spec.server.template",
		"spec.sparkConf[--jars]",
		"spec.sparkConf[spark.kubernetes.container.image]", "spec.sparkConf[spark.kubernetes.driverEnv.A]",
		"spec.sparkConf[spark.master]",
	}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Errorf("warned of (-want +got):\n%s\n%s", diff, strings.Join(objects.Warnings, "\n"))
	}
}

// TestConnectServiceWarnings checks that warnings about the Service are reported once per edit, even if the edit
// creates no server.
func TestConnectServiceWarnings(t *testing.T) {
	s := runningConnect(t)
	s.sc.Generation = 2
	s.sc.Spec.Server.Service = &corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"a": "b"}}}
	ready := aServer(1, lifecycle.DriverRunning, isReady)
	s.pass(time.Second, ready).wantEvents(dialect.EventSubmissionWarning).pass(time.Second, ready).wantEvents()

	events := s.connects.Events(s.sc, lifecycle.Plan{Notices: s.connects.serviceWarnings(s.sc)})
	if len(events) != 1 || events[0].Type != corev1.EventTypeWarning ||
		!strings.HasPrefix(events[0].Message, "spec.server.service: spec.selector has no effect") {
		t.Errorf("reported: %+v", events)
	}

	s.sc.Generation = 3
	s.sc.Spec.Server.Service = &corev1.Service{Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}}}}
	s.pass(time.Second, ready).wantEvents(dialect.EventSubmissionWarning).pass(time.Second, ready).wantEvents()

	events = s.connects.Events(s.sc, lifecycle.Plan{Notices: s.connects.serviceWarnings(s.sc)})
	if len(events) != 1 || events[0].Type != corev1.EventTypeWarning ||
		!strings.HasPrefix(events[0].Message, "spec.server.service: status has no effect") {
		t.Errorf("reported: %+v", events)
	}

	for key, field := range map[string]string{"sparkoperator.dev/attempt": "labels", "spark-app-selector": "labels"} {
		s.sc.Spec.Server.Service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{key: "1"}}}
		s.pass(time.Second, ready).wantMessage(conditionServiceReady,
			"spec.server.service: metadata."+field+"["+key+"]: ")
	}
}

// TestHash checks that the hash changes if a field changes that determines how a server is created, and not if another
// field changes.
func TestHash(t *testing.T) {
	same := map[string]func(*v1alpha1.SparkConnectSpec){
		"suspend": func(s *v1alpha1.SparkConnectSpec) { s.Suspend = new(true) },
		"ui": func(s *v1alpha1.SparkConnectSpec) {
			s.UI = &v1alpha1.UIConfiguration{IngressURLFormat: "a.example.com"}
		},
		"service": func(s *v1alpha1.SparkConnectSpec) { s.Server.Service = &corev1.Service{} },
		"an empty sparkConf": func(s *v1alpha1.SparkConnectSpec) {
			s.SparkConf, s.HadoopConf = map[string]string{}, map[string]string{}
		},
		"an empty memory": func(s *v1alpha1.SparkConnectSpec) {
			s.Server.Memory, s.Executor.Memory = new(""),
				new("")
		},
		"dynamicAllocation {}": func(s *v1alpha1.SparkConnectSpec) { s.DynamicAllocation = &v1alpha1.DynamicAllocation{} },
		"dynamicAllocation off": func(s *v1alpha1.SparkConnectSpec) {
			s.DynamicAllocation = &v1alpha1.DynamicAllocation{MinExecutors: new(int32(3))}
		},
	}
	for _, empty := range []string{
		`{}`, `null`, `{"spec":{}}`, `{"metadata":{"creationTimestamp":null}}`,
		`{"metadata":{},"spec":{"containers":null}}`, `{"metadata":{"labels":{},"name":"x"},"status":{}}`,
	} {
		same["template "+empty] = func(s *v1alpha1.SparkConnectSpec) {
			s.Server.Template, s.Executor.Template = &runtime.RawExtension{Raw: []byte(empty)},
				&runtime.RawExtension{Raw: []byte(empty)}
		}
	}

	other := map[string]func(*v1alpha1.SparkConnectSpec){
		"sparkVersion": func(s *v1alpha1.SparkConnectSpec) { s.SparkVersion = "4.1.5" },
		"image":        func(s *v1alpha1.SparkConnectSpec) { s.Image = new("b") },
		"sparkConf":    func(s *v1alpha1.SparkConnectSpec) { s.SparkConf = map[string]string{"spark.a": "b"} },
		"hadoopConf":   func(s *v1alpha1.SparkConnectSpec) { s.HadoopConf = map[string]string{"a": "b"} },
		"server":       func(s *v1alpha1.SparkConnectSpec) { s.Server.Cores = new(int32(2)) },
		"template": func(s *v1alpha1.SparkConnectSpec) {
			s.Server.Template = &runtime.RawExtension{Raw: []byte(`{"spec":{"serviceAccountName":"a"}}`)}
		},
		"an unknown field": func(s *v1alpha1.SparkConnectSpec) {
			s.Server.Template = &runtime.RawExtension{Raw: []byte(`{"spec":{"fromTomorrow":1}}`)}
		},
		"a container": func(s *v1alpha1.SparkConnectSpec) {
			s.Executor.Template = &runtime.RawExtension{Raw: []byte(`{"spec":{"containers":[{}]}}`)}
		},
		"no template": func(s *v1alpha1.SparkConnectSpec) {
			s.Executor.Template = &runtime.RawExtension{Raw: []byte(`{"spec":7}`)}
		},
		"executor": func(s *v1alpha1.SparkConnectSpec) { s.Executor.Instances = new(int32(3)) },
		"dynamic":  func(s *v1alpha1.SparkConnectSpec) { s.DynamicAllocation = &v1alpha1.DynamicAllocation{Enabled: true} },
	}

	base := hash(&aConnect().Spec)
	if base != "1:"+strings.Split(base, ":")[1] || !lifecycle.Edited(base, "1:0") {
		t.Errorf("hash %q", base)
	}

	for name, mod := range same {
		spec := aConnect().Spec
		if mod(&spec); hash(&spec) != base {
			t.Errorf("%s changes the hash", name)
		}
	}

	for name, mod := range other {
		spec := aConnect().Spec
		if mod(&spec); !lifecycle.Edited(base, hash(&spec)) {
			t.Errorf("%s is no edit", name)
		}
	}
	// This spec sets all fields of the type. A new field changes the hash unless this test excludes it.
	text, _ := json.Marshal(v1alpha1.SparkConnectSpec{
		Image: new("a"), HadoopConf: map[string]string{"a": "b"}, SparkConf: map[string]string{"a": "b"},
		DynamicAllocation: &v1alpha1.DynamicAllocation{},
		Suspend:           new(true), UI: &v1alpha1.UIConfiguration{},
	})

	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil || len(fields) != 9 {
		t.Errorf("the spec has %d fields, this test knows 9: %v", len(fields), err)
	}
}

// TestConnectAdopt checks that Adopt gives another operator's pods the labels by which our operator finds pods.
func TestConnectAdopt(t *testing.T) {
	sc := aConnect()
	controlled := func(kind, uid string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{Kind: kind, Name: "o", UID: types.UID(uid), Controller: new(true)}}
	}
	pod := func(name, uid, role string, owners []metav1.OwnerReference) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "team", UID: types.UID(uid), OwnerReferences: owners,
			Labels: map[string]string{submit.RoleLabel: role, sparkoperator.LabelConnectName: "hub",
				sparkoperator.LabelLaunchedBy: "true"},
		}}
	}
	candidates := []corev1.Pod{
		pod("hub-exec-1", "e1", "executor", controlled("Pod", "p1")),
		pod("hub-server", "p1", connect.RoleServer, controlled("SparkConnect", "3f0c")),
		pod("hub-exec-2", "e2", "executor", controlled("Pod", "other")),
		pod("forged", "p2", connect.RoleServer, nil),
		pod("hub-exec-3", "e3", "executor", nil),
		pod("another", "p3", connect.RoleServer, controlled("SparkConnect", "another")),
		pod("driver", "p4", "driver", controlled("SparkConnect", "3f0c")),
	}
	adopt := func(candidates []corev1.Pod) (got []string) {
		before, _ := json.Marshal(candidates)
		for _, p := range (Connects{}).Adopt(sc, candidates) {
			got = append(got, fmt.Sprintf("%s %s %s %s", p.Name, p.Labels[sparkoperator.LabelAppUID],
				p.Labels[sparkoperator.LabelAttempt], p.Annotations[lifecycle.AdoptedAnnotation]))
		}

		if after, _ := json.Marshal(candidates); string(after) != string(before) {
			t.Error("the pods in the cache are changed")
		}
		return got
	}

	want := []string{"hub-server 3f0c 1 p1", "hub-exec-1 3f0c 1 p1"}
	if diff := cmp.Diff(want, adopt(candidates)); diff != "" {
		t.Errorf("first pass (-want +got):\n%s", diff)
	}
	// After the adoption, the server belongs to the stored attempt. A server that the other operator creates later,
	// after one of ours, belongs to the next attempt.
	rememberConnect(&sc.Status, lifecycle.Memory{Phase: lifecycle.Running, Attempt: 4, AttemptID: "p1"})

	if diff := cmp.Diff([]string{"hub-server 3f0c 4 p1"}, adopt(candidates[1:2])); diff != "" {
		t.Errorf("memory (-want +got):\n%s", diff)
	}

	rememberConnect(&sc.Status, lifecycle.Memory{Phase: lifecycle.Running, Attempt: 4, AttemptID: "ours"})

	if diff := cmp.Diff([]string{"hub-server 3f0c 5 p1"}, adopt(candidates[1:2])); diff != "" {
		t.Errorf("later (-want +got):\n%s", diff)
	}
}

// TestConnectTakeOver checks that a server of another operator continues until the spec is edited. Then a server of our
// operator replaces it.
func TestConnectTakeOver(t *testing.T) {
	s := stays(t, aConnect(func(sc *v1alpha1.SparkConnect) {
		sc.Status = v1alpha1.SparkConnectStatus{
			State: v1alpha1.SparkConnectStateReady, StartTime: metav1.NewTime(connectBegan.Add(-24 * time.Hour)),
			Server: v1alpha1.SparkConnectServerStatus{PodName: "hub-server", ServiceName: "hub-server"},
		}
	}))
	theirs := aServer(1, lifecycle.DriverRunning, isReady, func(d *lifecycle.Driver) { d.AttemptID = "p1" })
	s.pass(0, theirs).wantEvents(EventServerReady, EventConnectTakenOver)
	s.expect(v1alpha1.SparkConnectStateReady, service, "Ready=True Running", "ServerPodReady=True ServerPodReady",
		"Progressing=False ServerReady")

	if len(s.plan.Actions) > 0 || !s.sc.Status.StartTime.Equal(new(metav1.NewTime(connectBegan.Add(-24*time.Hour)))) {
		t.Errorf("actions %v, started %s", s.plan.Actions, s.sc.Status.StartTime)
	}

	s.pass(time.Hour, theirs).wantEvents()
	s.sc.Spec.Image = new("docker.io/apache/spark:4.1.5")
	s.pass(time.Second, theirs).wantEvents(EventConnectSpecChanged)
	s.pass(time.Second, noServer).wantEvents(EventServerCreated)

	if s.plan.Next.Attempt != 2 {
		t.Errorf("attempt %d", s.plan.Next.Attempt)
	}
}

// TestConnectServiceEverywhere checks that the Service is wanted in every phase. Its name and its selector are the same
// for all attempts.
func TestConnectServiceEverywhere(t *testing.T) {
	sc := aConnect(func(sc *v1alpha1.SparkConnect) {
		sc.Spec.Server.Service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "link",
			Labels: map[string]string{"a": "b"}}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort}}
	})

	c := Connects{Options{UI: sparkoperator.UI{Outside: true}}}
	if !c.AuxiliaryObjects(sc).Unsettled {
		t.Error("something is wanted before the first decision")
	}

	contents := map[string]bool{}
	for i, phase := range []lifecycle.Phase{
		lifecycle.New, lifecycle.Launched, lifecycle.Started, lifecycle.Running, lifecycle.Unknown, lifecycle.Ended,
		lifecycle.Waiting, lifecycle.Retained,
		lifecycle.Done, lifecycle.Suspending, lifecycle.Suspended, lifecycle.Resuming, lifecycle.Editing,
	} {
		rememberConnect(&sc.Status, lifecycle.Memory{Phase: phase, Attempt: int32(i)})
		sc.Spec.SparkVersion = fmt.Sprint("4.1.", i)

		wanted := c.AuxiliaryObjects(sc)
		if len(wanted.Objects) != 1 {
			t.Fatalf("%s: wanted %v", phase, wanted.Objects)
		}

		contents[wanted.Objects[0].GetLabels()[lifecycle.ContentLabel]] = true
	}

	if len(contents) != 1 {
		t.Errorf("%d different Services", len(contents))
	}

	service := c.AuxiliaryObjects(sc).Objects[0].(*corev1.Service)

	selector := map[string]string{sparkoperator.LabelConnectName: "hub", sparkoperator.LabelLaunchedBy: "true",
		submit.RoleLabel: connect.RoleServer}
	if diff := cmp.Diff(selector, service.Spec.Selector); diff != "" {
		t.Errorf("selector (-want +got):\n%s", diff)
	}

	if service.Name != "link" || service.Labels["a"] != "b" || service.Labels[sparkoperator.LabelAppUID] != "3f0c" ||
		service.Labels[sparkoperator.LabelCreatedBy] != "true" ||
		service.Spec.Type != corev1.ServiceTypeNodePort || !metav1.IsControlledBy(service, sc) ||
		service.Labels[sparkoperator.LabelAttempt] != "" {
		t.Errorf("Service %+v", service)
	}
}

// TestConnectServiceInside checks that a server's Service has the type ClusterIP if the configuration does not allow
// exposure. The condition Exposed then reports why the requested type is not used. A Service spec that redirects
// traffic is rejected with every configuration, and the existing Service stays.
func TestConnectServiceInside(t *testing.T) {
	sc := aConnect(func(sc *v1alpha1.SparkConnect) {
		sc.Spec.Server.Service = &corev1.Service{Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerSourceRanges: []string{"10.0.0.0/8"},
			Selector: map[string]string{"app": "database"},
			Ports:    []corev1.ServicePort{{Name: "jmx", Port: 8090, NodePort: 30000}},
		}}
	})
	rememberConnect(&sc.Status, lifecycle.Memory{Phase: lifecycle.Running, Attempt: 1})
	s := Connects{}.AuxiliaryObjects(sc)

	service := s.Objects[0].(*corev1.Service)
	if service.Spec.Type != corev1.ServiceTypeClusterIP || len(service.Spec.LoadBalancerSourceRanges) > 0 ||
		service.Spec.Selector["app"] != "" {
		t.Errorf("Service %+v", service.Spec)
	}

	for _, port := range service.Spec.Ports {
		if port.NodePort != 0 {
			t.Errorf("port %+v", port)
		}
	}

	notices := s.Record([]lifecycle.AuxiliaryObject{{Kind: "Service", Name: service.Name, Current: true}}, connectBegan)

	reported := meta.FindStatusCondition(sc.Status.Conditions, dialect.ConditionExposed)
	if len(notices) != 1 || reported == nil || reported.Status != metav1.ConditionFalse ||
		reported.Reason != dialect.ReasonSwitchedOff ||
		!strings.Contains(reported.Message, "spec.server.service.spec.type: a Service of type LoadBalancer") ||
		!strings.Contains(reported.Message, "exposure.enabled: true") {
		t.Errorf("reported %v, %+v", notices, reported)
	}

	outside := Connects{Options{UI: sparkoperator.UI{Outside: true}}}
	if made := outside.AuxiliaryObjects(sc).Objects[0].(*corev1.Service); made.Spec.Type != corev1.ServiceTypeLoadBalancer {
		t.Errorf("with exposure: %+v", made.Spec)
	}

	for field, change := range map[string]func(*corev1.ServiceSpec){
		"externalIPs":  func(s *corev1.ServiceSpec) { s.ExternalIPs = []string{"10.0.0.1"} },
		"externalName": func(s *corev1.ServiceSpec) { s.ExternalName = "example.com" },
		"type":         func(s *corev1.ServiceSpec) { s.Type = corev1.ServiceTypeExternalName },
	} {
		other := sc.DeepCopy()
		change(&other.Spec.Server.Service.Spec)

		if _, err := outside.service(other); err == nil || !strings.Contains(err.Error(), field) ||
			!outside.AuxiliaryObjects(other).KeepServices {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// linksOf returns the Ingress and the route of the UI, and the problems with them.
func linksOf(c Connects, sc *v1alpha1.SparkConnect) (links []string, wrong []string) {
	service, err := c.service(sc)
	if err != nil {
		return nil, []string{err.Error()}
	}

	e := c.exposure(sc, service.Name)
	for _, d := range e.Links {
		links = append(links, d.Kind+" "+d.Name+" "+d.Address.String())
	}

	for _, w := range e.Problems {
		wrong = append(wrong, w.Reason+" "+w.Message)
	}
	return links, wrong
}

func TestConnectUI(t *testing.T) {
	ingress := &sparkoperator.UIIngress{URLFormat: "https://spark.example.com/{{$appNamespace}}/{{$appName}}"}

	parents := []expose.Parent{{Name: "gate"}}
	for name, tc := range map[string]struct {
		options sparkoperator.UI
		ui      *v1alpha1.UIConfiguration
		conf    map[string]string
		links   []string
		wrong   string
	}{
		"the spec has no UI": {options: sparkoperator.UI{Ingress: ingress,
			Route: &sparkoperator.UIRoute{Parents: parents}}},
		"the operator's address": {options: sparkoperator.UI{Ingress: ingress},
			ui:    &v1alpha1.UIConfiguration{},
			links: []string{"Ingress hub-ui-ingress https://spark.example.com/team/hub"}},
		"the spec's address": {options: sparkoperator.UI{Ingress: &sparkoperator.UIIngress{}},
			ui:    &v1alpha1.UIConfiguration{IngressURLFormat: "{{$appName}}.example.com"},
			links: []string{"Ingress hub-ui-ingress http://hub.example.com"}},
		"Ingresses are off": {ui: &v1alpha1.UIConfiguration{IngressURLFormat: "{{$appName}}.example.com"},
			wrong: "SwitchedOff spec.ui.ingressURLFormat: "},
		"everything is off": {ui: &v1alpha1.UIConfiguration{}, wrong: "SwitchedOff spec.ui: "},
		"no UI": {options: sparkoperator.UI{Ingress: ingress},
			ui: &v1alpha1.UIConfiguration{}, conf: map[string]string{"spark.ui.enabled": "false"},
			wrong: "SwitchedOff spec.ui: "},
		"no host": {options: sparkoperator.UI{Ingress: ingress},
			ui:    &v1alpha1.UIConfiguration{IngressURLFormat: "/{{$appName}}"},
			wrong: "InvalidAddress spec.ui.ingressURLFormat: "},
		"an unknown placeholder": {options: sparkoperator.UI{Ingress: ingress},
			ui:    &v1alpha1.UIConfiguration{IngressURLFormat: "{{$name}}.example.com"},
			wrong: "InvalidAddress spec.ui.ingressURLFormat: "},
		"the operator's address is invalid": {options: sparkoperator.UI{Ingress: &sparkoperator.UIIngress{URLFormat: "x y"}}, ui: &v1alpha1.UIConfiguration{}, wrong: "InvalidAddress ui.ingress.urlFormat"},
		"a route": {
			options: sparkoperator.UI{Route: &sparkoperator.UIRoute{}},
			ui:      &v1alpha1.UIConfiguration{Route: &v1alpha1.RouteConfiguration{Hostnames: []string{"hub.example.com"}, ParentRefs: []v1beta2.RouteParentReference{{Name: "gate"}}}},
			links:   []string{"HTTPRoute hub-ui-route http://hub.example.com"},
		},
		"the operator's route": {
			options: sparkoperator.UI{Route: &sparkoperator.UIRoute{Parents: parents,
				URLFormat: "{{$appName}}.example.com"}}, ui: &v1alpha1.UIConfiguration{},
			links: []string{"HTTPRoute hub-ui-route http://hub.example.com"},
		},
		"an Ingress and a route": {
			options: sparkoperator.UI{Ingress: ingress, Route: &sparkoperator.UIRoute{Parents: parents}},
			ui:      &v1alpha1.UIConfiguration{},
			links: []string{"Ingress hub-ui-ingress https://spark.example.com/team/hub",
				"HTTPRoute hub-ui-route https://spark.example.com/team/hub"},
		},
		"two paths": {
			options: sparkoperator.UI{Ingress: ingress,
				Route: &sparkoperator.UIRoute{Parents: parents, URLFormat: "{{$appName}}.example.com"}},
			ui:    &v1alpha1.UIConfiguration{},
			links: []string{"Ingress hub-ui-ingress https://spark.example.com/team/hub"},
			wrong: "InvalidAddress ui.route.urlFormat",
		},
		"routes are off": {ui: &v1alpha1.UIConfiguration{Route: &v1alpha1.RouteConfiguration{}},
			wrong: "SwitchedOff spec.ui.route: "},
		"no Gateway": {options: sparkoperator.UI{Route: &sparkoperator.UIRoute{}},
			ui:    &v1alpha1.UIConfiguration{Route: &v1alpha1.RouteConfiguration{}},
			wrong: "NoGateway spec.ui.route.parentRefs: "},
		"neither host nor path": {options: sparkoperator.UI{Route: &sparkoperator.UIRoute{Parents: parents}},
			ui: &v1alpha1.UIConfiguration{}, wrong: "InvalidAddress spec.ui.route.hostnames: "},
		"an invalid route": {options: sparkoperator.UI{Route: &sparkoperator.UIRoute{Parents: parents,
			URLFormat: "{{$x}}"}}, ui: &v1alpha1.UIConfiguration{}, wrong: "InvalidAddress ui.route.urlFormat"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := aConnect(func(sc *v1alpha1.SparkConnect) { sc.Spec.UI, sc.Spec.SparkConf = tc.ui, tc.conf })

			links, wrong := linksOf(Connects{Options{UI: tc.options}}, sc)
			if diff := cmp.Diff(tc.links, links); diff != "" {
				t.Errorf("links (-want +got):\n%s", diff)
			}

			if all := strings.Join(wrong, "\n"); !strings.HasPrefix(all, tc.wrong) || (tc.wrong == "") != (all == "") {
				t.Errorf("wrong: %q, want %q", all, tc.wrong)
			}
		})
	}
}

// TestConnectUIObjects checks the auxiliary objects of the UI. It also checks that the server's configuration contains
// the path of the UI.
func TestConnectUIObjects(t *testing.T) {
	c := Connects{Options{UI: sparkoperator.UI{
		Ingress: &sparkoperator.UIIngress{URLFormat: "spark.example.com/{{$appName}}", ClassName: "nginx",
			Annotations: map[string]string{"x": "operator"}},
		Route: &sparkoperator.UIRoute{Parents: []expose.Parent{{Name: "gate"}}},
	}}}
	sc := aConnect(func(sc *v1alpha1.SparkConnect) {
		sc.Spec.Server.Service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "link"}}
		sc.Spec.UI = &v1alpha1.UIConfiguration{IngressAnnotations: map[string]string{"x": "spec"},
			IngressTLS: []networkingv1.IngressTLS{{SecretName: "cert"}}}
	})
	rememberConnect(&sc.Status, lifecycle.Memory{Phase: lifecycle.Running, Attempt: 1})

	objects := c.AuxiliaryObjects(sc).Objects
	if len(objects) != 4 || objects[0].GetName() != "link" || objects[1].GetName() != "hub-server-ui-svc" {
		t.Fatalf("wanted %v", objects)
	}

	ingress, route := objects[2].(*networkingv1.Ingress), objects[3].(*unstructured.Unstructured)

	backend := ingress.Spec.Rules[0].HTTP.Paths[0].Backend.Service
	if backend.Name != "hub-server-ui-svc" || backend.Port.Number != connect.UIPort ||
		ingress.Annotations["x"] != "spec" || ingress.Spec.TLS[0].SecretName != "cert" ||
		*ingress.Spec.IngressClassName != "nginx" {
		t.Errorf("Ingress %+v", ingress)
	}

	for _, object := range objects {
		if object.GetLabels()[lifecycle.ContentLabel] == "" ||
			object.GetLabels()[sparkoperator.LabelAppUID] != "3f0c" || !metav1.IsControlledBy(object, sc) {
			t.Errorf("%s has not its identity: %v", object.GetName(), object.GetLabels())
		}
	}

	rules, _, _ := unstructured.NestedSlice(route.Object, "spec", "rules")
	if text, _ := json.Marshal(rules); !strings.Contains(string(text), `"name":"hub-server-ui-svc"`) ||
		!strings.Contains(string(text), `"port":4040`) {
		t.Errorf("route %s", text)
	}

	made, _, err := c.next(sc, 1).Objects()
	if err != nil {
		t.Fatal(err)
	}

	if args := made.Driver.Spec.Containers[0].Args; !slices.Contains(args, "spark.ui.proxyBase=/hub") ||
		!slices.Contains(args, "spark.ui.proxyRedirectUri=/") {
		t.Errorf("the configuration of the server lacks its path: %q", args)
	}
}

// TestConnectUIService checks when the web UI has a Service of its own. The UI must be enabled, and either the
// configuration must enable the Service, or the spec must configure the UI (spec.ui). If the Service for clients
// already has the name of the UI's Service, only the Service for clients is created.
func TestConnectUIService(t *testing.T) {
	on := sparkoperator.UI{Service: true}
	for name, tc := range map[string]struct {
		options sparkoperator.UI
		change  func(*v1alpha1.SparkConnect)
		want    string
	}{
		"as configured": {on, nil, "hub-server hub-server-ui-svc"},
		"switched off":  {sparkoperator.UI{}, nil, "hub-server"},
		"no UI": {on,
			func(sc *v1alpha1.SparkConnect) { sc.Spec.SparkConf = map[string]string{"spark.ui.enabled": "false"} },
			"hub-server"},
		"for an Ingress anyway": {sparkoperator.UI{Ingress: &sparkoperator.UIIngress{URLFormat: "a.b"}},
			func(sc *v1alpha1.SparkConnect) { sc.Spec.UI = &v1alpha1.UIConfiguration{} },
			"hub-server hub-server-ui-svc hub-ui-ingress"},
		"clients' has its name": {on, func(sc *v1alpha1.SparkConnect) {
			sc.Spec.Server.Service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "hub-server-ui-svc"}}
		}, "hub-server-ui-svc"},
		"a long name": {on, func(sc *v1alpha1.SparkConnect) { sc.Name = strings.Repeat("a", 56) },
			strings.Repeat("a", 56) + "-server " + strings.Repeat("a", 47) + "-3f4d778e-ui-svc"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := aConnect()
			if tc.change != nil {
				tc.change(sc)
			}

			rememberConnect(&sc.Status, lifecycle.Memory{Phase: lifecycle.Running, Attempt: 1})

			var got []string
			for _, object := range (Connects{Options{UI: tc.options}}).AuxiliaryObjects(sc).Objects {
				got = append(got, object.GetName())
				if s, ok := object.(*corev1.Service); ok && len(s.Spec.Ports) != 1 {
					t.Errorf("Service %s has ports %+v, want one", s.Name, s.Spec.Ports)
				}
			}

			if all := strings.Join(got, " "); all != tc.want {
				t.Errorf("objects are %q, want %q", all, tc.want)
			}
		})
	}
}

// TestConnectExposed checks the condition Exposed, which reports whether clients can reach the UI through an Ingress or
// a route. A server runs even if they cannot.
func TestConnectExposed(t *testing.T) {
	s := stays(t, aConnect(func(sc *v1alpha1.SparkConnect) { sc.Spec.UI = &v1alpha1.UIConfiguration{} }))
	s.connects.UI.Ingress = &sparkoperator.UIIngress{URLFormat: "{{$appName}}.example.com"}
	stands := lifecycle.AuxiliaryObject{Kind: "Service", Name: "hub-server", Current: true}
	ready := aServer(1, lifecycle.DriverRunning, isReady)
	refused := lifecycle.AuxiliaryObject{Kind: "Ingress", Name: "hub-ui-ingress",
		Cause: lifecycle.Cause{Reason: "Forbidden", Message: "no"}}
	s.pass(0, noServer, stands, refused).wantEvents(EventServerCreated, "Forbidden")
	s.pass(time.Second, ready, stands, refused).wantEvents(EventServerReady)
	s.expect(v1alpha1.SparkConnectStateReady, service, "Ready=True Running", "ServerPodReady=True ServerPodReady",
		"Progressing=False ServerReady", "Exposed=False Forbidden")
	s.pass(time.Second, ready, stands,
		lifecycle.AuxiliaryObject{Kind: "Ingress", Name: "hub-ui-ingress", Current: true}).wantEvents()
	s.expect(v1alpha1.SparkConnectStateReady, service, "Ready=True Running", "ServerPodReady=True ServerPodReady",
		"Progressing=False ServerReady", "Exposed=True Exposed")

	if got := s.sc.Status.Server.WebUIAddress; got != "http://hub.example.com" {
		t.Errorf("address %q", got)
	}

	s.sc.Spec.UI = nil
	s.pass(time.Second, ready).wantEvents()
	s.expect(v1alpha1.SparkConnectStateReady, service, "Ready=True Running", "ServerPodReady=True ServerPodReady",
		"Progressing=False ServerReady")

	if s.sc.Status.Server.WebUIAddress != "" {
		t.Errorf("address %q of what is gone", s.sc.Status.Server.WebUIAddress)
	}
}

// FuzzConnectMemory checks that each decision reads the same memory that the previous decision stored. Every dialect
// must have this property.
func FuzzConnectMemory(f *testing.F) {
	f.Add("Waiting", "Failed", "OOMKilled", "it was too big", "abc", int32(3), int64(1_770_000_000_000_001), int64(0))
	f.Add("", "", "", "", "", int32(0), int64(0), int64(-5))
	f.Fuzz(func(t *testing.T, phase, outcome, reason, message, digest string, n int32, at, later int64) {
		moment := func(us int64) time.Time {
			if us == 0 {
				return time.Time{}
			}
			return time.UnixMicro(us % (1 << 52)).UTC()
		}

		m := lifecycle.Memory{
			Phase: lifecycle.Phase(asStored(phase)), Since: moment(at), Attempt: n, AttemptID: asStored(digest),
			Runs: n, Submissions: n + 1, SuspendedRuns: n / 2,
			SubmittedAt: moment(at), UngatedAt: moment(at + 1), EndedAt: moment(later), NextAttempt: moment(at ^ later),
			ShortSince: moment(later + at), FailedExecutorCreatedAt: moment(at + 2),
			Outcome: lifecycle.Outcome(asStored(outcome)),
			Cause:   lifecycle.Cause{Reason: asStored(reason), Message: asStored(message)},
		}
		if digest := asStored(digest); digest != "" {
			m.SpecHash = fmt.Sprintf("%d:%s", connectHashVersion, digest)
		}
		var s v1alpha1.SparkConnectStatus
		rememberConnect(&s, m)

		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}

		s = v1alpha1.SparkConnectStatus{}
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(m, decodeConnect(&s)); diff != "" {
			t.Errorf("memory (-encoded +decoded):\n%s", diff)
		}
	})
}

// asStored returns a text after JSON encoding and decoding, as the API server would store it.
func asStored(text string) string {
	quoted, _ := json.Marshal(text)
	_ = json.Unmarshal(quoted, &text)
	return text
}
