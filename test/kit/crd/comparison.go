package crd

import (
	"encoding/json"
	"iter"
	"maps"
	"reflect"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Comparison provides the probes of a definition for a test that compares the definition with something else: another
// definition, or a Go type. The pod templates of a driver and of an executor, for example, have equal schemas in both
// definitions, so the answers to all values inside of the templates are equal. A Comparison provides these values for
// one of the two templates only.
type Comparison struct {
	definition *apiextensionsv1.CustomResourceDefinition
	version    string
	other      counterpart

	// Repeated is the number of values that the function Probes returns and that were left out so far.
	Repeated int
	inside   map[pair]int // how many values Probes has inside of a pair; nil if values are repeated
}

// counterpart is what a property is compared with.
type counterpart interface {
	// property and item return the counterparts of a property and of an item. The result is nil if they are unknown.
	property(name string) counterpart
	item() counterpart
	// id identifies a counterpart. Equal counterparts give equal answers to all values.
	id() string
}

// pair is a schema without its descriptions, and the counterpart of the same property.
type pair struct{ schema, other string }

// CompareDefinitions returns the comparison of a definition with our definition in the same version.
func CompareDefinitions(theirs, ours *apiextensionsv1.CustomResourceDefinition, version string) *Comparison {
	return &Comparison{theirs, version, schemaPart{undescribed(*schemaOf(ours, version))}, 0, map[pair]int{}}
}

// CompareType returns the comparison of a version of a definition with the Go type of its objects.
func CompareType(crd *apiextensionsv1.CustomResourceDefinition, version string, object any) *Comparison {
	return &Comparison{crd, version, typePart{reflect.TypeOf(object)}, 0, map[pair]int{}}
}

// Probes returns the objects that the function Probes returns for the definition, without repeated values. The values
// of the property itself are no repeated values, but only those inside of it.
func (c *Comparison) Probes() iter.Seq2[string, map[string]any] {
	return objects(c.definition, c.version, func(part string) iter.Seq2[string, any] {
		schema := undescribed(schemaOf(c.definition, c.version).Properties[part])
		return c.probes("."+part, &schema, c.other.property(part))
	})
}

// pairOf returns the pair of a schema and its counterpart. It returns the zero pair if no values are left out.
func (c *Comparison) pairOf(s *apiextensionsv1.JSONSchemaProps, other counterpart) pair {
	if c.inside == nil || other == nil {
		return pair{}
	}
	return pair{idOf(s), other.id()}
}

// unknown is the counterpart of a property that has none.
type unknown struct{}

func (unknown) id() string { return "" }

func (unknown) property(string) counterpart { return nil }

func (unknown) item() counterpart { return nil }

// schemaPart is a schema of the definition that another one is compared with.
type schemaPart struct {
	apiextensionsv1.JSONSchemaProps
}

func (s schemaPart) id() string { return idOf(&s.JSONSchemaProps) }

func (s schemaPart) property(name string) counterpart {
	if property, ok := s.Properties[name]; ok {
		return schemaPart{property}
	}

	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		return schemaPart{*s.AdditionalProperties.Schema}
	}
	return s.content()
}

func (s schemaPart) item() counterpart {
	if s.Items != nil && s.Items.Schema != nil {
		return schemaPart{*s.Items.Schema}
	}
	return s.content()
}

// content returns the counterpart of what a schema keeps without a schema of its own.
func (s schemaPart) content() counterpart {
	if !set(s.XPreserveUnknownFields) {
		return nil
	}
	return schemaPart{apiextensionsv1.JSONSchemaProps{XPreserveUnknownFields: new(true)}}
}

// typePart is a Go type.
type typePart struct{ reflect.Type }

func (t typePart) id() string { return t.PkgPath() + " " + t.String() }

func (t typePart) property(name string) counterpart {
	switch t.Kind() {
	case reflect.Pointer:
		return typePart{t.Elem()}.property(name)
	case reflect.Struct:
		for field := range t.Fields() {
			tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if tag == name && name != "" {
				return typePart{field.Type}
			}

			if field.Anonymous && tag == "" {
				if found := (typePart{field.Type}).property(name); found != nil {
					return found
				}
			}
		}
		return nil
	}
	return t.item()
}

func (t typePart) item() counterpart {
	switch t.Kind() {
	case reflect.Pointer:
		return typePart{t.Elem()}.item()
	case reflect.Map, reflect.Slice, reflect.Array:
		return typePart{t.Elem()}
	}
	return nil
}

func idOf(s *apiextensionsv1.JSONSchemaProps) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a schema that was read from JSON
	}
	return string(text)
}

// undescribed returns a copy of a schema without descriptions.
func undescribed(s apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	s.Description, s.Properties = "", maps.Clone(s.Properties)
	for name, property := range s.Properties {
		s.Properties[name] = undescribed(property)
	}

	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		s.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Schema: new(undescribed(*s.AdditionalProperties.Schema))}
	}

	if s.Items != nil && s.Items.Schema != nil {
		s.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: new(undescribed(*s.Items.Schema))}
	}
	return s
}
