// Package podtemplate parses the pod templates of users without losing any field. Fields that the types of k8s.io/api
// do not have, such as fields of a newer Kubernetes, are stored next to the typed pod. Graft later merges them into the
// objects that are built from the template.
//
// # Compatibility
//
// The package is part of the library that package spark/submit describes, and follows semantic versioning with the
// module.
package podtemplate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// Template is a parsed pod template: the fields that the Go types have, and the other fields.
type Template struct {
	// Pod contains labels, annotations, finalizers and a spec. A template cannot set other metadata or a status.
	Pod *corev1.Pod
	// Extra contains the fields that Pod's type does not have, as decoded JSON at their places in the pod. A list
	// element that has a name has the name in Extra too, because Graft finds the element by its name. Extra is nil if
	// there are no such fields.
	Extra map[string]any
	// Dropped lists the fields of the metadata that were dropped because a template cannot set them, such as
	// metadata.name.
	Dropped []string
}

// Read parses a Pod or PodTemplateSpec in JSON or YAML. If data is empty, the pod is empty. The error says why the text
// is not a pod template. Its text continues a sentence that begins with the name of the field that contains data.
func Read(data []byte) (Template, error) {
	t := Template{Pod: &corev1.Pod{}}
	if len(data) == 0 {
		return t, nil
	}

	tree, err := decode(data, bounds.RawShape[corev1.Pod]())
	if err != nil {
		return t, unreadable("is not a pod template", err)
	}

	if kind := tree["kind"]; kind != nil && kind != "Pod" && kind != "" {
		return t, &bounds.Fault{Path: "kind", Message: fmt.Sprintf("is %q, and the API server accepts only Pod in a pod; write kind: Pod", conf.Shorten(fmt.Sprint(kind)))}
	}

	delete(tree, "status")

	if err := convert(tree, t.Pod, bounds.RawShape[corev1.Pod]()); err != nil {
		return t, unreadable("is not a pod template", err)
	}

	t.Extra, _ = unknownFields(tree, reflect.TypeFor[corev1.Pod]()).(map[string]any)
	t.dropMeta()
	return t, nil
}

// dropMeta removes the metadata that a template cannot set, and lists the removed fields in Dropped.
func (t *Template) dropMeta() {
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"name", t.Pod.Name != ""},
		{"generateName", t.Pod.GenerateName != ""},
		{"namespace", t.Pod.Namespace != ""},
		{"ownerReferences", len(t.Pod.OwnerReferences) > 0},
	} {
		if field.set {
			t.Dropped = append(t.Dropped, "metadata."+field.name)
		}
	}

	t.Pod.ObjectMeta = metav1.ObjectMeta{Labels: t.Pod.Labels, Annotations: t.Pod.Annotations, Finalizers: t.Pod.Finalizers}
	if metadata, ok := t.Extra["metadata"].(map[string]any); ok {
		delete(metadata, "ownerReferences")
		delete(metadata, "managedFields")

		if len(metadata) == 0 {
			delete(t.Extra, "metadata")
		}
	}
}

// FindOrAdd returns the index of the pod's container that has the name `wanted`. If there is no such container, it
// returns the index of the first container; if the pod has no containers, it adds one. If the container at the returned
// index has no name, it gets the name that the parameter `name` contains.
func (t *Template) FindOrAdd(wanted, name string) int {
	spec := &t.Pod.Spec
	if len(spec.Containers) == 0 {
		spec.Containers = []corev1.Container{{Name: name}}
		return 0
	}

	i := max(0, slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return wanted != "" && c.Name == wanted }))
	if spec.Containers[i].Name == "" {
		spec.Containers[i].Name = name

		fields, _ := t.Extra["spec"].(map[string]any)
		if extra, _ := fields["containers"].([]any); i < len(extra) {
			extra[i].(map[string]any)["name"] = name
		}
	}
	return i
}

