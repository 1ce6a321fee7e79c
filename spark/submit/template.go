package submit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// podTemplate is a template taken apart.
type podTemplate struct {
	// pod is all but the Spark container.
	pod   *corev1.Pod
	spark corev1.Container
	// extra are the fields that the two do not know, in their places; the Spark container is there too.
	extra map[string]any
}

// template reads a pod template and takes the Spark container out of it: the one that key names, else the first. A container without a name
// gets the one given. Without a template pod and container are empty but for that.
func (d *draft) template(field string, data []byte, key, name string) (podTemplate, error) {
	t := podTemplate{pod: &corev1.Pod{}, spark: corev1.Container{Name: name}}
	if len(data) == 0 {
		return t, nil
	}
	tree, err := decodeTree(data)
	if err != nil {
		return t, fieldError(field, "is no pod template: %s", conf.Shorten(err.Error()))
	}
	if kind, ok := tree["kind"]; ok && kind != "Pod" && kind != "" {
		return t, fieldError(field, "should be a Pod, or the template of one, but its kind is another")
	}
	delete(tree, "status")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(tree, t.pod); err != nil {
		return t, fieldError(field, "is no pod template: %s", conf.Shorten(misfit(tree, err)))
	}
	t.extra, _ = unknownFields(tree, reflect.TypeFor[corev1.Pod]()).(map[string]any)
	d.templateMeta(field, &t)
	if len(t.pod.Spec.Containers) == 0 {
		return t, nil
	}
	wanted, err := d.conf.String(key, "")
	if err != nil {
		return t, err
	}
	i := max(0, slices.IndexFunc(t.pod.Spec.Containers, func(c corev1.Container) bool { return wanted != "" && c.Name == wanted }))
	t.spark = t.pod.Spec.Containers[i]
	t.pod.Spec.Containers = slices.Delete(t.pod.Spec.Containers, i, i+1)
	if t.spark.Name == "" {
		t.spark.Name = name
		spec, _ := t.extra["spec"].(map[string]any)
		if containers, _ := spec["containers"].([]any); i < len(containers) {
			containers[i].(map[string]any)["name"] = name
		}
	}
	return t, nil
}

// misfit says where a template is no pod. What converts it says only why.
func misfit(tree map[string]any, why error) string {
	data, err := json.Marshal(tree)
	if err == nil {
		err = json.Unmarshal(data, &corev1.Pod{})
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

// templateMeta leaves in a template's metadata what is its to say.
func (d *draft) templateMeta(field string, t *podTemplate) {
	if len(t.pod.OwnerReferences) > 0 {
		d.warn("%s: metadata.ownerReferences are left out: the owner is not the template's to choose", field)
	}
	t.pod.ObjectMeta = metav1.ObjectMeta{Labels: t.pod.Labels, Annotations: t.pod.Annotations, Finalizers: t.pod.Finalizers}
	if metadata, ok := t.extra["metadata"].(map[string]any); ok {
		delete(metadata, "ownerReferences")
		delete(metadata, "managedFields")
		if len(metadata) == 0 {
			delete(t.extra, "metadata")
		}
	}
}

// decodeTree reads one object in JSON or YAML. Whole numbers stay whole.
func decodeTree(data []byte) (map[string]any, error) {
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) > 0 && trimmed[0] != '{' {
		var err error
		if data, err = utilyaml.ToJSON(data); err != nil {
			return nil, err
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
