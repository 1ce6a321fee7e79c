package podtemplate

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/api/bounds"
)

// object parses a JSON object.
func object(t *testing.T, text string) map[string]any {
	t.Helper()

	tree, err := DecodeJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return tree
}

// TestGraft checks which fields Graft merges, and which paths it reports as lost. It also checks that a second merge of
// the same fields changes nothing.
func TestGraft(t *testing.T) {
	for name, c := range map[string]struct {
		tree, extra, want string
		lost              []string
	}{
		"nothing":                  {`{"a":1}`, `{}`, `{"a":1}`, nil},
		"a new field":              {`{"a":1}`, `{"b":{"c":[1]}}`, `{"a":1,"b":{"c":[1]}}`, nil},
		"a field inside an object": {`{"a":{"b":1}}`, `{"a":{"c":2}}`, `{"a":{"b":1,"c":2}}`, nil},
		"the tree keeps its values": {`{"a":0,"b":"","c":false,"d":1}`, `{"a":9,"b":"x","c":true,"d":"y"}`,
			`{"a":0,"b":"","c":false,"d":1}`, nil},
		"null is no value": {`{"a":null,"b":null,"c":null}`, `{"a":1,"b":{"x":1},"c":[1]}`,
			`{"a":1,"b":{"x":1},"c":[1]}`, nil},
		"fields without an object": {`{"a":1,"b":{"c":"x"},"d":[]}`,
			`{"a":{"x":1},"b":{"c":{"x":1}},"d":{"x":1}}`, `{"a":1,"b":{"c":"x"},"d":[]}`, []string{"a", "b.c", "d"}},
		"elements without a list": {`{"a":{},"b":1}`,
			`{"a":[{"x":1}],"b":[{},{"name":"n"},{"name":"n","x":1}]}`, `{"a":{},"b":1}`, []string{"a[0]", "b[n]"}},
		"an element with the same index": {`{"l":[{"name":"a"},{"name":"b"}]}`,
			`{"l":[{"name":"a"},{"name":"b","x":1}]}`, `{"l":[{"name":"a"},{"name":"b","x":1}]}`, nil},
		"an element that was moved": {`{"l":[{"name":"b"},{"name":"c"},{"name":"a"}]}`,
			`{"l":[{"name":"a","x":1}]}`, `{"l":[{"name":"b"},{"name":"c"},{"name":"a","x":1}]}`, nil},
		"elements with the same name": {`{"l":[{"name":"a"},{"name":"a"}]}`,
			`{"l":[{"name":"a"},{"name":"a","x":1}]}`, `{"l":[{"name":"a"},{"name":"a","x":1}]}`, nil},
		"the first of several moved elements": {`{"l":[{"name":"b"},{"name":"a"},{"name":"a"}]}`,
			`{"l":[{"name":"a","x":1}]}`, `{"l":[{"name":"b"},{"name":"a","x":1},{"name":"a"}]}`, nil},
		"an element that no longer exists": {`{"l":[{"name":"b"}]}`, `{"l":[{"name":"a","x":1}]}`,
			`{"l":[{"name":"b"}]}`, []string{"l[a]"}},
		"an element that a caller took away": {`{"l":[{"name":"b"}]}`, `{"l":[{"name":"a"},{"name":"b","x":1}]}`,
			`{"l":[{"name":"b","x":1}]}`, nil},
		"elements without names": {`{"l":[{"k":1},{"k":2}]}`, `{"l":[{},{"x":1}]}`,
			`{"l":[{"k":1},{"k":2,"x":1}]}`, nil},
		"too few elements": {`{"l":[{"k":1}]}`, `{"l":[{},{"x":1}]}`, `{"l":[{"k":1}]}`,
			[]string{"l[1]"}},
		"an element that got a name": {`{"l":[{"name":"a"}]}`, `{"l":[{"x":1}]}`, `{"l":[{"name":"a"}]}`,
			[]string{"l[0]"}},
		"a name that the type does not have": {`{"l":[{"k":1},{"k":2}]}`, `{"l":[{"name":"n"},{"name":"m","x":1}]}`,
			`{"l":[{"k":1,"name":"n"},{"k":2,"name":"m","x":1}]}`, nil},
		"an element that is no object": {`{"l":["a"]}`, `{"l":[{"x":1}]}`, `{"l":["a"]}`, []string{"l[0]"}},
		"a list in a list's element": {`{"l":[{"name":"a","p":[{"q":1}]}]}`,
			`{"l":[{"name":"a","p":[{"x":1}]}]}`, `{"l":[{"name":"a","p":[{"q":1,"x":1}]}]}`, nil},
		"a lost place in an element": {`{"l":[{"name":"a","p":1},{}]}`,
			`{"l":[{"name":"a","p":{"x":1}},{"p":{"x":1}}]}`, `{"l":[{"name":"a","p":1},{"p":{"x":1}}]}`,
			[]string{"l[a].p"}},
		"lost places in the order of the keys": {`{"c":1,"a":1,"b":1}`, `{"c":{"x":1},"a":{"x":1},"b":{"x":1}}`,
			`{"c":1,"a":1,"b":1}`, []string{"a", "b", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			tree, extra, want := object(t, c.tree), object(t, c.extra), object(t, c.want)
			for _, round := range []string{"first", "second"} {
				var lost []string
				Graft(tree, runtime.DeepCopyJSON(extra), func(path string) { lost = append(lost, path) })

				if diff := cmp.Diff(want, tree); diff != "" {
					t.Errorf("after the %s merge (-want +got):\n%s", round, diff)
				}

				if diff := cmp.Diff(c.lost, lost); diff != "" {
					t.Errorf("lost by the %s merge (-want +got):\n%s", round, diff)
				}
			}

			if diff := cmp.Diff(object(t, c.extra), extra); diff != "" {
				t.Errorf("the caller's copy was changed:\n%s", diff)
			}
		})
	}
}

