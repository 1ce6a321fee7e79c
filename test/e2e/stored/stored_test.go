package stored

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func object(t *testing.T, text string) map[string]any {
	t.Helper()

	var o map[string]any
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestFactsNormalizesObjects(t *testing.T) {
	names := NewNames(map[string]string{"pi-4f": "prefix", "pi-4f-driver": "driver", "spark-77": "app id"})
	for _, test := range []struct {
		name, object string
		want         map[string]string
	}{
		{"fields of the API server are omitted",
			`{"kind": "Pod", "metadata": {"uid": "u", "resourceVersion": "7", "generation": 1, "creationTimestamp": "t",
			"managedFields": [{}], "selfLink": "/", "name": "x"}, "status": {"phase": "Pending"}}`,
			map[string]string{"kind": `"Pod"`, "metadata.name": `"x"`}},
		{"the longest name is replaced",
			`{"metadata": {"name": "pi-4f-driver", "labels": {"spark-app-selector": "spark-77"}}, "spec": {"a": "pi-4f.svc"}}`,
			map[string]string{"metadata.name": `"{driver}"`, "metadata.labels[spark-app-selector]": `"{app id}"`,
				"spec.a": `"{prefix}.svc"`}},
		{"lists with names have no order",
			`{"spec": {"env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]}}`,
			map[string]string{"spec.env[A].name": `"A"`, "spec.env[A].value": `"1"`, "spec.env[B].name": `"B"`,
				"spec.env[B].value": `"2"`}},
		{"a name that occurs twice", `{"spec": {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}}`,
			map[string]string{"spec.env[A].name": `"A"`, "spec.env[A].value": `"1"`, "spec.env[A#2].name": `"A"`,
				"spec.env[A#2].value": `"2"`}},
		{"other lists have an order", `{"spec": {"args": ["driver", "pi-4f"]}}`,
			map[string]string{"spec.args[0]": `"driver"`, "spec.args[1]": `"{prefix}"`}},
		{"containers have names and an order", `{"spec": {"containers": [{"name": "b"}, {"name": "a"}]}}`,
			map[string]string{"spec.containers[a].name": `"a"`, "spec.containers[b].name": `"b"`,
				"spec.containers in order": `["b","a"]`}},
		{"empty values are kept", `{"spec": {"emptyDir": {}, "items": []}}`,
			map[string]string{"spec.emptyDir": "{}", "spec.items": "[]"}},
		{"numbers, booleans and null", `{"spec": {"n": 420, "yes": true, "none": null}}`,
			map[string]string{"spec.n": "420", "spec.yes": "true", "spec.none": "null"}},
		{"the UID of an owner is omitted",
			`{"metadata": {"ownerReferences": [{"kind": "Pod", "name": "pi-4f-driver", "uid": "u"}]}}`,
			map[string]string{"metadata.ownerReferences[Pod].kind": `"Pod"`,
				"metadata.ownerReferences[Pod].name": `"{driver}"`}},
		{"random names", `{"spec": {"volumes": [{"name": "kube-api-access-x7f2a"}], "dir": "/var/data/spark-01234567-89ab-cdef-0123-456789abcdef",
			"url": "spark://10.88.0.17:7078"}}`,
			map[string]string{"spec.volumes[kube-api-access-{random}].name": `"kube-api-access-{random}"`,
				"spec.dir": `"/var/data/spark-{uuid}"`,
				"spec.url": `"spark://{pod address}:7078"`}},
		{"Java options have no order", `{"spec": {"env": [{"name": "SPARK_JAVA_OPT_1", "value": "-Da=1"}]}}`,
			map[string]string{"spec.env[SPARK_JAVA_OPT -Da=1]": "{}"}},
		{"properties", `{"data": {"spark.properties": "#one\n#two\nspark.b=local\\:///x\nspark.a=spark-77\nspark.app.submitTime=17\n", "spark.kubernetes.namespace": "ns"}}`,
			map[string]string{"data[spark.properties][spark.b]": `"local:///x"`,
				"data[spark.properties][spark.a]":              `"{app id}"`,
				"data[spark.properties][spark.app.submitTime]": `"{time}"`,
				"data[spark.kubernetes.namespace]":             `"ns"`}},
		{"a pod template", `{"data": {"podspec-configmap-key": "spec:\n  containers:\n  - name: x\n"}}`,
			map[string]string{"data[podspec-configmap-key].spec.containers[x].name": `"x"`,
				"data[podspec-configmap-key].spec.containers in order": `["x"]`}},
		{"an empty object", `{}`, map[string]string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Facts(object(t, test.object), names)); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompareFindsDifferences(t *testing.T) {
	native := Set{
		"driver pod": object(t, `{"metadata": {"name": "a-driver"}, "spec": {"same": 1, "other": 1, "ours": true}}`),
		"only ours":  object(t, `{"kind": "Secret"}`),
	}
	submitted := Set{"driver pod": object(t,
		`{"metadata": {"name": "b-77-driver"}, "spec": {"same": 1, "other": 2, "theirs": true}}`)}
	got := Compare(native, submitted, NewNames(map[string]string{"a-driver": "driver"}),
		NewNames(map[string]string{"b-77-driver": "driver"}))

	want := []Difference{
		{"driver pod", "spec.other", "1", "2"},
		{"driver pod", "spec.ours", "true", ""},
		{"driver pod", "spec.theirs", "", "true"},
		{"only ours", "kind", `"Secret"`, ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}

	if text := got[1].String(); !strings.Contains(text, "spec.ours") ||
		!strings.Contains(text, "spark-submit: absent") {
		t.Errorf("a difference says %q", text)
	}

	if same := Compare(native, native, nil, nil); len(same) > 0 {
		t.Errorf("a run differs from itself: %v", same)
	}
}

// TestExplainCountsIntendedDifferences checks that Explain returns the differences without a matching entry, and the
// number of differences that each entry explains. An obsolete entry has the number 0.
func TestExplainCountsIntendedDifferences(t *testing.T) {
	differences := []Difference{
		{"driver pod", "spec.enableServiceLinks", "false", "true"},
		{"driver pod", "metadata.labels[sparkoperator.dev/attempt]", `"1"`, ""},
		{"driver pod", "metadata.labels[sparkoperator.dev/managed]", `"true"`, ""},
		{"Service", "spec.ports[0].port", "1", "2"},
	}
	intended := []Intended{
		{Role: "driver pod", Path: "spec.enableServiceLinks", Reason: "a"},
		{Role: "*", Path: "metadata.labels[sparkoperator.dev/*]", Reason: "b"},
		{Role: "Service", Path: "spec.ports", Reason: "a path is the whole path"},
		{Role: "driver pod", Path: "*", Reason: "the first entry counts"},
	}

	unexplained, explained := Explain(differences, intended)
	if diff := cmp.Diff(differences[3:], unexplained); diff != "" {
		t.Errorf("unexplained (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff([]int{1, 2, 0, 0}, explained); diff != "" {
		t.Errorf("explained (-want +got):\n%s", diff)
	}
}

func TestIntendedAppliesToLinesAndPrograms(t *testing.T) {
	all := []Intended{
		{Reason: "always"},
		{Reason: "line", Lines: []string{"4.3"}},
		{Reason: "program", Programs: []string{"java"}},
		{Reason: "both", Lines: []string{"4.3"}, Programs: []string{"java"}},
	}
	for _, test := range []struct {
		line, program string
		want          []string
	}{
		{"3.5", "python", []string{"always"}},
		{"3.5", "java", []string{"always", "program"}},
		{"4.3", "python", []string{"always", "line"}},
		{"4.3", "java", []string{"always", "line", "program", "both"}},
	} {
		var got []string
		for _, entry := range all {
			if entry.On(test.line, test.program) {
				got = append(got, entry.Reason)
			}
		}

		if !slices.Equal(got, test.want) {
			t.Errorf("%s on %s: %v, want %v", test.program, test.line, got, test.want)
		}
	}
}
