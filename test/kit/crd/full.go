package crd

import (
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Sizes contains the values that Full needs as its parameter override for our definitions. They replace values that our
// definitions reject: a property does not accept the text "a", or a rule excludes the chosen value of an enumeration.
var Sizes = map[string]any{
	".memory": "1g", ".memoryOverhead": "512m", ".memoryLimit": "2g", ".memoryOverheadFactor": "0.2", ".coreRequest": "1", ".coreLimit": "1",
	".podName": "a.b", ".portName": "b", ".deploymentMode": "ClusterMode",
	// The rules admit spec.nodeSelector only if driver and executors have no node selectors of their own.
	".spec.nodeSelector": map[string]any{}, ".spec.template.nodeSelector": map[string]any{},
}

// Full returns an object that sets every property of a version of a definition, with one element in each list and map.
//
// The variant selects the values. Variant 0 uses the first value of each enumeration, and a number for properties that
// accept both numbers and texts. Variant 1 uses the second value of each enumeration, and a text. To use every value of
// every enumeration, a test calls Full with each variant from 0 to the result of Variants minus 1.
//
// The argument override contains values for properties that do not accept "a" or 1. Its keys are suffixes of property
// paths, such as ".memory".
func Full(crd *apiextensionsv1.CustomResourceDefinition, version string, variant int, override map[string]any) map[string]any {
	root := schemaOf(crd, version)

	obj := map[string]any{
		"apiVersion": crd.Spec.Group + "/" + version, "kind": crd.Spec.Names.Kind,
		"metadata": map[string]any{"name": "full", "namespace": "default"},
	}
	for _, part := range []string{"spec", "status"} {
		if property, ok := root.Properties[part]; ok {
			obj[part] = full("."+part, &property, variant, override)
		}
	}
	return obj
}

// Variants returns how many variants of Full are necessary to use every value of every enumeration.
func Variants(crd *apiextensionsv1.CustomResourceDefinition, version string) int {
	most := 2
	var walk func(s *apiextensionsv1.JSONSchemaProps)
	walk = func(s *apiextensionsv1.JSONSchemaProps) {
		most = max(most, len(s.Enum))
		for _, property := range s.Properties {
			walk(&property)
		}

		if s.Items != nil && s.Items.Schema != nil {
			walk(s.Items.Schema)
		}

		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			walk(s.AdditionalProperties.Schema)
		}
	}
	walk(schemaOf(crd, version))
	return most
}

func full(path string, s *apiextensionsv1.JSONSchemaProps, variant int, override map[string]any) any {
	for end, value := range override {
		if strings.HasSuffix(path, end) {
			return value
		}
	}

	switch {
	case len(s.Enum) > 0:
		return strings.Trim(string(s.Enum[variant%len(s.Enum)].Raw), `"`)
	case s.XIntOrString && variant%2 == 0:
		return int64(1)
	case s.XIntOrString && s.Pattern == "":
		return "name"
	case set(s.XPreserveUnknownFields):
		return map[string]any{"spec": map[string]any{"anything": []any{int64(1), "two", map[string]any{"three": true}}}}
	case s.Type == "array":
		if s.Items != nil && s.Items.Schema != nil {
			return []any{full(path+"[]", s.Items.Schema, variant, override)}
		}
	case s.Type == "object":
		return fullObject(path, s, variant, override)
	}
	return sample(s)
}

func fullObject(path string, s *apiextensionsv1.JSONSchemaProps, variant int, override map[string]any) map[string]any {
	obj := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		obj[name] = full(path+"."+name, &property, variant, override)
	}

	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		obj["key"] = full(path+"{}", s.AdditionalProperties.Schema, variant, override)
	}
	return obj
}