// TestTreeHasOnlyFieldsOfUsers checks that Tree leaves out the fields that only an API server sets, and that the tree
// shares no memory with the object.
func TestTreeHasOnlyFieldsOfUsers(t *testing.T) {
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "s", Labels: map[string]string{"a": "b"}},
		Spec: appsv1.StatefulSetSpec{ServiceName: "h",
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"c": "d"}}}},
		Status: appsv1.StatefulSetStatus{Replicas: 3},
	}

	tree, err := Tree(set)
	if err != nil {
		t.Fatal(err)
	}

	if _, ok := tree["status"]; ok {
		t.Errorf("the tree has the status %v", tree["status"])
	}

	metadata := tree["metadata"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"name": "s", "labels": map[string]any{"a": "b"}}, metadata); diff != "" {
		t.Errorf("the metadata (-want +got):\n%s", diff)
	}

	metadata["labels"].(map[string]any)["a"] = "changed"

	if set.Labels["a"] != "b" {
		t.Error("the tree shares its labels with the object")
	}

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Now()},
		Spec: corev1.PodSpec{NodeName: "n"}}
	if tree, err = Tree(pod); err != nil {
		t.Fatal(err)
	}

	if _, ok := tree["metadata"]; ok {
		t.Errorf("the tree has the empty metadata %v", tree["metadata"])
	}

	if tree, err := Tree(corev1.Pod{}); err == nil {
		t.Errorf("a pod that is no pointer is %v", tree)
	}
}

// TestUnnamedContainersKeepTheirFields checks that a container to which FindOrAdd gives a name keeps its unknown
// fields, even if the container is then moved.
func TestUnnamedContainersKeepTheirFields(t *testing.T) {
	template, err := Read([]byte(`{"spec":{"containers":[{"future":1},{"name":"b","future":2}]}}`))
	if err != nil {
		t.Fatal(err)
	}

	taken := template.Take("main", "main")
	if taken.Name != "main" || len(template.Pod.Spec.Containers) != 1 {
		t.Fatalf("container %q is taken, and %d are left", taken.Name, len(template.Pod.Spec.Containers))
	}

	want := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "main",
		"future": int64(1)}, map[string]any{"name": "b", "future": int64(2)}}}}
	if diff := cmp.Diff(want, template.Extra); diff != "" {
		t.Errorf("the unknown fields (-want +got):\n%s", diff)
	}

	tree := object(t, `{"spec":{"containers":[{"name":"b"},{"name":"main"}]}}`)
	Graft(tree, template.Extra, func(path string) { t.Errorf("%s is lost", path) })

	if diff := cmp.Diff(object(t, `{"spec":{"containers":[{"name":"b","future":2},{"name":"main","future":1}]}}`),
		tree); diff != "" {
		t.Errorf("the tree (-want +got):\n%s", diff)
	}
}

