package submit

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// DriverObject is the driver pod as it should be created: Driver itself, or where its template has fields that Driver's type does not know, an
// unstructured pod with those in their places. Driver may have been changed since Build; what it says wins.
func (o Objects) DriverObject() (Object, error) {
	if len(o.DriverExtra) == 0 {
		return o.Driver, nil
	}
	tree, err := treeOf(o.Driver)
	if err != nil {
		return nil, err
	}
	graft(tree, runtime.DeepCopyJSON(o.DriverExtra), "", func(string) {})
	return &unstructured.Unstructured{Object: tree}, nil
}

// treeOf is an object as decoded JSON, without what only a server writes.
func treeOf(o any) (map[string]any, error) {
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

// unknownFields returns what decoded JSON has and a type has not, at the same places; nil if there is nothing. In a list every element has its
// place, and its name where it has one, by which graft finds it again.
func unknownFields(tree any, t reflect.Type) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return nil
	}
	switch tree := tree.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range tree {
			switch field, known := fieldType(t, key); {
			case !known:
				out[key] = value
			default:
				if inner := unknownFields(value, field); inner != nil {
					out[key] = inner
				}
			}
		}
		if len(out) > 0 {
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
	out, some := make([]any, len(list)), false
	for i, element := range list {
		inner, _ := unknownFields(element, t).(map[string]any)
		some = some || inner != nil
		if inner == nil {
			inner = map[string]any{}
		}
		if fields, ok := element.(map[string]any); ok && fields["name"] != nil {
			inner["name"] = fields["name"]
		}
		out[i] = inner
	}
	if !some {
		return nil
	}
	return out
}

// fieldType is the type of what a struct, or a map, has under a key of JSON.
func fieldType(t reflect.Type, key string) (reflect.Type, bool) {
	if t.Kind() != reflect.Struct {
		if t.Kind() == reflect.Map {
			return t.Elem(), true
		}
		return nil, false
	}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && (name == "" || strings.Contains(options, "inline")) {
			if inner, ok := fieldType(f.Type, key); ok {
				return inner, true
			}
			continue
		}
		if name == key && name != "-" {
			return f.Type, true
		}
	}
	return nil, false
}

// graft puts fields into a tree that does not have them. lost is told the places that are not there any more.
func graft(into, extra map[string]any, path string, lost func(path string)) {
	for _, key := range slices.Sorted(maps.Keys(extra)) {
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

// graftElements finds every element by its name, or by its place where it has none: Spark appends to lists, and only containers change places.
func graftElements(list, extra []any, path string, lost func(path string)) {
	byName := map[string]int{}
	for i, element := range slices.Backward(list) {
		byName[nameOf(element)] = i
	}
	for i, element := range extra {
		fields, _ := element.(map[string]any)
		name := nameOf(element)
		if len(fields) == 0 || name != "" && len(fields) == 1 {
			continue
		}
		at, ok := i, i < len(list) && nameOf(list[i]) == name
		if !ok && name != "" {
			at, ok = byName[name]
		}
		place := fmt.Sprintf("%s[%d]", path, i)
		if name != "" {
			place = fmt.Sprintf("%s[%s]", path, name)
		}
		if !ok {
			lost(place)
			continue
		}
		if inner, ok := list[at].(map[string]any); ok {
			graft(inner, fields, place, lost)
		}
	}
}

func nameOf(element any) string {
	fields, _ := element.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}

// keepExtra puts fields of a template that no type knows into the pod that was made of it. Those that cannot be kept are told by warnings.
func (d *draft) keepExtra(field string, pod *corev1.Pod, spark string, extra map[string]any, o overlay.Overlay) (map[string]any, error) {
	d.dropReplaced(field, spark, extra, o)
	tree, err := treeOf(pod)
	if err != nil {
		return nil, err
	}
	graft(tree, runtime.DeepCopyJSON(extra), "", func(path string) {
		d.warn("%s: %s: has fields that cannot be kept", field, path)
	})
	return tree, nil
}

// dropReplaced leaves out fields inside of what an overlay replaces as a whole: they are not the overlay's.
func (d *draft) dropReplaced(field, spark string, extra map[string]any, o overlay.Overlay) {
	spec, _ := extra["spec"].(map[string]any)
	drop := func(fields map[string]any, key string, replaced bool) {
		if _, ok := fields[key]; ok && replaced {
			delete(fields, key)
			d.warn("%s: %s: has fields that cannot be kept: it is replaced", field, key)
		}
	}
	drop(spec, "affinity", o.Affinity != nil)
	drop(spec, "dnsConfig", o.DNSConfig != nil)
	drop(spec, "securityContext", o.PodSecurityContext != nil)
	containers, _ := spec["containers"].([]any)
	for _, c := range containers {
		if fields, _ := c.(map[string]any); fields["name"] == spark {
			drop(fields, "securityContext", o.SecurityContext != nil)
			drop(fields, "lifecycle", o.Lifecycle != nil)
		}
	}
}
