package crdfields

import (
	"maps"
	"slices"
	"strings"
)

// Field is one field of a definition.
type Field struct {
	// Path leads to the field. Its steps are names of fields, "[]" for the items of a list and "{}" for the values of a
	// map.
	Path   []string
	Schema *Schema
	// Typed is false if the definition does not list the field, but the Go type of a raw field has it.
	Typed bool
}

// String returns the path as documentation writes it, such as "spec.driver.env[].name".
func (f *Field) String() string {
	var text strings.Builder
	for _, step := range f.Path {
		if text.Len() > 0 && step != "[]" && step != "{}" {
			text.WriteByte('.')
		}

		text.WriteString(step)
	}
	return text.String()
}

// Fields returns every field of the definition, sorted by path. A raw field is one whose schema accepts anything. For
// such a field, the result also contains the fields of the Go type into which the operator decodes it. The second
// result contains the paths of raw fields without a known Go type.
func (d *Definition) Fields() (all []*Field, unknown []string) { return d.fields, d.opaque }

func (d *Definition) walk() {
	var walk func(path []string, s *Schema, typed bool)
	walk = func(path []string, s *Schema, typed bool) {
		field := &Field{slices.Clone(path), s, typed}
		if len(path) > 0 {
			d.fields = append(d.fields, field)
		}

		if IsRaw(s) && len(path) > 0 {
			name := path[len(path)-1]
			if t, known := raw[name]; known {
				inner := schemaOf(t, 0)
				s.Properties = inner.Properties // so that values of the raw field are built from the same schema
				typed = false
			} else if typed {
				d.opaque = append(d.opaque, field.String())
			}
		}

		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if len(path) == 0 && (name == "apiVersion" || name == "kind") {
				continue
			}

			property := s.Properties[name]
			walk(append(path, name), &property, typed)
			s.Properties[name] = property
		}

		if s.Items != nil && s.Items.Schema != nil {
			walk(append(path, "[]"), s.Items.Schema, typed)
		}

		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			walk(append(path, "{}"), s.AdditionalProperties.Schema, typed)
		}
	}
	walk(nil, d.Schema, true)
}

// Last returns the last step of the path.
func (f *Field) Last() string { return f.Path[len(f.Path)-1] }

// IsList reports whether a field is a list.
func (f *Field) IsList() bool { return f.Schema.Type == "array" }

// IsMap reports whether a field is a map with arbitrary keys.
func (f *Field) IsMap() bool {
	return f.Schema.AdditionalProperties != nil && f.Schema.AdditionalProperties.Schema != nil
}

// IsConf reports whether a field is a map whose keys are configuration keys of Spark or Hadoop.
func (f *Field) IsConf() bool {
	return f.IsMap() && strings.HasSuffix(f.Last(), "Conf")
}

// IsQuantity reports whether a schema accepts numbers and texts, as for a Kubernetes quantity or a port that may have a
// name.
func IsQuantity(s *Schema) bool { return s.XIntOrString }