// TestFormatsOfTheirOwnHaveNoUnknownFields checks that a value which its type parses itself is taken as a whole,
// although its fields are not those of the type.
func TestFormatsOfTheirOwnHaveNoUnknownFields(t *testing.T) {
	template, err := Read([]byte(`{"metadata":{"managedFields":[{"fieldsV1":{"f:spec":{}}}]},"spec":{"containers":[{"resources":{"limits":{"cpu":2}}}]}}`))
	if err != nil || template.Extra != nil || len(template.Unknown()) > 0 {
		t.Errorf("the unknown fields are %v, %v", template.Extra, err)
	}

	if cpu := template.Pod.Spec.Containers[0].Resources.Limits.Cpu(); cpu.String() != "2" {
		t.Errorf("the limit is %s", cpu)
	}
}

// TestFindOrAddChangesOnlyOneContainer checks that FindOrAdd gives no name to a container that has one, and that a
// second call returns the same index.
func TestFindOrAddChangesOnlyOneContainer(t *testing.T) {
	for text, c := range map[string]struct {
		wanted string
		index  int
		names  []string
	}{
		`[]`:                             {"w", 0, []string{"new"}},
		`[{"name":"a"},{"name":"w"}]`:    {"w", 1, []string{"a", "w"}},
		`[{"name":"a"},{}]`:              {"none", 0, []string{"a", ""}},
		`[{},{}]`:                        {"", 0, []string{"new", ""}},
		`[{},{"name":"w"},{"name":"w"}]`: {"w", 1, []string{"", "w", "w"}},
	} {
		template, err := Read([]byte(`{"spec":{"containers":` + text + `}}`))
		if err != nil {
			t.Fatal(err)
		}

		for range 2 {
			if i := template.FindOrAdd(c.wanted, "new"); i != c.index {
				t.Errorf("%s: the index is %d, want %d", text, i, c.index)
			}
		}

		var names []string
		for i := range template.Pod.Spec.Containers {
			names = append(names, template.Pod.Spec.Containers[i].Name)
		}

		if !slices.Equal(names, c.names) {
			t.Errorf("%s: the names are %q, want %q", text, names, c.names)
		}

		if template.Extra != nil {
			t.Errorf("%s: the unknown fields are %v", text, template.Extra)
		}
	}
}

// TestDecode checks that numbers keep their types, and that only Decode accepts YAML.
func TestDecode(t *testing.T) {
	for text, want := range map[string]map[string]any{
		"{}": {}, "\r\n\t {}": {}, `{"a":null}`: {"a": nil},
		`{"a":9007199254740993,"b":-1,"c":1.5,"d":1.0,"e":1e2}`: {"a": int64(9007199254740993), "b": int64(-1),
			"c": 1.5, "d": 1.0, "e": 100.0},
		`{"a":[true,"x",{"b":[]}]}`: {"a": []any{true, "x", map[string]any{"b": []any{}}}},
	} {
		for name, decode := range map[string]func([]byte) (map[string]any, error){"Decode": Decode,
			"DecodeJSON": DecodeJSON} {
			if got, err := decode([]byte(text)); err != nil || !cmp.Equal(want, got) {
				t.Errorf("%s of %s is %v, %v", name, text, got, err)
			}
		}
	}

	for text, want := range map[string]map[string]any{
		"null": {}, "# nothing\n": {}, "---\n": {},
		"a: 9007199254740993\nb: 010\nc: 1.5": {"a": int64(9007199254740993), "b": "010", "c": 1.5},
	} {
		if got, err := Decode([]byte(text)); err != nil || !cmp.Equal(want, got) {
			t.Errorf("Decode of %q is %v, %v", text, got, err)
		}

		if got, err := DecodeJSON([]byte(text)); err == nil ||
			err.Error() != "is not a JSON object: it must begin with a brace; YAML is not accepted here" {
			t.Errorf("DecodeJSON of %q is %v, %v", text, got, err)
		}
	}

	for _, text := range []string{"{", `{"a":}`, "{} x", `{"a":1}{"b":2}`, "[]", `"a"`, "7", "true", "}", "{a: b}"} {
		if got, err := Decode([]byte(text)); err == nil {
			t.Errorf("Decode of %s is %v", text, got)
		}

		if got, err := DecodeJSON([]byte(text)); err == nil {
			t.Errorf("DecodeJSON of %s is %v", text, got)
		}
	}
}

