package crd

import apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

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
