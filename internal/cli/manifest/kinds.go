package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// Groups are the API groups of the operator.
var Groups = []string{v1beta2.SchemeGroupVersion.Group, sparkv1.SchemeGroupVersion.Group}

// Kind returns the version and the kind of a document, or the zero value if the document has none.
func (d *Document) Kind() schema.GroupVersionKind {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if utiljson.Unmarshal(d.JSON, &head) != nil {
		return schema.GroupVersionKind{}
	}
	return schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)
}

// Name returns the kind and the name of a document, for messages.
func (d *Document) Name() string {
	var head struct {
		Metadata struct {
			Name         any `json:"name"`
			GenerateName any `json:"generateName"`
		} `json:"metadata"`
	}

	_ = utiljson.Unmarshal(d.JSON, &head) // an unreadable name is none
	for _, name := range []any{head.Metadata.Name, head.Metadata.GenerateName} {
		if text, ok := name.(string); ok && text != "" {
			return d.Kind().Kind + " " + text
		}
	}
	return d.Kind().Kind
}

// Object decodes the document as the operator does, and returns all faults of its kind, its types and its definition.
// If the API group is not one of the operator's groups, or the document cannot be decoded, Object returns no object.
func (d *Document) Object() (client.Object, []*Fault) {
	kind := d.Kind()

	known := kinds.Served(kind)
	if known == nil {
		return nil, d.unserved(kind)
	}

	c := checker{document: d, root: definition(kind), found: d.duplicates("", d.root)}
	c.check(shapeOf(kind))

	object := known.Empty()
	if err := utiljson.Unmarshal(d.JSON, object); err != nil {
		if !slices.ContainsFunc(c.found, func(f *Fault) bool { return !f.Warning() }) {
			c.add(RuleInvalid, "", "%s", err.Error())
		}
		return nil, c.found
	}

	object.GetObjectKind().SetGroupVersionKind(kind)
	return object, c.found
}

// Partial decodes a document that has faults, as if the values with a wrong type had the right one. Values without such
// a form are left out, and lacking is true. A value in a list is left out with the whole list, so that the other items
// keep their numbers. Partial returns nil if the rest cannot be decoded either.
func (d *Document) Partial(faults []*Fault) (object client.Object, lacking bool) {
	known := kinds.Served(d.Kind())
	for _, amend := range []func(any) (any, bool){otherType, func(any) (any, bool) { return nil, false }} {
		var tree map[string]any
		if known == nil || utiljson.Unmarshal(d.JSON, &tree) != nil {
			return nil, false
		}

		for _, fault := range faults {
			if fault.Rule == RuleInvalid && !change(tree, Keys(fault.Field), amend) {
				lacking = true
			}
		}

		rest, err := json.Marshal(tree)
		spec, specErr := json.Marshal(tree["spec"])

		fits := err == nil && specErr == nil && len(bounds.Misfits(spec, shapeOf(d.Kind()), "spec")) == 0
		if object := known.Empty(); fits && utiljson.Unmarshal(rest, object) == nil {
			object.GetObjectKind().SetGroupVersionKind(d.Kind())
			return object, lacking
		}
	}
	return nil, false
}

// otherType returns a text that has quotes too many without them, and a number or a boolean as text.
func otherType(value any) (other any, ok bool) {
	switch value := value.(type) {
	case string:
		ok = utiljson.Unmarshal([]byte(value), &other) == nil && other != nil
		return other, ok
	case int64, float64, bool:
		return fmt.Sprint(value), true
	}
	return nil, false
}

// change replaces the value at a path of keys. If amend returns false, change removes the value, or the first list on
// the path, and returns false.
func change(tree map[string]any, keys []string, amend func(any) (any, bool)) bool {
	for i, key := range keys {
		below, isObject := tree[key].(map[string]any)
		if isObject && i < len(keys)-1 {
			tree = below
			continue
		}

		other, ok := amend(tree[key])
		if ok = ok && i == len(keys)-1; ok {
			tree[key] = other
		} else {
			delete(tree, key)
		}
		return ok
	}
	return true
}

