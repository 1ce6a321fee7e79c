package crd

import (
	"maps"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Limits returns the limits that a version of a definition sets for lists, maps, quantities and texts. Each key
// consists of the sort of value and the path of the property, for example "list .spec.driver.env". A list, map or
// quantity without a limit has the value 0. Texts without a limit are left out.
func Limits(crd *apiextensionsv1.CustomResourceDefinition, version string) map[string]int {
	found := map[string]int{}

	root := schemaOf(crd, version)
	for _, part := range []string{"spec", "status"} {
		property := root.Properties[part]
		limitsOf("."+part, &property, found)
	}
	return found
}

func limitsOf(path string, s *apiextensionsv1.JSONSchemaProps, found map[string]int) {
	number := func(n *int64) int {
		if n == nil {
			return 0
		}
		return int(*n)
	}
	switch {
	case s.XIntOrString && s.Pattern != "":
		found["quantity "+path] = number(s.MaxLength)
		if !strings.Contains(s.Pattern, "[0-9]{1,2}))?$") {
			found["quantity "+path] = -1 // the exponent is not bounded
		}
	case s.Type == "string" && s.MaxLength != nil:
		found["text "+path] = number(s.MaxLength)
	case s.Items != nil && s.Items.Schema != nil:
		found["list "+path] = number(s.MaxItems)
		limitsOf(path+"[]", s.Items.Schema, found)
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		found["map "+path] = number(s.MaxProperties)
		limitsOf(path+"{}", s.AdditionalProperties.Schema, found)
	}

	for name, property := range maps.All(s.Properties) {
		limitsOf(path+"."+name, &property, found)
	}
}
