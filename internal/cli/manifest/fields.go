package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Differences holds the paths of unknown fields, which the document sets but its kind does not have, and of missing
// fields, which the kind requires but the document does not set.
//
// Compare skips fields that contain raw JSON, such as pod templates: the operator accepts unknown fields there. It does
// not report missing fields of Kubernetes' own types, such as the name of a volume.
type Differences struct{ Unknown, Missing []string }

// Compare returns the differences between the fields of a document and the fields of the object's Go type.
func Compare(d *Document, object client.Object) (diff Differences, err error) {
	var tree map[string]any
	if err := utiljson.Unmarshal(d.JSON, &tree); err != nil {
		return diff, err
	}
	root := fieldsOf(reflect.TypeOf(object).Elem())
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		if _, known := root[key]; !known {
			diff.Unknown = append(diff.Unknown, key)
		}
	}
	diff.compare("metadata", tree["metadata"], root["metadata"].of, false)
	if spec, has := tree["spec"]; has {
		diff.compare("spec", spec, root["spec"].of, true)
	} else {
		diff.Missing = append(diff.Missing, "spec")
	}
	return diff, nil
}

// field describes a field of a Go struct: its type, and whether the API requires the field.
type field struct {
	of       reflect.Type
	required bool
}

// ours is the prefix of the import paths of the packages with the operator's API types.
const ours = "github.com/sparkoperator/spark-operator/api/"

// alwaysRequired is the name of a JSON field that the CustomResourceDefinition requires, although its JSON tag has
// omitempty. The reason is the marker +required before the field. The rule applies to API types whose names begin with
// Driver, such as DriverServiceIngress.
const alwaysRequired = "serviceSpec"

// fieldsOf returns the fields of a struct by their JSON names. A field of the operator's API types is required if its
// JSON tag has neither omitempty nor omitzero. The same rule generates the CustomResourceDefinitions.
func fieldsOf(t reflect.Type) map[string]field {
	fields := map[string]field{}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && strings.Contains(options, "inline"), name == "" && f.Anonymous:
			maps.Copy(fields, fieldsOf(f.Type))
		case name != "":
			required := name == alwaysRequired && strings.HasPrefix(t.Name(), "Driver") || strings.HasPrefix(t.PkgPath(), ours) && !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero")
			fields[name] = field{f.Type, required}
		}
	}
	return fields
}

var decodesItself = reflect.TypeFor[json.Unmarshaler]()

func (diff *Differences) compare(path string, value any, t reflect.Type, required bool) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || value == nil || reflect.PointerTo(t).Implements(decodesItself) {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		diff.compareObject(path, value, t, required)
	case []any:
		if t.Kind() != reflect.Slice {
			return
		}
		for i, item := range value {
			diff.compare(fmt.Sprintf("%s[%d]", path, i), item, t.Elem(), required)
		}
	}
}

func (diff *Differences) compareObject(path string, value map[string]any, t reflect.Type, required bool) {
	switch t.Kind() {
	case reflect.Map:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			diff.compare(path+"["+key+"]", value[key], t.Elem(), required)
		}
	case reflect.Struct:
		fields := fieldsOf(t)
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if f, known := fields[key]; known {
				diff.compare(path+"."+key, value[key], f.of, required)
			} else {
				diff.Unknown = append(diff.Unknown, path+"."+key)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			if _, has := value[key]; !has && fields[key].required && required {
				diff.Missing = append(diff.Missing, path+"."+key)
			}
		}
	default:
	}
}
