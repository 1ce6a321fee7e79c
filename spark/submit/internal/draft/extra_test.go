package draft_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// driverTree returns the created driver pod as decoded JSON.
func driverTree(t *testing.T, o submit.Objects) map[string]any {
	t.Helper()

	object, err := o.DriverObject()
	if err != nil {
		t.Fatal(err)
	}

	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		t.Fatalf("DriverObject gives %T, want an unstructured pod", object)
	}
	return u.Object
}

// at returns the value at a path of a tree. The steps of the path are keys of objects, and indexes or names of list
// elements.
func at(tree any, path ...any) any {
	for _, step := range path {
		switch node := tree.(type) {
		case map[string]any:
			tree = node[fmt.Sprint(step)]
		case []any:
			i := slices.IndexFunc(node, func(e any) bool { return step == e.(map[string]any)["name"] })
			if n, ok := step.(int); ok {
				i = n
			}

			if i < 0 || i >= len(node) {
				return nil
			}

			tree = node[i]
		default:
			return nil
		}
	}
	return tree
}

func TestUnknownFieldsAreKept(t *testing.T) {
	r := kit.Minimal()
	r.SparkVersion = "4.3.0"
	r.DriverTemplate = []byte(`
future: 1
kind: Pod
metadata: {future: {a: [1, 2.5, null]}, name: x, ownerReferences: [{uid: u, future: 1}]}
status: {future: 1}
spec:
  future: [x]
  securityContext: {fsGroup: 1, seccompProfile: {type: RuntimeDefault, future: s}}
  tolerations: [{key: a}, {key: b, future: 2}]
  affinity: {future: {}}
  initContainers: [{name: init, image: i, future: i}]
  volumes: [{name: v, emptyDir: {future: 3}}, {name: w, floppy: {drive: a}}]
  containers:
  - {image: ours, future: spark, volumeMounts: [{name: v, mountPath: /1}, {name: v, mountPath: /2, future: 4}], env: [{name: E, valueFrom: {vault: x}}], resources: {future: 5}}
  - {name: side, image: s, future: side, securityContext: {future: 6}}
`)
	r.Driver.Sidecars = []corev1.Container{{Name: "late", Image: "l"}}
	o := kit.Build(t, r)

	tree := driverTree(t, o)
	for _, c := range []struct {
		path []any
		want any
	}{
		{[]any{"future"}, int64(1)},
		{[]any{"metadata", "future"}, map[string]any{"a": []any{int64(1), 2.5, nil}}},
		{[]any{"metadata", "name"}, "my-app-1-c05dd8a1fbc0dc03-driver"},
		{[]any{"metadata", "ownerReferences", 0, "uid"}, "uid-1"},
		{[]any{"metadata", "ownerReferences", 0, "future"}, nil},
		{[]any{"status"}, nil},
		{[]any{"spec", "future"}, []any{"x"}},
		{[]any{"spec", "securityContext"},
			map[string]any{"fsGroup": int64(1),
				"seccompProfile": map[string]any{"type": "RuntimeDefault", "future": "s"}}},
		{[]any{"spec", "tolerations", 0, "future"}, nil},
		{[]any{"spec", "tolerations", 1}, map[string]any{"key": "b", "future": int64(2)}},
		{[]any{"spec", "affinity", "future"}, map[string]any{}},
		{[]any{"spec", "initContainers", "init", "future"}, "i"},
		{[]any{"spec", "volumes", "v", "emptyDir", "future"}, int64(3)},
		{[]any{"spec", "volumes", "w", "floppy", "drive"}, "a"},
		{[]any{"spec", "containers", 2, "name"}, overlay.DriverContainer},
		{[]any{"spec", "containers", 2, "future"}, "spark"},
		{[]any{"spec", "containers", 2, "image"}, "docker.io/apache/spark:4.1.4"},
		{[]any{"spec", "containers", 2, "volumeMounts", 0, "future"}, nil},
		{[]any{"spec", "containers", 2, "volumeMounts", 1, "future"}, int64(4)},
		{[]any{"spec", "containers", 2, "env", "E", "valueFrom", "vault"}, "x"},
		{[]any{"spec", "containers", 2, "resources", "future"}, int64(5)},
		{[]any{"spec", "containers", "side", "future"}, "side"},
		{[]any{"spec", "containers", "side", "securityContext"}, map[string]any{"future": int64(6)}},
		{[]any{"spec", "containers", "late", "future"}, nil},
	} {
		if diff := cmp.Diff(c.want, at(tree, c.path...)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.path, diff)
		}
	}

	for _, w := range o.Warnings {
		if !strings.Contains(w, "ownerReferences") {
			t.Errorf("warning: %s", w)
		}
	}
}

