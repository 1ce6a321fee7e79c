package podtemplate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestRead(t *testing.T) {
	for text, want := range map[string]Template{
		"":            {Pod: &corev1.Pod{}},
		"null":        {Pod: &corev1.Pod{}},
		"{}":          {Pod: &corev1.Pod{}},
		" \n{} ":      {Pod: &corev1.Pod{}},
		"kind: Pod":   {Pod: &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod"}}},
		`{"kind":""}`: {Pod: &corev1.Pod{}},
		`{"future":9007199254740993,"status":{"phase":"Failed"}}`: {Pod: &corev1.Pod{},
			Extra: map[string]any{"future": int64(9007199254740993)}},
		`{"metadata":{"name":"n","generateName":"g","namespace":"s","labels":{"a":"1"},"annotations":{"b":"2"},"finalizers":["f"],"uid":"u","future":1,
			"creationTimestamp":"2026-01-01T00:00:00Z","ownerReferences":[{"uid":"o","future":1}],"managedFields":[{"future":1}]}}`: {
			Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "1"},
				Annotations: map[string]string{"b": "2"}, Finalizers: []string{"f"}}},
			Extra: map[string]any{"metadata": map[string]any{"future": int64(1)}},
			Dropped: []string{"metadata.name", "metadata.generateName", "metadata.namespace",
				"metadata.ownerReferences"},
		},
		`{"metadata":{"ownerReferences":[{"uid":"o","future":1}]}}`: {Pod: &corev1.Pod{}, Extra: map[string]any{},
			Dropped: []string{"metadata.ownerReferences"}},
	} {
		got, err := Read([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"[]":                                "is not a pod template",
		"3":                                 "is not a pod template",
		"{":                                 "is not a pod template",
		"a: b: c":                           "is not a pod template",
		"kind: pod":                         `kind: is "pod", and the API server accepts only Pod in a pod; write kind: Pod`,
		"kind: Deployment":                  `kind: is "Deployment", and`,
		`{"kind":3}`:                        `kind: is "3", and`,
		`{"metadata":3}`:                    "metadata: is the number 3, not an object; write its fields (annotations, creationTimestamp, ",
		`{"spec":[]}`:                       "spec: is a list, not an object; write its fields (",
		`{"spec":{"containers":{}}}`:        "spec.containers: is an object, not a list; begin each item with a hyphen",
		`{"spec":{"hostNetwork":"yes"}}`:    `spec.hostNetwork: is the text "yes", not a boolean; `,
		`{"spec":{"priority":"high"}}`:      `spec.priority: is the text "high", not a whole number; `,
		`{"spec":{"nodeName":3}}`:           "spec.nodeName: is the number 3, not text; put it in quotes",
		"x: " + strings.Repeat("[", 100000): "is not a pod template",
	} {
		_, err := Read([]byte(text))
		if err == nil || !strings.Contains(err.Error(), says) || len(err.Error()) > 300 {
			t.Errorf("%.40s: the error is %v, want %q in it", text, err, says)
		}
	}
}

func TestAs(t *testing.T) {
	type spec = appsv1.StatefulSetSpec

	for text, want := range map[string]struct {
		spec  spec
		extra map[string]any
	}{
		"":     {},
		"null": {},
		"{}":   {},
		`{"serviceName":"s","future":1,"template":{"spec":{"containers":[{"name":"a","future":2}]}}}`: {
			spec{ServiceName: "s", Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}}}}},
			map[string]any{"future": int64(1),
				"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "a",
					"future": int64(2)}}}}},
		},
		"serviceName: s": {spec{ServiceName: "s"}, nil},
	} {
		got, extra, err := As[spec]([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}

		if diff := cmp.Diff(want.spec, *got) + cmp.Diff(want.extra, extra); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}

	for text, says := range map[string]string{
		"[]":                   "cannot be read",
		"{":                    "cannot be read",
		`{"replicas":"many"}`:  `replicas: is the text "many", not a whole number; write one such as 1`,
		`{"template":[]}`:      "template: is a list, not an object; write its fields (metadata, spec)",
		`{"serviceName":true}`: "serviceName: is the boolean true, not text; put it in quotes",
	} {
		if _, _, err := As[spec]([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: the error is %v, want %q in it", text, err, says)
		}
	}
}

func TestFindAndTake(t *testing.T) {
	for text, c := range map[string]struct {
		wanted, found, left string
	}{
		"{}":             {"w", "new", ""},
		`[{"name":"a"}]`: {"w", "a", ""},
		`[{"name":"a"},{"name":"w"},{"name":"b"}]`: {"w", "w", "a b"},
		`[{"name":"a"},{"name":"b"}]`:              {"", "a", "b"},
		`[{},{"name":"b"}]`:                        {"w", "new", "b"},
		`[{"name":"a"},{}]`:                        {"", "a", " "},
	} {
		data := []byte(`{"spec":{"containers":` + text + `}}`)
		if text == "{}" {
			data = nil
		}

		read := func() Template {
			r, err := Read(data)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		found := read()

		i := found.FindOrAdd(c.wanted, "new")
		if got := found.Pod.Spec.Containers[i].Name; got != c.found {
			t.Errorf("%s: the container is %q, want %q", text, got, c.found)
		}

		taken := read()

		container := taken.Take(c.wanted, "new")
		if container.Name != c.found {
			t.Errorf("%s: %q is taken, want %q", text, container.Name, c.found)
		}

		left := ""
		for n, rest := range taken.Pod.Spec.Containers {
			left += strings.Repeat(" ", min(n, 1)) + rest.Name
		}

		if left != strings.TrimSuffix(c.left, " ") {
			t.Errorf("%s: %q is left, want %q", text, left, c.left)
		}
	}
}

// TestParsedTemplatesLoseNothing parses templates, merges typed and unknown fields again, and checks that the result
// equals the template.
func TestParsedTemplatesLoseNothing(t *testing.T) {
	for _, text := range []string{
		`{"spec":{"containers":[{"name":"a","image":"x","future":{"deep":[1,"two",null,{"x":true}]}}]}}`,
		`{"future":1,"spec":{"future":2,"containers":[{"name":"a","future":3},{"name":"b","ports":[{"containerPort":1,"future":4}]}]}}`,
		`{"spec":{"containers":null,"volumes":[{"name":"v","emptyDir":{"future":1},"future":{"x":1}}]}}`,
		`{"metadata":{"annotations":{"a":"1"},"future":1},"spec":{"containers":null,"affinity":{"future":1}}}`,
	} {
		read, err := Read([]byte(text))
		if err != nil {
			t.Fatal(err)
		}

		tree, err := Tree(read.Pod)
		if err != nil {
			t.Fatal(err)
		}

		Graft(tree, runtime.DeepCopyJSON(read.Extra), func(path string) { t.Errorf("%s: %s is lost", text, path) })

		var want map[string]any
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}

		back, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}

		var got map[string]any
		if err := json.Unmarshal(back, &got); err != nil {
			t.Fatal(err)
		}

		dropEmpty(got)

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// dropEmpty removes the empty resources that the Go type writes for every container.
func dropEmpty(tree any) {
	switch tree := tree.(type) {
	case map[string]any:
		if resources, ok := tree["resources"].(map[string]any); ok && len(resources) == 0 {
			delete(tree, "resources")
		}

		for _, value := range tree {
			dropEmpty(value)
		}
	case []any:
		for _, value := range tree {
			dropEmpty(value)
		}
	}
}

func TestGraftReportsLostPlaces(t *testing.T) {
	var lost []string
	tree := map[string]any{"a": "text", "list": []any{map[string]any{"name": "x"}}, "set": nil}
	extra := map[string]any{
		"a": map[string]any{"future": 1},
		"list": []any{map[string]any{"name": "y", "future": 1}, map[string]any{"future": 2},
			map[string]any{"name": "z"}, map[string]any{"name": "x", "future": 3}},
		"new": 1, "set": 2,
	}
	Graft(tree, extra, func(path string) { lost = append(lost, path) })

	if diff := cmp.Diff([]string{"a", "list[y]", "list[1]"}, lost); diff != "" {
		t.Errorf("what is lost (-want +got):\n%s", diff)
	}

	want := map[string]any{"a": "text", "list": []any{map[string]any{"name": "x", "future": 3}}, "new": 1, "set": 2}
	if diff := cmp.Diff(want, tree); diff != "" {
		t.Errorf("the tree (-want +got):\n%s", diff)
	}
}