// TestLimitsAreFaults checks that Read and As report an exceeded limit as a fault with its field, and without words
// before it.
func TestLimitsAreFaults(t *testing.T) {
	many := `[` + strings.Repeat(`{},`, bounds.MaxItems) + `{}]`
	for text, want := range map[string]string{
		`{"spec":{"containers":` + many +
			`}}`: "spec.containers: has more than 1000 items; make the list shorter",
		"spec:\n  tolerations: " + many:                                      "spec.tolerations: has more than 1000 items; make the list shorter",
		`{"spec":{"containers":[{"resources":{"limits":{"cpu":"1e999"}}}]}}`: "spec.containers[0].resources.limits[cpu]: the exponent of a quantity has at most 2 digits",
	} {
		_, err := Read([]byte(text))
		if _, ok := errors.AsType[*bounds.Fault](err); !ok || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.60s: the error is %v, want a fault that begins with %s", text, err, want)
		}
	}

	_, _, err := As[appsv1.StatefulSetSpec]([]byte(`{"template":{"spec":{"containers":` + many + `}}}`))

	const want = "template.spec.containers: has more than 1000 items; make the list shorter"
	if _, ok := errors.AsType[*bounds.Fault](err); !ok || err.Error() != want {
		t.Errorf("the error is %v", err)
	}
}

// TestReadKeepsTheCallersText checks that neither Read nor FromFile changes the text that it reads.
func TestReadKeepsTheCallersText(t *testing.T) {
	for _, text := range []string{`{"metadata":{"name":"n"},"status":{},"future":1}`,
		"%YAML 1.2\n---\nspec: {nodeName: '7'}\n"} {
		data := []byte(text)
		if _, err := FromFile(data, "4.1.4"); err != nil {
			t.Error(err)
		}

		if _, err := Read(data); err != nil {
			t.Error(err)
		}

		if string(data) != text {
			t.Errorf("%q became %q", text, data)
		}
	}
}

// FuzzRead checks that no field of a template is lost: the pod and the unknown fields together are a template that Read
// reads as the same pod and the same unknown fields.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"metadata":{"name":"n","labels":{"a":"b"},"future":1,"ownerReferences":[{"uid":"u","future":1}]},"spec":{"future":[1,{"a":null}]},"status":{"future":1}}`,
		`{"spec":{"containers":[{"future":1},{"name":"a","ports":[{"containerPort":1,"future":2}]},null],"volumes":[{"name":"v","emptyDir":{"future":1}}]}}`,
		`{"spec":{"tolerations":[{"key":"k","name":"n"},{"name":"m","future":1},{"name":7}]}}`,
		`{"spec":{"containers":[{"name":"a","resources":{"future":1,"limits":{"cpu":"1000m"}},"env":[{"name":"x","valueFrom":{"future":1}},{"name":"x","future":2}]}]}}`,
		`{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[{"key":"k","name":"n"}]}]}}}}}`,
	} {
		f.Add([]byte(seed))
	}

	again := func(t *testing.T, template Template) []byte {
		tree, err := Tree(template.Pod)
		if err != nil {
			t.Fatal(err)
		}

		Graft(tree, runtime.DeepCopyJSON(template.Extra), func(path string) { t.Errorf("%s is lost", path) })

		data, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := Read(data)
		if err != nil {
			if len(err.Error()) > 400 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			return
		}

		text := again(t, first)

		second, err := Read(text)
		if err != nil {
			t.Fatalf("%s becomes %s, and then %v", data, text, err)
		}

		if diff := cmp.Diff(first.Unknown(), second.Unknown()); diff != "" {
			t.Errorf("%s becomes %s with other unknown fields (-want +got):\n%s", data, text, diff)
		}

		if len(second.Dropped) > 0 {
			t.Errorf("%s becomes %s with %v", data, text, second.Dropped)
		}

		if diff := cmp.Diff(string(text), string(again(t, second))); diff != "" {
			t.Errorf("%s becomes %s, and then:\n%s", data, text, diff)
		}
	})
}
