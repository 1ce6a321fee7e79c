package crd

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// schemaOf returns the schema of one version of a definition, or nil if the definition has no such version.
func schemaOf(crd *apiextensionsv1.CustomResourceDefinition, version string) *apiextensionsv1.JSONSchemaProps {
	for _, v := range crd.Spec.Versions {
		if v.Name == version && v.Schema != nil {
			return v.Schema.OpenAPIV3Schema
		}
	}
	return nil
}

// Gap is one difference that prevents our definition from being a drop-in replacement for another operator's
// definition.
type Gap struct {
	// Path names the property, for example .spec.driver.env[].name. The values of a map are written as {}.
	Path string
	// What describes the difference.
	What string
}

// Gaps compares two definitions of the same kind: another operator's (theirs) and our own (ours). It returns every
// difference that prevents ours from being a drop-in replacement.
//
// Gaps compares the resource names that users type and the columns that kubectl prints by default. For each property
// in theirs, it checks that ours has the property with the same type, and that ours accepts every value that theirs
// accepts. An optional property that exists only in ours is not a gap.
func Gaps(theirs, ours *apiextensionsv1.CustomResourceDefinition) []Gap {
	var gaps []Gap
	differ := func(path string, theirs, ours any) {
		if diff := cmp.Diff(theirs, ours); diff != "" {
			gaps = append(gaps, Gap{path, "differs (-theirs +ours):\n" + diff})
		}
	}
	differ("name", theirs.Name, ours.Name)
	differ("names", theirs.Spec.Names, ours.Spec.Names)
	differ("scope", theirs.Spec.Scope, ours.Spec.Scope)

	for _, v := range theirs.Spec.Versions {
		i := slices.IndexFunc(ours.Spec.Versions, func(o apiextensionsv1.CustomResourceDefinitionVersion) bool { return o.Name == v.Name })
		if i < 0 {
			gaps = append(gaps, Gap{v.Name, "no such version"})
			continue
		}

		o := ours.Spec.Versions[i]
		differ(v.Name+" served", v.Served, o.Served)
		differ(v.Name+" storage", v.Storage, o.Storage)
		differ(v.Name+" columns", v.AdditionalPrinterColumns, narrow(o.AdditionalPrinterColumns))
		differ(v.Name+" subresources", v.Subresources, o.Subresources)

		c := comparison{}
		c.compare("", v.Schema.OpenAPIV3Schema, o.Schema.OpenAPIV3Schema)
		gaps = append(gaps, c.gaps...)
	}
	return gaps
}

// narrow returns the columns that kubectl prints without --output wide.
func narrow(columns []apiextensionsv1.CustomResourceColumnDefinition) (all []apiextensionsv1.CustomResourceColumnDefinition) {
	for _, column := range columns {
		if column.Priority == 0 {
			all = append(all, column)
		}
	}
	return all
}

type comparison struct{ gaps []Gap }

func (c *comparison) found(path, format string, args ...any) {
	c.gaps = append(c.gaps, Gap{path, fmt.Sprintf(format, args...)})
}

func (c *comparison) compare(path string, theirs, ours *apiextensionsv1.JSONSchemaProps) {
	c.kind(path, theirs, ours)
	c.bounds(path, theirs, ours)
	c.lists(path, theirs, ours)

	// A property that our schema does not list is not a gap if the schema preserves unknown fields.
	kept := set(ours.XPreserveUnknownFields)
	for name, property := range theirs.Properties {
		if o, ok := ours.Properties[name]; ok {
			c.compare(path+"."+name, &property, &o)
		} else if !kept {
			c.found(path+"."+name, "missing")
		}
	}

	for _, name := range ours.Required {
		if !slices.Contains(theirs.Required, name) {
			c.found(path+"."+name, "required")
		}
	}

	if theirs.Items != nil && theirs.Items.Schema != nil {
		if ours.Items != nil && ours.Items.Schema != nil {
			c.compare(path+"[]", theirs.Items.Schema, ours.Items.Schema)
		} else {
			c.found(path+"[]", "missing")
		}
	}

	if theirs.AdditionalProperties != nil && theirs.AdditionalProperties.Schema != nil {
		if ours.AdditionalProperties != nil && ours.AdditionalProperties.Schema != nil {
			c.compare(path+"{}", theirs.AdditionalProperties.Schema, ours.AdditionalProperties.Schema)
		} else {
			c.found(path+"{}", "missing")
		}
	}
}

// kind compares the types and formats of a property, and how the schemas treat unknown fields and null.
func (c *comparison) kind(path string, theirs, ours *apiextensionsv1.JSONSchemaProps) {
	if theirs.Type != ours.Type {
		c.found(path, "type %q, theirs %q", ours.Type, theirs.Type)
	}

	if theirs.Format != ours.Format {
		c.found(path, "format %q, theirs %q", ours.Format, theirs.Format)
	}

	if theirs.XIntOrString != ours.XIntOrString {
		c.found(path, "int-or-string %v, theirs %v", ours.XIntOrString, theirs.XIntOrString)
	}

	if set(theirs.XPreserveUnknownFields) && !set(ours.XPreserveUnknownFields) {
		c.found(path, "unknown fields are dropped")
	}

	if theirs.XEmbeddedResource != ours.XEmbeddedResource {
		c.found(path, "embedded resource %v, theirs %v", ours.XEmbeddedResource, theirs.XEmbeddedResource)
	}

	if theirs.Nullable && !ours.Nullable {
		c.found(path, "null is dropped")
	}

	c.values(path, theirs, ours)
}