// TestNoUnknownFieldIsLost adds an unknown field to every object of a full template, and checks that the driver and the
// executors have all these fields.
func TestNoUnknownFieldIsLost(t *testing.T) {
	var tree any
	if err := json.Unmarshal([]byte(kit.FullTemplate), &tree); err != nil {
		t.Fatal(err)
	}
	var want []string
	sow(tree, "", &want)

	template, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}

	for _, container := range []string{"", "main", "last", "none"} {
		r := kit.With("spark.kubernetes.driver.podTemplateContainerName", container,
			"spark.kubernetes.executor.podTemplateContainerName", container)
		r.DriverTemplate, r.ExecutorTemplate = template, template
		r.Driver.Sidecars, r.Driver.InitContainers = []corev1.Container{{Name: "s1", Image: "i"}},
			[]corev1.Container{{Name: "i1", Image: "i"}}
		r.Executor = r.Driver
		o := kit.Build(t, r)
		cm := kit.Find[*corev1.ConfigMap](t, o, "my-app-1-c05dd8a1fbc0dc03-driver-podspec-conf-map")

		var executors any
		if err := json.Unmarshal([]byte(cm.Data["podspec-configmap-key"]), &executors); err != nil {
			t.Fatal(err)
		}

		for who, pod := range map[string]any{"driver": driverTree(t, o), "executors": executors} {
			var got []string
			reap(pod, &got)
			slices.Sort(got)
			slices.Sort(want)

			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, Spark's container %q (-want +got):\n%s", who, container, diff)
			}
		}

		if len(o.Warnings) > 0 {
			t.Errorf("warnings: %q", o.Warnings)
		}
	}
}

// sow adds an unknown field to every object of a tree and records the paths. It skips objects whose keys are free text
// of the user, such as labels.
func sow(tree any, path string, all *[]string) {
	switch node := tree.(type) {
	case map[string]any:
		for key, value := range node {
			if !slices.Contains([]string{"labels", "annotations", "nodeSelector", "limits", "requests"}, key) {
				sow(value, path+"/"+key, all)
			}
		}

		node["future"] = path
		*all = append(*all, path)
	case []any:
		for i, value := range node {
			sow(value, fmt.Sprint(path, "/", i), all)
		}
	}
}

func reap(tree any, all *[]string) {
	switch node := tree.(type) {
	case map[string]any:
		for key, value := range node {
			if text, ok := value.(string); ok && key == "future" {
				*all = append(*all, text)
				continue
			}

			reap(value, all)
		}
	case []any:
		for _, value := range node {
			reap(value, all)
		}
	}
}

func TestFieldsInsideReplacedStructsWarn(t *testing.T) {
	r := kit.Minimal()
	r.DriverTemplate = []byte(`{"spec":{"affinity":{"future":1},"dnsConfig":{"future":1},"securityContext":{"future":1},
		"containers":[{"name":"c","securityContext":{"future":1},"lifecycle":{"future":1}},{"name":"side","lifecycle":{"future":1}}]}}`)
	r.Driver = overlay.Overlay{Affinity: &corev1.Affinity{}, DNSConfig: &corev1.PodDNSConfig{},
		PodSecurityContext: &corev1.PodSecurityContext{},
		SecurityContext:    &corev1.SecurityContext{}, Lifecycle: &corev1.Lifecycle{}}
	o := kit.Build(t, r)
	tree := driverTree(t, o)
	var got []string
	reap(tree, &got)

	if at(tree, "spec", "containers", "side", "lifecycle", "future") != int64(1) || len(o.Warnings) != 5 {
		t.Errorf("the sidecar's field should stay; warnings %q", o.Warnings)
	}

	for _, path := range [][]any{{"affinity"}, {"dnsConfig"}, {"securityContext"},
		{"containers", "c", "securityContext"}, {"containers", "c", "lifecycle"}} {
		if fields, ok := at(tree, append([]any{"spec"}, path...)...).(map[string]any); ok && fields["future"] != nil {
			t.Errorf("%v: the template's field stands in what replaced it: %v", path, fields)
		}
	}
}

// TestDriverObjectFollowsTheDriver checks that the changes that a caller makes to the pod after Build override the
// template, and that objects that the caller removed stay removed.
func TestDriverObjectFollowsTheDriver(t *testing.T) {
	r := kit.Minimal()
	r.DriverTemplate = []byte(`{"spec":{"future":1,"containers":[{"name":"c"},{"name":"side","future":1}]}}`)
	o := kit.Build(t, r)
	o.Driver.Labels["late"] = "1"
	o.Driver.Spec.Containers = o.Driver.Spec.Containers[1:]

	tree := driverTree(t, o)
	if at(tree, "metadata", "labels", "late") != "1" || at(tree, "spec", "future") != int64(1) ||
		len(at(tree, "spec", "containers").([]any)) != 1 ||
		at(tree, "spec", "containers", 0, "future") != nil {
		t.Errorf("pod is %v", tree)
	}

	at(tree, "spec").(map[string]any)["future"] = "changed"
	if again := driverTree(t, o); at(again, "spec", "future") != int64(1) {
		t.Error("two calls share what they return")
	}
}

