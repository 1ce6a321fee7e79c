// Package podtemplate reads the pod templates that users write, and loses nothing of them: fields that k8s.io/api does not know, such as those of a newer
// Kubernetes, are kept beside the typed pod and put back into what is created of it.
package podtemplate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/sparkoperator/spark-operator/bounds"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// Template is a pod template, in what the types know and what they do not.
type Template struct {
	// Pod has labels, annotations, finalizers and a spec: nothing else of its metadata is a template's to say, and it has no status.
	Pod *corev1.Pod
	// Extra are the fields that Pod's type does not know, as decoded JSON in their places. Elements of lists that have a name have it here too, by
	// which Graft finds them. It is nil where there are none.
	Extra map[string]any
	// Left are the fields of the metadata that were left out, such as metadata.name: they are not the template's to say.
	Left []string
}

// Read reads a Pod or PodTemplateSpec in JSON or YAML. Without data the pod is empty. The error says where the text is no pod, in words that go behind
// the name of the field it came from.
func Read(data []byte) (Template, error) {
	t := Template{Pod: &corev1.Pod{}}
	if len(data) == 0 {
		return t, nil
	}
	tree, err := decode(data, bounds.RawShape[corev1.Pod]())
	if err != nil {
		return t, unreadable("is no pod template", err)
	}
	if kind, ok := tree["kind"]; ok && kind != "Pod" && kind != "" {
		return t, errors.New("should be a Pod, or the template of one, but its kind is another")
	}
	delete(tree, "status")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(tree, t.Pod); err != nil {
		return t, fmt.Errorf("is no pod template: %s", conf.Shorten(misfit(tree, &corev1.Pod{}, err)))
	}
	t.Extra, _ = unknownFields(tree, reflect.TypeFor[corev1.Pod]()).(map[string]any)
	t.leaveMeta()
	return t, nil
}

// leaveMeta leaves in the metadata what is a template's to say.
func (t *Template) leaveMeta() {
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
			t.Left = append(t.Left, "metadata."+field.name)
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

// Find returns the place of a container of the pod: the one of the wanted name, else the first, else a new one. One without a name gets the one given.
func (t *Template) Find(wanted, name string) int {
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

// Take takes the container that Find finds out of the pod. Extra keeps what is the container's, under its name.
func (t *Template) Take(wanted, name string) corev1.Container {
	i := t.Find(wanted, name)
	taken := t.Pod.Spec.Containers[i]
	t.Pod.Spec.Containers = slices.Delete(t.Pod.Spec.Containers, i, i+1)
	return taken
}

// As reads text in JSON or YAML as a type of Kubernetes', such as a spec with a pod template in it, and returns it with the fields that the type does not
// know, as Template.Extra has them. Without data it is empty. The error says where the text is something else, in words that go behind the name of the
// field it came from.
// What exceeds a limit is an error too; T is one of the types that bounds.RawShape knows.
func As[T any](data []byte) (*T, map[string]any, error) {
	into := new(T)
	if len(data) == 0 {
		return into, nil, nil
	}
	tree, err := decode(data, bounds.RawShape[T]())
	if err != nil {
		return into, nil, unreadable("cannot be read", err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(tree, into); err != nil {
		return into, nil, fmt.Errorf("cannot be read: %s", conf.Shorten(misfit(tree, new(T), err)))
	}
	extra, _ := unknownFields(tree, reflect.TypeFor[T]()).(map[string]any)
	return into, extra, nil
}

// misfit says where a tree does not fit into an empty value of its type. What converts it says only why.
func misfit(tree map[string]any, into any, why error) string {
	data, err := json.Marshal(tree)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok || wrong.Field == "" {
		return why.Error()
	}
	kind := map[reflect.Kind]string{
		reflect.Slice: "a list", reflect.Struct: "an object", reflect.Map: "an object", reflect.String: "text", reflect.Bool: "true or false",
		reflect.Int32: "a whole number", reflect.Int64: "a whole number",
	}[wrong.Type.Kind()]
	return fmt.Sprintf("%s should be %s, but is %s", wrong.Field, cmp.Or(kind, "a "+wrong.Type.String()), wrong.Value)
}

func unreadable(what string, err error) error {
	if fault, ok := errors.AsType[*bounds.Fault](err); ok {
		return fault
	}
	return fmt.Errorf("%s: %s", what, conf.Shorten(err.Error()))
}

// Decode reads one object in JSON or YAML. Whole numbers stay whole. YAML with aliases is refused: a few bytes of them stand for any amount of memory.
func Decode(data []byte) (map[string]any, error) { return decode(data, nil) }

// decode is Decode of what is to be converted to a type of a shape later: what exceeds a limit is a *bounds.Fault.
func decode(data []byte, shape *bounds.Shape) (map[string]any, error) {
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) > 0 && trimmed[0] != '{' {
		err := CheckYAML(data)
		if err == nil {
			data, err = utilyaml.ToJSON(data)
		}
		if err != nil {
			return nil, err
		}
	}
	return decodeJSON(data, shape)
}

// DecodeJSON reads one object in JSON. Whole numbers stay whole.
func DecodeJSON(data []byte) (map[string]any, error) {
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) > 0 && trimmed[0] != '{' {
		return nil, errors.New("is no object in JSON: it should begin with a brace; YAML is not read here")
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

// CheckYAML refuses YAML with aliases. Its error goes behind the name of where the text comes from.
func CheckYAML(data []byte) error {
	if name := alias(data); name != "" {
		return fmt.Errorf("has the alias *%s: aliases are not read; write out what it stands for", conf.Shorten(name))
	}
	return nil
}

// anchors are what can be an anchor or an alias of YAML, wherever it is: the parser takes these characters as a name.
var anchors = regexp.MustCompile(`([&*])([0-9A-Za-z_-]+)`)

// alias returns the name of an alias whose anchor is in the same text; empty if there is none. Text in quotes that looks like both counts too.
func alias(data []byte) string {
	if !bytes.Contains(data, []byte("&")) || !bytes.Contains(data, []byte("*")) {
		return ""
	}
	named, found := map[string]bool{}, anchors.FindAllSubmatch(data, -1)
	for _, match := range found {
		if match[1][0] == '&' {
			named[string(match[2])] = true
		}
	}
	for _, match := range found {
		if match[1][0] == '*' && named[string(match[2])] {
			return string(match[2])
		}
	}
	return ""
}

// maxDepth is how deep objects and lists may be nested. The deepest field of a pod is at about 15.
const maxDepth = 100

// checkDepth refuses JSON that is nested too deep. What follows the text reads it again and again, one call for each level.
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
				return fmt.Errorf("is nested more than %d deep", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}