// values compares the defaults and enumerations of a property, and schemas combined by allOf, anyOf, oneOf and not.
func (c *comparison) values(path string, theirs, ours *apiextensionsv1.JSONSchemaProps) {
	if diff := cmp.Diff(raw(theirs.Default), raw(ours.Default)); diff != "" {
		c.found(path, "default %s, theirs %s", raw(ours.Default), raw(theirs.Default))
	}

	if ours.Enum != nil {
		accepted := texts(ours.Enum)
		for _, v := range texts(theirs.Enum) {
			if !slices.Contains(accepted, v) {
				c.found(path, "refuses %s", v)
			}
		}

		if theirs.Enum == nil {
			c.found(path, "an enumeration, theirs free")
		}
	}
	// Combinations of schemas appear only inside Kubernetes' own types, where ours must equal theirs.
	for name, pair := range map[string][2]any{
		"allOf": {bare(theirs.AllOf), bare(ours.AllOf)}, "oneOf": {bare(theirs.OneOf), bare(ours.OneOf)},
		"anyOf": {bare(theirs.AnyOf), bare(ours.AnyOf)}, "not": {theirs.Not, ours.Not},
	} {
		if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
			c.found(path, "%s differs (-theirs +ours):\n%s", name, diff)
		}
	}
}

// bounds compares the limits of numbers, lengths and sizes.
func (c *comparison) bounds(path string, theirs, ours *apiextensionsv1.JSONSchemaProps) {
	lower := func(name string, theirs, ours *float64) {
		if ours != nil && (theirs == nil || *ours > *theirs) {
			c.found(path, "%s %v", name, *ours)
		}
	}
	upper := func(name string, theirs, ours *float64) {
		if ours != nil && (theirs == nil || *ours < *theirs) {
			c.found(path, "%s %v", name, *ours)
		}
	}
	lower("minimum", theirs.Minimum, ours.Minimum)
	upper("maximum", theirs.Maximum, ours.Maximum)
	lower("minLength", float(theirs.MinLength), float(ours.MinLength))
	upper("maxLength", float(theirs.MaxLength), float(ours.MaxLength))
	lower("minItems", float(theirs.MinItems), float(ours.MinItems))
	upper("maxItems", float(theirs.MaxItems), float(ours.MaxItems))
	lower("minProperties", float(theirs.MinProperties), float(ours.MinProperties))
	upper("maxProperties", float(theirs.MaxProperties), float(ours.MaxProperties))
	c.rules(path, theirs, ours)
}

// rules compares patterns, validation rules and other constraints that are not bounds. Patterns and rules can be
// compared only as text. If the texts differ, rules assumes that ours is stricter.
func (c *comparison) rules(path string, theirs, ours *apiextensionsv1.JSONSchemaProps) {
	if ours.ExclusiveMinimum && !theirs.ExclusiveMinimum || ours.ExclusiveMaximum && !theirs.ExclusiveMaximum {
		c.found(path, "excludes its bounds")
	}

	if ours.MultipleOf != nil {
		c.found(path, "multipleOf %v", *ours.MultipleOf)
	}

	if ours.Pattern != "" && ours.Pattern != theirs.Pattern {
		c.found(path, "pattern %s", ours.Pattern)
	}

	for _, rule := range ours.XValidations {
		if !slices.ContainsFunc(theirs.XValidations, func(r apiextensionsv1.ValidationRule) bool { return r.Rule == rule.Rule }) {
			c.found(path, "rule %s", rule.Rule)
		}
	}
}

// lists compares how lists and maps are merged, and whether lists accept duplicates.
func (c *comparison) lists(path string, theirs, ours *apiextensionsv1.JSONSchemaProps) {
	if diff := cmp.Diff(theirs.XListType, ours.XListType); diff != "" {
		c.found(path, "list type differs (-theirs +ours):\n%s", diff)
	}

	if diff := cmp.Diff(theirs.XListMapKeys, ours.XListMapKeys); diff != "" {
		c.found(path, "list map keys differ (-theirs +ours):\n%s", diff)
	}

	if diff := cmp.Diff(theirs.XMapType, ours.XMapType); diff != "" {
		c.found(path, "map type differs (-theirs +ours):\n%s", diff)
	}

	if ours.UniqueItems && !theirs.UniqueItems {
		c.found(path, "refuses duplicates")
	}
}

func set(b *bool) bool { return b != nil && *b }

func raw(v *apiextensionsv1.JSON) string {
	if v == nil {
		return "none"
	}
	return string(v.Raw)
}

func texts(enum []apiextensionsv1.JSON) []string {
	out := make([]string, 0, len(enum))
	for _, v := range enum {
		out = append(out, strings.TrimSpace(string(v.Raw)))
	}
	return out
}

func float(n *int64) *float64 {
	if n == nil {
		return nil
	}

	f := float64(*n)
	return &f
}

// bare returns schemas as JSON text, so that the method values can compare them.
func bare(schemas []apiextensionsv1.JSONSchemaProps) string {
	out, _ := json.Marshal(schemas) //nolint:errchkjson // a decoded schema can be encoded
	return string(out)
}