// Take removes from the pod the container that FindOrAdd finds, and returns it. Extra keeps the container's unknown
// fields under the container's name.
func (t *Template) Take(wanted, name string) corev1.Container {
	i := t.FindOrAdd(wanted, name)
	taken := t.Pod.Spec.Containers[i]
	t.Pod.Spec.Containers = slices.Delete(t.Pod.Spec.Containers, i, i+1)
	return taken
}

// As parses text in JSON or YAML into a Kubernetes type, such as a spec that contains a pod template. It also returns
// the fields that the type does not have, in the form of Template.Extra. If data is empty, the value is empty. T must
// be one of the types that bounds.RawShape accepts. The error says why the text does not fit T or which limit it
// exceeds; its text continues a sentence that begins with the name of the field that contains data.
func As[T any](data []byte) (*T, map[string]any, error) {
	into := new(T)
	if len(data) == 0 {
		return into, nil, nil
	}

	tree, err := decode(data, bounds.RawShape[T]())
	if err != nil {
		return into, nil, unreadable("cannot be read", err)
	}

	if err := convert(tree, into, bounds.RawShape[T]()); err != nil {
		return into, nil, unreadable("cannot be read", err)
	}

	extra, _ := unknownFields(tree, reflect.TypeFor[T]()).(map[string]any)
	return into, extra, nil
}

// convert converts a tree to the Go type that a shape describes. The parameter `into` points to an empty value of the
// type. The error names the first field of the tree that does not fit the type. Kubernetes' own converter of trees is
// not used, because it cuts off the high digits of integers that are too large.
func convert(tree map[string]any, into any, shape *bounds.Shape) error {
	data, err := json.Marshal(tree)
	if err == nil {
		err = utiljson.Unmarshal(data, into)
	}

	if err == nil {
		return nil
	}

	for _, fault := range bounds.Misfits(data, shape, "") {
		return fault
	}
	return err
}

func unreadable(what string, err error) error {
	if fault, ok := errors.AsType[*bounds.Fault](err); ok {
		return fault
	}
	return fmt.Errorf("%s: %s", what, conf.Shorten(err.Error()))
}

// Decode parses one object in JSON or YAML. Integers stay integers. YAML is limited with its aliases written out,
// because a few bytes with aliases can expand to any amount of memory.
func Decode(data []byte) (map[string]any, error) { return decode(data, nil) }

// decode implements Decode. Unless shape is nil, it also checks that the data does not exceed the limits of shape,
// which describes the Go type into which the data is converted later. If the data exceeds a limit, the error is a
// *bounds.Fault.
func decode(data []byte, shape *bounds.Shape) (map[string]any, error) {
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) > 0 && trimmed[0] != '{' {
		tree, err := parseYAML(data)
		if err != nil {
			return nil, err
		}

		if data, err = json.Marshal(tree); err != nil {
			return nil, err
		}
	}
	return decodeJSON(data, shape)
}

// DecodeJSON parses one object in JSON. Integers stay integers.
func DecodeJSON(data []byte) (map[string]any, error) {
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) > 0 && trimmed[0] != '{' {
		return nil, errors.New("is not a JSON object: it must begin with a brace; YAML is not accepted here")
	}
	return decodeJSON(data, nil)
}

func decodeJSON(data []byte, shape *bounds.Shape) (map[string]any, error) {
	if err := checkDepth(data); err != nil {
		return nil, err
	}

	if shape != nil {
		if fault := bounds.Check(data, shape, ""); fault != nil {
			return nil, fault
		}
	}

	var tree map[string]any
	if err := utiljson.Unmarshal(data, &tree); err != nil {
		return nil, err
	}

	if tree == nil {
		tree = map[string]any{}
	}
	return tree, nil
}

// maxDepth is the maximum nesting of objects and lists. The deepest field of a pod is at about 15.
const maxDepth = 100

// checkDepth returns an error for JSON that is nested more deeply than maxDepth. The later parsers process the text
// several times, with a nested function call for each level.
func checkDepth(data []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("is nested more than %d lists and objects deep; use fewer levels", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}
