package fieldtable

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Leaves returns the paths of the JSON fields of an API type, at any depth. It does not list the fields inside a
// Kubernetes type, a list or a map, or below a path that the parameter `whole` contains.
func Leaves(t reflect.Type, at string, whole ...string) (paths []string) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")

		below := f.Type
		for below.Kind() == reflect.Pointer {
			below = below.Elem()
		}

		path := strings.TrimPrefix(at+"."+name, ".")

		ours := below.Kind() == reflect.Struct && strings.Contains(below.PkgPath(), "/api/sparkoperator/")
		switch {
		case strings.Contains(options, "inline"):
			paths = append(paths, Leaves(below, at, whole...)...)
		case ours && !slices.Contains(whole, path) && name != "gpu":
			paths = append(paths, Leaves(below, path, whole...)...)
		default:
			paths = append(paths, path)
		}
	}
	return paths
}

// PodChanges returns the names of the parts in which two pods differ. The names of the parts of Spark's container begin
// with "container".
func PodChanges(pod, container, changedPod, changedContainer map[string]any) (changed []string) {
	compare := func(prefix string, before, after map[string]any, skip ...string) {
		for _, key := range slices.Sorted(maps.Keys(after)) {
			if !slices.Contains(skip, key) && cmp.Diff(before[key], after[key]) != "" {
				changed = append(changed, prefix+key)
			}
		}
	}
	part := func(tree map[string]any, keys ...string) map[string]any {
		for _, key := range keys {
			tree, _ = tree[key].(map[string]any)
		}
		return tree
	}

	wasMeta, isMeta := maps.Clone(part(pod, "metadata")), maps.Clone(part(changedPod, "metadata"))
	for _, m := range []map[string]any{wasMeta, isMeta} {
		// These annotations are not compared: the hash differs for every spec, and kubectl's default container follows
		// from the containers.
		annotations := maps.Clone(part(m, "annotations"))
		delete(annotations, lifecycle.SpecHashAnnotation)
		delete(annotations, submit.DefaultContainerAnnotation)

		if m != nil {
			m["annotations"] = annotations
		}
	}

	compare("metadata.", wasMeta, isMeta)
	compare("spec.", part(pod, "spec"), part(changedPod, "spec"), "containers")

	count := func(p map[string]any) int { list, _ := part(p, "spec")["containers"].([]any); return len(list) }
	if count(pod) != count(changedPod) {
		changed = append(changed, "spec.containers")
	}

	compare("container.", container, changedContainer, "resources")

	for _, kind := range []string{"requests", "limits"} {
		compare("container.resources."+kind+".", part(container, "resources", kind), part(changedContainer, "resources", kind))
	}
	return changed
}

// Merge copies the entries of the second tree into the first tree. If both trees have a map under a key, Merge merges
// the two maps. Otherwise the value in the second tree replaces the value in the first tree.
func Merge(into, over map[string]any) {
	for key, value := range over {
		below, isMap := value.(map[string]any)
		if have, ok := into[key].(map[string]any); ok && isMap {
			Merge(have, below)
		} else {
			into[key] = value
		}
	}
}

// Plain encodes an object as JSON and decodes the text into maps, lists and scalars.
func Plain(t testing.TB, object any) map[string]any {
	t.Helper()

	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}

	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// SparkContainer returns one of a pod's containers by its index. A negative index counts from the end. In a driver pod
// Spark's container is the last, and in a template it is the first.
func SparkContainer(t testing.TB, pod map[string]any, index int) map[string]any {
	t.Helper()

	containers, _ := pod["spec"].(map[string]any)["containers"].([]any)
	if len(containers) == 0 {
		t.Fatal("a pod without containers")
	}
	return containers[(index+len(containers))%len(containers)].(map[string]any)
}

// Tree returns the decoded content of a YAML text.
func Tree(t testing.TB, text string) map[string]any {
	t.Helper()

	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return out
}
