// Package fieldtable helps tests to write the tables of docs/fields.md and docs/fields-apache.md. The tables list the
// fields of an API, and for each field the parts of the created objects that change if it is set.
package fieldtable

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
)

// Fields returns the paths of the JSON fields of an API type, at any depth. It does not list the fields inside a list,
// a map, metadata, or a field that accepts any JSON.
func Fields(t reflect.Type, at string) (paths []string) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")

		below := f.Type
		for below.Kind() == reflect.Pointer {
			below = below.Elem()
		}

		path := strings.TrimPrefix(at+"."+name, ".")
		switch ours := below.Kind() == reflect.Struct && strings.HasSuffix(below.PkgPath(), "/api/spark/v1"); {
		case strings.Contains(options, "inline"):
			paths = append(paths, Fields(below, at)...)
		case ours && below != reflect.TypeFor[sparkv1.ObjectMetadata]():
			paths = append(paths, Fields(below, path)...)
		default:
			paths = append(paths, path)
		}
	}
	return paths
}

// Flat returns the parts of an object by name, two levels deep. The first container of a pod is Spark's container. Its
// parts have names of their own, with the prefix "container.".
func Flat(t *testing.T, object any) map[string]any {
	t.Helper()

	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}

	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}

	parts := map[string]any{}
	for top, value := range tree {
		below, ok := value.(map[string]any)
		if !ok {
			parts[top] = value
			continue
		}

		for name, value := range below {
			if containers, ok := value.([]any); ok && top == "spec" && name == "containers" && len(containers) > 0 {
				for part, value := range containers[0].(map[string]any) {
					parts["container."+part] = value
				}

				value = containers[1:]
			}

			parts[top+"."+name] = value
		}
	}
	return parts
}

// Changes returns the names of the parts that differ between two objects, in alphabetical order.
func Changes(before, after map[string]any) (changed []string) {
	all := maps.Clone(before)
	maps.Copy(all, after)

	for _, part := range slices.Sorted(maps.Keys(all)) {
		if cmp.Diff(before[part], after[part]) != "" {
			changed = append(changed, part)
		}
	}
	return changed
}

// Codes returns the names as Markdown code spans, separated by commas.
func Codes(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return "`" + strings.Join(parts, "`, `") + "`"
}

// Hold fails the test if a section of a document is not equal to the text `part`. If update is true, Hold replaces the
// section by this text instead.
//
// The section begins at the line that is equal to `heading`, or at the start of the document if `heading` is empty. It
// ends before the line that is equal to `next`, or at the end of the document if `next` is empty.
func Hold(t *testing.T, document, heading, next, part string, update bool) {
	t.Helper()

	data, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}

	text := string(data)

	from, to := 0, len(text)
	if heading != "" {
		from = strings.Index(text, "\n"+heading+"\n")
	}

	if next != "" {
		to = strings.Index(text, "\n"+next+"\n")
	}

	if from < 0 || to < from {
		t.Fatalf("%s has no part from %q to %q", document, heading, next)
	}

	if update {
		if err := os.WriteFile(document, []byte(text[:from]+part+text[to:]), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}

	if diff := cmp.Diff(text[from:to], part); diff != "" {
		t.Errorf("%s is out of date; run with -update (-written +now):\n%s", document, diff)
	}
}
