package podtemplate

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// Tree returns a Kubernetes object as decoded JSON, without the fields that only an API server sets.
func Tree(o any) (map[string]any, error) {
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}

	delete(tree, "status")

	if metadata, ok := tree["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")

		if len(metadata) == 0 {
			delete(tree, "metadata")
		}
	}
	return tree, nil
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// unknownFields returns the fields of decoded JSON that a type does not have, as a tree of the same shape. It returns
// nil if there are no such fields. If an element of a list has such fields, the result contains an element for every
// element of the list. Each element of the result has the name of the original element, so that graft can find the
// original element again.
func unknownFields(tree any, t reflect.Type) any {
	switch tree.(type) {
	case map[string]any, []any:
	default:
		return nil // a scalar; most nodes of a tree are scalars
	}

	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}

	if reflect.PointerTo(t).Implements(unmarshaler) {
		return nil
	}

	switch tree := tree.(type) {
	case map[string]any:
		var out map[string]any
		for key, value := range tree {
			unknown := value
			if field, known := fieldType(t, key); known {
				unknown = unknownFields(value, field)
				if unknown == nil {
					continue
				}
			}

			if out == nil {
				out = map[string]any{}
			}

			out[key] = unknown
		}

		if out != nil {
			return out
		}
	case []any:
		if t.Kind() == reflect.Slice {
			return unknownElements(tree, t.Elem())
		}
	}
	return nil
}

func unknownElements(list []any, t reflect.Type) any {
	var found map[int]map[string]any
	for i, element := range list {
		if inner, _ := unknownFields(element, t).(map[string]any); inner != nil {
			if found == nil {
				found = map[int]map[string]any{}
			}

			found[i] = inner
		}
	}

	if found == nil {
		return nil
	}

	out := make([]any, len(list))
	for i, element := range list {
		inner := found[i]
		if inner == nil {
			inner = map[string]any{}
		}

		if fields, ok := element.(map[string]any); ok && fields["name"] != nil {
			inner["name"] = fields["name"]
		}

		out[i] = inner
	}
	return out
}

// fieldType returns the type of the value under a JSON key of a struct or a map. The second result reports whether the
// struct or map can have the key.
func fieldType(t reflect.Type, key string) (reflect.Type, bool) {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem(), true
	case reflect.Struct:
		field, known := fieldsOf(t)[key]
		return field, known
	}
	return nil, false
}

// fieldTypes caches the results of fieldsOf for Pod and all types in it. Most values that users write have these types.
var fieldTypes = func() map[reflect.Type]map[string]reflect.Type {
	known := map[reflect.Type]map[string]reflect.Type{}
	var learn func(t reflect.Type)
	learn = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			learn(t.Elem())
		case reflect.Struct:
			if known[t] != nil {
				return
			}

			known[t] = readFields(t)
			for _, field := range known[t] {
				learn(field)
			}
		}
	}
	learn(reflect.TypeFor[corev1.Pod]())
	return known
}()

// fieldsOf returns a map from the JSON keys of a struct's fields to the types of the fields.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if known := fieldTypes[t]; known != nil {
		return known
	}
	return readFields(t)
}

func readFields(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && (name == "" || strings.Contains(options, "inline")):
			if f.Type.Kind() == reflect.Struct {
				maps.Copy(fields, readFields(f.Type))
			}
		case name != "-" && name != "":
			fields[name] = f.Type
		}
	}
	return fields
}

// Graft merges the fields of extra, such as a Template.Extra, into the tree of an object that was built from the
// template. If a field exists in both, the tree keeps its value. If the tree has no object at a path at which extra has
// fields, these fields are lost, and Graft passes the path to the function `lost`. Graft changes `into` and puts parts
// of `extra` into it, so the caller must pass copies.
func Graft(into, extra map[string]any, lost func(path string)) { graft(into, extra, "", lost) }

func graft(into, extra map[string]any, path string, lost func(path string)) {
	for _, key := range conf.SortedKeys(extra) {
		have, ok := into[key]
		if !ok || have == nil {
			into[key] = extra[key]
			continue
		}

		place := strings.TrimPrefix(path+"."+key, ".")
		switch fields := extra[key].(type) {
		case map[string]any:
			if inner, ok := have.(map[string]any); ok {
				graft(inner, fields, place, lost)
				continue
			}

			lost(place)
		case []any:
			list, _ := have.([]any)
			graftElements(list, fields, place, lost)
		}
	}
}

// graftElements merges the elements of extra into the elements of list. It finds an element by its index and name, or
// by its name alone if the element has another index in list. This is sufficient: Spark only appends to lists, except
// for the list of containers, in which it may move an element. Containers have names.
//
// If no element of list has a name, a name in extra is a field that the type of the elements does not have. The element
// is then found by its index.
func graftElements(list, extra []any, path string, lost func(path string)) {
	byName := map[string]int{}
	for i, element := range slices.Backward(list) {
		if name := nameOf(element); name != "" {
			byName[name] = i
		}
	}

	for i, element := range extra {
		fields, _ := element.(map[string]any)
		name := nameOf(element)

		if len(fields) == 0 {
			continue
		}

		at, ok := i, i < len(list) && (nameOf(list[i]) == name || len(byName) == 0)
		if !ok && name != "" {
			at, ok = byName[name]
		}

		if !ok && name != "" && len(fields) == 1 {
			continue
		}

		place := fmt.Sprintf("%s[%d]", path, i)
		if name != "" {
			place = fmt.Sprintf("%s[%s]", path, name)
		}

		var inner map[string]any
		if ok {
			inner, ok = list[at].(map[string]any)
		}

		if !ok {
			lost(place)
			continue
		}

		graft(inner, fields, place, lost)
	}
}

func nameOf(element any) string {
	fields, _ := element.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}
