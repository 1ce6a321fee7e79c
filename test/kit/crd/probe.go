package crd

import (
	"iter"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Probes returns objects that test which values a version of a definition accepts. Each object sets one property, at
// any depth, to a value on which Go types are known to fail: a number beyond int32 or int64, an odd quantity or time,
// or null. Other properties are set only if they are required, and to plain values. The definition should reject many
// of these objects. Schema.Admit reports whether it rejects an object.
//
// The Go type must be able to decode every accepted object, because a typed client's watch ends at the first object
// that it cannot decode.
func Probes(crd *apiextensionsv1.CustomResourceDefinition, version string) iter.Seq2[string, map[string]any] {
	return objects(crd, version, func(part string) iter.Seq2[string, any] {
		property := schemaOf(crd, version).Properties[part]
		return (&Comparison{}).probes("."+part, &property, nil)
	})
}

// objects returns an object of a definition for each value of its spec and of its status.
func objects(crd *apiextensionsv1.CustomResourceDefinition, version string, values func(part string) iter.Seq2[string, any]) iter.Seq2[string, map[string]any] {
	return func(yield func(string, map[string]any) bool) {
		kind := map[string]any{
			"apiVersion": crd.Spec.Group + "/" + version, "kind": crd.Spec.Names.Kind,
			"metadata": map[string]any{"name": "probe", "namespace": "default"},
		}
		for _, part := range []string{"spec", "status"} {
			for path, value := range values(part) {
				obj, _ := sample(schemaOf(crd, version)).(map[string]any)
				maps.Copy(obj, kind)

				obj[part] = value
				if !yield(path, obj) {
					return
				}
			}
		}
	}
}

// probes returns the probe values for a schema, and for its properties and items at any depth. The argument other is
// the counterpart of the schema; nil without a comparison.
func (c *Comparison) probes(path string, s *apiextensionsv1.JSONSchemaProps, other counterpart) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, v := range leaves(s) {
			if !yield(path, v) {
				return
			}
		}

		at := c.pairOf(s, other)
		if values, done := c.inside[at]; done {
			c.Repeated += values
			return
		}

		values := -c.Repeated
		for path, value := range c.inner(path, s, other) {
			if !yield(path, value) {
				return
			}
			values++
		}

		if at != (pair{}) {
			c.inside[at] = values + c.Repeated
		}
	}
}

// inner returns the values of probes that have a value of a property or an item.
func (c *Comparison) inner(path string, s *apiextensionsv1.JSONSchemaProps, other counterpart) iter.Seq2[string, any] {
	if other == nil {
		other = unknown{}
	}

	return func(yield func(string, any) bool) {
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			schema := s.Properties[name]
			for at, value := range c.probes(path+"."+name, &schema, other.property(name)) {
				obj, _ := sample(s).(map[string]any)

				obj[name] = value
				if !yield(at, obj) {
					return
				}
			}
		}

		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			for at, value := range c.probes(path+"{}", s.AdditionalProperties.Schema, other.property("")) {
				if !yield(at, map[string]any{"key": value}) {
					return
				}
			}
		}

		if s.Items != nil && s.Items.Schema != nil {
			for at, value := range c.probes(path+"[]", s.Items.Schema, other.item()) {
				if !yield(at, []any{value}) {
					return
				}
			}
		}
	}
}

var (
	integers = []any{
		int64(0), int64(1), int64(-1), int64(math.MaxInt32), int64(math.MaxInt32) + 1, int64(math.MinInt32) - 1,
		int64(math.MaxInt64), int64(math.MinInt64), 9.3e18, 1e30, 2.0, 1.5,
	}
	strange = []any{
		"", "a", " ", "1", "1.5", "é\u0000", strings.Repeat("x", 300),
		// Quantities.
		"1Ki", "1e3", "1e1.5", "1E-3", ".5", "5.", "1e99999", "1e99999999999", "0.0000000000001", "99999999999999999999999Ei", "+1", "-1",
		"1e2000000000", "1E-2000000000", "1234567890123456789012e2000000000", "1e0000000000000000099", strings.Repeat("1", 100), strings.Repeat("1", 100) + "Ki",
		// Times.
		"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456789+01:00", "2026-01-02t03:04:05z", "2026-01-02T03:04:05", "2026-01-02 03:04:05",
		"2026-02-30T03:04:05Z", "0000-01-01T00:00:00Z", "2026-01-02T23:59:60Z", "2026-01-02T24:00:00Z", "2026-01-02T03:04:05+24:00", "AAAA",
	}
)

// leaves returns the probe values for a schema itself, without the probe values for its properties and items.
func leaves(s *apiextensionsv1.JSONSchemaProps) []any {
	out := []any{nil, sample(s)}
	switch {
	case s.XIntOrString:
		out = append(append(out, integers...), strange...)
	case set(s.XPreserveUnknownFields):
		out = append(out, map[string]any{"spec": "not a pod", "n": 1e300})
	case s.Type == "integer" || s.Type == "number":
		out = append(out, integers...)
	case s.Type == "string" && (s.Format != "" || s.Pattern != ""):
		out = append(out, strange...)
	case s.Type == "string":
		out = append(out, "", "é\u0000")
	case s.Type == "boolean":
		out = append(out, true, false)
	case s.Type == "array":
		out = append(out, []any{})
	case s.Type == "object":
		out = append(out, map[string]any{})
	}

	for _, v := range s.Enum {
		out = append(out, strings.Trim(string(v.Raw), `"`))
	}
	return out
}

// sample returns a plain value that a schema accepts. It sets only required properties.
func sample(s *apiextensionsv1.JSONSchemaProps) any {
	switch {
	case len(s.Enum) > 0:
		return strings.Trim(string(s.Enum[0].Raw), `"`)
	case s.XIntOrString:
		return "1"
	case s.Type == "integer" || s.Type == "number":
		if s.Minimum != nil {
			return int64(*s.Minimum)
		}
		return int64(1)
	case s.Type == "string":
		return sampleText(s)
	case s.Type == "boolean":
		return true
	case s.Type == "array":
		return []any{}
	}

	obj := map[string]any{}
	for _, name := range s.Required {
		property := s.Properties[name]
		obj[name] = sample(&property)
	}
	return obj
}

func sampleText(s *apiextensionsv1.JSONSchemaProps) string {
	candidates := []string{"a", "1", "A"}
	if s.Format == "date-time" {
		candidates = []string{"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000000Z"}
	}

	if pattern, err := regexp.Compile(s.Pattern); err == nil && s.Pattern != "" {
		for _, candidate := range candidates {
			if pattern.MatchString(candidate) {
				return candidate
			}
		}
	}
	return candidates[0]
}
