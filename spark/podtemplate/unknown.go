package podtemplate

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// UnknownField is a field of a template whose path does not exist in the type of a pod.
type UnknownField struct {
	// Path is the field's path in the template, such as "spec.capabilities".
	Path string
	// Place is the path of a pod's field with the same name, such as "spec.containers[].securityContext.capabilities".
	// The names may differ in case. Place is empty if a pod has no field with this name.
	Place string
}

// maxUnknown is the maximum number of fields that Unknown returns.
const maxUnknown = 20

// Unknown returns the first 20 fields of Extra in the order of their paths.
func (t *Template) Unknown() []UnknownField {
	var found []UnknownField
	walkUnknown(t.Extra, reflect.TypeFor[corev1.Pod](), "", &found)
	return found
}

func walkUnknown(tree any, t reflect.Type, path string, found *[]UnknownField) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}

	switch tree := tree.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(tree)) {
			if len(*found) == maxUnknown {
				return
			}

			place := strings.TrimPrefix(path+"."+conf.Shorten(key), ".")
			if field, known := fieldType(t, key); known {
				walkUnknown(tree[key], field, place, found)
				continue
			}

			*found = append(*found, UnknownField{Path: place, Place: PlaceOf(key)})
		}
	case []any:
		if t.Kind() == reflect.Slice {
			for i, element := range tree {
				walkUnknown(element, t.Elem(), fmt.Sprintf("%s[%d]", path, i), found)
			}
		}
	}
}

// PlaceOf returns the path of the pod's field with a name, or "". The name may differ in case.
func PlaceOf(name string) string { return places[strings.ToLower(name)] }

// places maps the names of a pod's fields, in lower case, to their paths in a pod. If several fields have the same
// name, the map contains the shortest path.
var places = func() map[string]string {
	known := map[string]string{}
	type node struct {
		t    reflect.Type
		path string
	}

	seen := map[reflect.Type]bool{}
	for queue := []node{{reflect.TypeFor[corev1.PodSpec](), "spec"}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for at.t.Kind() == reflect.Pointer || at.t.Kind() == reflect.Slice {
			if at.t.Kind() == reflect.Slice {
				at.path += "[]"
			}

			at.t = at.t.Elem()
		}

		if at.t.Kind() != reflect.Struct || seen[at.t] {
			continue
		}

		seen[at.t] = true

		fields := fieldsOf(at.t)
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			path := at.path + "." + name
			if _, ok := known[strings.ToLower(name)]; !ok {
				known[strings.ToLower(name)] = path
			}

			if name != "initContainers" && name != "ephemeralContainers" { // the same fields as those of containers
				queue = append(queue, node{fields[name], path})
			}
		}
	}
	return known
}()
