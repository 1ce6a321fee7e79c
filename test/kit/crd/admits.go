package crd

import (
	"encoding/json"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// schemas contains the schemas that Faults has compiled, by the file name and version.
var schemas sync.Map

// Faults returns the errors with which the API server would reject the creation of an object. The argument file is the
// name of one of our definition files, and version is one of the versions in it.
func Faults(t testing.TB, file, version string, object any) field.ErrorList {
	t.Helper()

	key := file + " " + version

	schema, ok := schemas.Load(key)
	if !ok {
		compiled, err := NewSchema(Ours(t, file), version)
		if err != nil {
			t.Fatal(err)
		}

		schema, _ = schemas.LoadOrStore(key, compiled)
	}

	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}

	_, errs := schema.(*Schema).Admit(text)
	return errs
}

// Rule is a validation rule of a definition, with the path of its schema.
type Rule struct {
	Path string
	apiextensionsv1.ValidationRule
}

// Rules returns the validation rules of a version of a definition.
func Rules(crd *apiextensionsv1.CustomResourceDefinition, version string) (rules []Rule) {
	var walk func(path string, s *apiextensionsv1.JSONSchemaProps)
	walk = func(path string, s *apiextensionsv1.JSONSchemaProps) {
		for _, rule := range s.XValidations {
			rules = append(rules, Rule{path, rule})
		}

		for name, property := range s.Properties {
			walk(path+"."+name, &property)
		}

		if s.Items != nil && s.Items.Schema != nil {
			walk(path+"[]", s.Items.Schema)
		}

		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			walk(path+"{}", s.AdditionalProperties.Schema)
		}
	}
	walk("", schemaOf(crd, version))
	return rules
}