// unserved returns the faults of a document whose version and kind the operator does not serve. A kind of the operator
// in another group is only a warning, because the group may be that of another program.
func (d *Document) unserved(kind schema.GroupVersionKind) []*Fault {
	versions := map[string]string{} // the stored version of the kind in each group

	names := map[string]bool{}
	for _, known := range kinds.All {
		if known.Kind == kind.Kind {
			versions[known.Group] = known.GroupVersion().String()
		}

		if known.Group == kind.Group {
			names[known.Kind] = true
		}
	}

	fault := func(rule, field, message string, args ...any) []*Fault {
		return []*Fault{{d.Place(field), rule, field, fmt.Sprintf(message, args...)}}
	}

	apiVersion := kind.GroupVersion().String()
	switch {
	case kind.Kind == "":
		return fault(RuleKind, "", "has no kind; a manifest begins with apiVersion and kind")
	case len(versions) > 0 && kind.Group == "": // kubectl refuses it too
		return fault(RuleKind, "apiVersion", "%q is not a version of %s; write %s", apiVersion, kind.Kind, strings.Join(slices.Sorted(maps.Values(versions)), " or "))
	case versions[kind.Group] != "":
		return fault(RuleKind, "apiVersion", "%q is not a version of %s that the operator serves; write %s", apiVersion, kind.Kind, versions[kind.Group])
	case slices.Contains(Groups, kind.Group):
		return fault(RuleKind, "kind", "%q is not a kind of %s; the kinds are: %s", kind.Kind, kind.Group, strings.Join(slices.Sorted(maps.Keys(names)), ", "))
	case len(versions) > 0:
		return fault(RuleForeign, "apiVersion", "%q is not a version of the operator's kind %s, so the document is left out; write %s if the operator should run it",
			apiVersion, kind.Kind, strings.Join(slices.Sorted(maps.Values(versions)), " or "))
	}
	return nil
}

// metadata is the schema of the metadata of an object, in which only the names of fields are checked.
var metadata = &property{Properties: func() map[string]*property {
	fields := map[string]*property{}
	for f := range reflect.TypeFor[metav1.ObjectMeta]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[name] = &property{}
	}
	return fields
}()}

var metadataShape = bounds.ShapeOf[metav1.ObjectMeta]()

// shapeOf returns the shape of the spec of a kind.
func shapeOf(kind schema.GroupVersionKind) *bounds.Shape {
	switch kind.GroupVersion() {
	case v1beta2.SchemeGroupVersion:
		return v1beta2.Bounds()[kind.Kind].Spec
	case v1alpha1.SchemeGroupVersion:
		return v1alpha1.Bounds()[kind.Kind].Spec
	}
	return sparkv1.Bounds()[kind.Kind].Spec
}

// check finds the faults of a document: first the values that have a wrong type or exceed a limit, then what the
// definition refuses besides, unknown fields and placeholders. A field has one fault at most.
func (c *checker) check(spec *bounds.Shape) {
	var parts struct {
		Metadata json.RawMessage `json:"metadata"`
		Spec     json.RawMessage `json:"spec"`
	}

	var tree map[string]any
	if utiljson.Unmarshal(c.document.JSON, &parts) != nil || utiljson.Unmarshal(c.document.JSON, &tree) != nil {
		return // the caller reports what cannot be decoded
	}

	for _, fault := range append(bounds.Misfits(parts.Metadata, metadataShape, "metadata"), bounds.Misfits(parts.Spec, spec, "spec")...) {
		message := fault.Message
		_, node := c.document.nearest(fault.Path)

		quote := strings.HasPrefix(message, "is the ") && strings.HasSuffix(message, "put it in quotes")
		if quote && node.Kind == yamlv3.ScalarNode && !strings.Contains(message, " "+node.Value+",") {
			message += fmt.Sprintf(": %q", node.Value) // such as yes, which YAML reads as true, or 3.10, which it reads as 3.1
		}

		c.add(RuleInvalid, fault.Path, "%s", message)
	}

	c.value("", tree, c.root)
}

// SpecOf returns a pointer to the spec of one of the operator's objects.
func SpecOf(object client.Object) any {
	return reflect.ValueOf(object).Elem().FieldByName("Spec").Addr().Interface()
}