func TestDriverObjectWithoutUnknownFields(t *testing.T) {
	r := kit.Minimal()
	r.DriverTemplate = []byte(kit.FullTemplate)

	o := kit.Build(t, r)
	if object, err := o.DriverObject(); err != nil || object != submit.Object(o.Driver) || o.DriverExtra != nil {
		t.Errorf("%T, %v, extra %v; want the typed pod itself", object, err, o.DriverExtra)
	}
}

// TestLostFieldsWarn checks the warning for a container without a name: its unknown fields are lost, because the
// container cannot be found again. A valid pod has no such container.
func TestLostFieldsWarn(t *testing.T) {
	r := kit.Minimal()
	r.DriverTemplate = []byte(`{"spec":{"containers":[{"name":"c"},{"name":"side","future":1},{"future":1},{"future":2}]}}`)

	o := kit.Build(t, r)
	if len(o.Warnings) != 1 || !strings.HasPrefix(o.Warnings[0], "DriverTemplate: spec.containers[3]: has fields") {
		t.Errorf("warnings: %q", o.Warnings)
	}

	if tree := driverTree(t, o); at(tree, "spec", "containers", "side", "future") != int64(1) {
		t.Errorf("pod is %v", tree)
	}
}

// TestManyContainers builds from a template with many containers that change their index. Finding the containers by
// name must not take quadratic time, because a template may be as large as an object.
func TestManyContainers(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"spec":{"containers":[{"name":"spark"}`)

	for i := range 999 { // the limit of a list
		fmt.Fprintf(&b, `,{"name":"c%d","f":%d}`, i, i)
	}

	b.WriteString("]}}")

	r := kit.Minimal()
	r.DriverTemplate = []byte(b.String())
	o := kit.Build(t, r)

	containers := at(driverTree(t, o), "spec", "containers").([]any)
	for i, c := range containers[:999] {
		if c.(map[string]any)["f"] != int64(i) {
			t.Fatalf("container %d is %v", i, c)
		}
	}

	if len(o.Warnings) > 0 {
		t.Errorf("warnings: %q", o.Warnings)
	}
}

// FuzzDriverTemplate checks that no template makes Build panic, and that the created object has all fields of the typed
// pod Driver.
func FuzzDriverTemplate(f *testing.F) {
	for _, text := range []string{kit.FullTemplate, "spec: {future: 1}",
		`{"spec":{"containers":[{"future":[1,{"a":null}]},{"name":"x"}]}}`, `{"metadata":{"future":1}}`,
		`{"spec":{"volumes":[{"name":"spark-conf-volume-driver","future":1}]}}`, "a: &a [*a]", "{", "- 1", "spec: 3",
		`{"spec":{"containers":[{"name":3}]}}`} {
		f.Add(text)
	}

	f.Fuzz(func(t *testing.T, text string) {
		r := kit.Minimal()
		r.DriverTemplate = []byte(text)

		o, err := native.Build(r)
		if err != nil {
			return
		}

		object, err := o.DriverObject()
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}

		if u, ok := object.(*unstructured.Unstructured); ok {
			typed, err := podtemplate.Tree(o.Driver)
			if err != nil {
				t.Fatal(err)
			}

			if missing := lacks(u.Object, typed, ""); missing != "" {
				t.Errorf("%q: %s of the pod is not in what is created", text, missing)
			}
			// The object can be serialised, and copied as controllers do.
			if _, err := json.Marshal(u.DeepCopy()); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}

// lacks returns the path of a value of want that got does not contain, or an empty string if got contains all values.
// Additional fields of got are ignored.
func lacks(got, want any, path string) string {
	switch want := want.(type) {
	case map[string]any:
		fields, ok := got.(map[string]any)
		for key, value := range want {
			if missing := lacks(fields[key], value, path+"."+key); !ok || missing != "" && value != nil {
				return path + "." + key
			}
		}
	case []any:
		list, _ := got.([]any)
		if len(list) != len(want) {
			return path
		}

		for i := range want {
			if missing := lacks(list[i], want[i], fmt.Sprint(path, "/", i)); missing != "" {
				return missing
			}
		}
	default:
		if !reflect.DeepEqual(got, want) && want != nil {
			return path
		}
	}
	return ""
}
