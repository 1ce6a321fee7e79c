package native_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/sparkoperator/spark-operator/test/kit/effort"
	"github.com/sparkoperator/spark-operator/test/record"
)

// TestComparisonOverlooksNothing changes and removes every value of a few large recordings of spark-submit, one at a
// time. The comparison must report a difference each time. A comparison that overlooks a change would prove nothing.
func TestComparisonOverlooksNothing(t *testing.T) {
	effort.Long(t)

	recordings, err := record.Load("../testdata/recordings")
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"volumes-each", "template-full", "mixed-java"} {
		for _, version := range []string{recorded[0], recorded[len(recorded)-1]} {
			r, ok := recordings[name].Of(version)
			if !ok {
				t.Errorf("%s is not recorded with %s", name, version)
				continue
			}

			t.Run(name+"/"+version, func(t *testing.T) { changeEverything(t, recordedObjects(t, r)) })
		}
	}
}

func changeEverything(t *testing.T, objects []object) {
	before := takeApart(t, objects)

	changes := 0
	for _, o := range objects {
		forEachValue(o.kind, o.tree, func(at string, set func(any), value any) {
			for _, other := range others(value) {
				set(other)

				if changes++; len(compare(before, takeApart(t, objects))) == 0 {
					t.Errorf("%s: %v instead of %v is overlooked", at, other, value)
				}

				set(value)
			}
		})
	}

	if after := compare(before, takeApart(t, objects)); len(after) > 0 {
		t.Errorf("nothing is changed in the end, but there are %d differences: %v", len(after), after[0])
	}

	if changes < 100 {
		t.Errorf("only %d changes were tried", changes)
	}
}

// others returns values that differ in meaning from value; nil stands for a missing value.
func others(value any) []any {
	switch value := value.(type) {
	case string:
		if value == "" {
			return []any{"other"}
		}
		return []any{value + "x", nil}
	case bool:
		if !value {
			return []any{true}
		}
		return []any{false, nil}
	case float64:
		return []any{value + 1, nil}
	}
	return []any{nil}
}

// forEachValue calls change for every value below tree that is not a map or a list, and for every element of a list.
func forEachValue(at string, tree any, change func(at string, set func(any), value any)) {
	switch tree := tree.(type) {
	case map[string]any:
		for key, value := range tree {
			switch value.(type) {
			case map[string]any, []any:
				forEachValue(at+"/"+key, value, change)
			default:
				change(at+"/"+key, func(v any) { tree[key] = v }, value)
			}
		}
	case []any:
		for i, value := range tree {
			forEachValue(fmt.Sprint(at, "/", i), value, change)
			change(fmt.Sprint(at, "/", i), func(v any) { tree[i] = v }, value)
		}
	}
}

