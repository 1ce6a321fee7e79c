// Package fieldtable helps tests to write the tables of docs/fields.md and docs/fields-apache.md: which fields an API has, and which parts of the objects differ when a
// field is set.
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

// Fields are the fields below a type of ours, by their names in JSON. Lists, maps, metadata and what is kept raw are fields as they are.
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

// Flat is an object by the names of its parts, two levels deep; what is of a pod's first container, which is Spark's, is told apart.
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

// Otherwise names the parts that two objects do not have alike, in alphabetical order.
func Otherwise(was, is map[string]any) (changed []string) {
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, part := range slices.Sorted(maps.Keys(all)) {
		if cmp.Diff(was[part], is[part]) != "" {
			changed = append(changed, part)
		}
	}
	return changed
}

// Codes are the parts as Markdown.
func Codes(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return "`" + strings.Join(parts, "`, `") + "`"
}

// Hold compares a part of a document with what it should be: from the line that is the heading, or the document's beginning without one, to the next
// of the headings, or the document's end. With update it writes the part instead.
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