// TestComparisonSeesNoDifferenceInWhatIsTheSame checks that the comparison ignores differences without a meaning, such
// as the order of a list that Kubernetes treats as a set.
func TestComparisonSeesNoDifferenceInWhatIsTheSame(t *testing.T) {
	pod := func(spec string) []object {
		return []object{{"Pod", "p", decode(t, []byte(`{"kind":"Pod","metadata":{"name":"p"},"spec":`+spec+`}`))}}
	}
	for name, test := range map[string][2]string{
		"order of volumes": {`{"volumes":[{"name":"a","emptyDir":{}},{"name":"b"}]}`,
			`{"volumes":[{"name":"b"},{"name":"a","emptyDir":{}}]}`},
		"amounts": {`{"containers":[{"name":"c","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]}`,
			`{"containers":[{"name":"c","resources":{"limits":{"cpu":"1000m","memory":"1024Mi"}}}]}`},
		"missing and empty values": {`{"nodeSelector":{},"tolerations":[],"affinity":null}`, `{}`},
		"empty text":               {`{"containers":[{"name":"c","volumeMounts":[{"name":"a","mountPath":"/a","subPath":"","readOnly":false}]}]}`, `{"containers":[{"name":"c","volumeMounts":[{"name":"a","mountPath":"/a"}]}]}`},
		"order of directories":     {`{"containers":[{"name":"c","env":[{"name":"SPARK_LOCAL_DIRS","value":"/a,/b"}]}]}`, `{"containers":[{"name":"c","env":[{"name":"SPARK_LOCAL_DIRS","value":"/b,/a"}]}]}`},
		"numbers of claims":        {`{"volumes":[{"name":"a","persistentVolumeClaim":{"claimName":"p-driver-pvc-0"}}]}`, `{"volumes":[{"name":"a","persistentVolumeClaim":{"claimName":"p-driver-pvc-1"}}]}`},
		"numbers of directories":   {`{"containers":[{"name":"c","volumeMounts":[{"name":"spark-local-dir-1","mountPath":"/a"}]}]}`, `{"containers":[{"name":"c","volumeMounts":[{"name":"spark-local-dir-2","mountPath":"/a"}]}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			if differences := compare(takeApart(t, pod(test[0])), takeApart(t, pod(test[1]))); len(differences) > 0 {
				t.Error(differences)
			}
		})
	}
}

func TestComparisonSeesOrder(t *testing.T) {
	pod := func(containers string) []object {
		properties := `spark.kubernetes.driverEnv.x=1\nspark.kubernetes.driverEnv.y=1\n`
		return []object{{"Pod", "p", decode(t, []byte(`{"kind":"Pod","spec":{"containers":`+containers+`}}`))},
			{"ConfigMap", "c", decode(t, []byte(`{"kind":"ConfigMap","data":{"spark.properties":"`+properties+`"}}`))}}
	}
	for name, test := range map[string]struct {
		first, other string
		same         bool
	}{
		"containers": {`[{"name":"a"},{"name":"b"}]`, `[{"name":"b"},{"name":"a"}]`, false},
		"variables": {`[{"env":[{"name":"a"},{"name":"b"}]}]`,
			`[{"env":[{"name":"b"},{"name":"a"}]}]`, false},
		"variables with the same name": {`[{"env":[{"name":"x","value":"1"},{"name":"x","value":"2"}]}]`,
			`[{"env":[{"name":"x","value":"2"},{"name":"x","value":"1"}]}]`, false},
		"variables of the same group of keys": {`[{"env":[{"name":"a"},{"name":"x"},{"name":"y"}]}]`,
			`[{"env":[{"name":"a"},{"name":"y"},{"name":"x"}]}]`, true},
		"place of a group of variables": {`[{"env":[{"name":"a"},{"name":"x"},{"name":"y"}]}]`,
			`[{"env":[{"name":"x"},{"name":"y"},{"name":"a"}]}]`, false},
		"arguments": {`[{"args":["a","b"]}]`, `[{"args":["b","a"]}]`, false},
		"volume mounts have no order": {`[{"volumeMounts":[{"mountPath":"a"},{"mountPath":"b"}]}]`,
			`[{"volumeMounts":[{"mountPath":"b"},{"mountPath":"a"}]}]`, true},
	} {
		t.Run(name, func(t *testing.T) {
			if same := len(compare(takeApart(t, pod(test.first)),
				takeApart(t, pod(test.other)))) == 0; same != test.same {
				t.Errorf("seen as the same: %v, want %v", same, test.same)
			}
		})
	}
}

func TestListsHaveReasons(t *testing.T) {
	for _, list := range [][]listed{intended, gaps, weRefuse, theyRefuse} {
		for _, l := range list {
			if l.reason == "" || l.text == "" || matches(l.text, "Pod x: /spec/y: spark-submit has 1, Build has 2") {
				t.Errorf("%+v: needs a reason, and a text that is not of everything", l)
			}

			for _, expression := range []string{l.text, l.cases} {
				if _, err := regexp.Compile(expression); err != nil {
					t.Error(err)
				}
			}
		}
	}
}
