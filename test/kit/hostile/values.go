package hostile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/sparkoperator/spark-operator/test/kit/crdfields"
	"github.com/sparkoperator/spark-operator/test/kit/patterns"
)

// style describes how the items of a list or the values of a map are filled.
type style string

const (
	// bare items are equal and set only the fields that the schema requires, so that the most items fit into a size.
	bare style = "bare"
	// distinct items have different names, keys, ports and paths, so that no code merges them.
	distinct style = "distinct"
	// fat items set every field.
	fat style = "fat"
)

// identities contains the fields by which Kubernetes and Spark distinguish the items of a list.
var identities = []string{
	"name", "key", "mountPath", "containerPort", "port", "ip", "topologyKey", "value", "path", "host", "secretName", "secretType",
	"devicePath", "uid", "servicePort", "type", "prefix", "hostnames",
}

// filler returns a value that a schema accepts. The style determines how large the value is. It also determines whether
// calls with different values of i return different values.
func filler(s *Schema, name string, i int, how style, depth int) any {
	switch {
	case len(s.Enum) > 0:
		return enumValue(s, i)
	case crdfields.IsQuantity(s):
		if strings.Contains(strings.ToLower(name), "port") {
			return 1 + i%65535
		}
		return "1"
	}

	switch s.Type {
	case "boolean":
		return true
	case "integer", "number":
		return integer(s, i)
	case "string":
		return word(s, name, i, how)
	case "array":
		if how == bare || depth > 6 || s.Items == nil || s.Items.Schema == nil {
			return []any{}
		}
		return []any{filler(s.Items.Schema, name, i, how, depth+1)}
	}
	return objectFiller(s, i, how, depth)
}

func objectFiller(s *Schema, i int, how style, depth int) map[string]any {
	out := map[string]any{}
	if depth > 8 {
		return out
	}

	for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[key]

		needed := slices.Contains(s.Required, key)
		if how == fat || needed || how == distinct && slices.Contains(identities, key) {
			out[key] = filler(&property, key, i, how, depth+1)
		}
	}

	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil && how != bare {
		out["k"+strconv.Itoa(i)] = filler(s.AdditionalProperties.Schema, "value", i, how, depth+1)
	}
	return out
}

func enumValue(s *Schema, i int) any {
	var value any
	if err := json.Unmarshal(s.Enum[i%len(s.Enum)].Raw, &value); err != nil {
		panic(err)
	}
	return value
}

// integer returns a number that a schema accepts. Different values of i lead to different numbers, if the range of the
// schema is wide enough.
func integer(s *Schema, i int) any {
	least, most := int64(1), int64(65535)
	if s.Minimum != nil {
		least = max(least, int64(*s.Minimum))
	}

	if s.Maximum != nil {
		most = min(most, int64(*s.Maximum))
	}
	return least + int64(i)%max(most-least+1, 1)
}

// word returns a short string that a schema accepts. Different values of i lead to different strings if the schema
// allows that, except in the style bare.
func word(s *Schema, name string, i int, how style) string {
	n := strconv.Itoa(i)
	if how == bare {
		n = ""
	}

	tries := []string{"n" + n, "1", "a"}
	switch {
	case strings.Contains(strings.ToLower(name), "path"):
		tries = append([]string{"/n" + n}, tries...)
	case name == "ip" || strings.HasSuffix(name, "IP") || strings.HasSuffix(name, "IPs"):
		tries = append([]string{fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255)}, tries...)
	case s.Format == "date-time":
		tries = []string{"2020-01-01T00:00:00Z", "2020-01-01T00:00:00.000000Z"}
	case s.Format == "byte":
		tries = []string{"AAAA"}
	}

	if s.Pattern != "" {
		tries = append(tries, patterns.Longest(s.Pattern, 12))
	}

	for _, text := range tries {
		if admits(s, text) {
			return text
		}
	}
	return tries[0]
}

// Worst is one of the worst values of a field, with its description.
type Worst struct {
	Name  string
	Value func() any
}

// admits reports whether the schema of a string accepts a text.
func admits(s *Schema, text string) bool {
	switch {
	case s.MaxLength != nil && int64(len([]rune(text))) > *s.MaxLength, s.MinLength != nil && int64(len(text)) < *s.MinLength:
		return false
	case len(s.Enum) > 0:
		return slices.ContainsFunc(s.Enum, func(value apiextensionsv1.JSON) bool { return string(value.Raw) == strconv.Quote(text) })
	}
	return s.Pattern == "" || patterns.Matches(s.Pattern, text)
}

// scalars returns the worst values that the schema of a scalar field accepts.
func scalars(f *Field, size int) []Worst {
	s := f.Schema
	switch {
	case s.Type == "boolean":
		return []Worst{{"true", value(true)}, {"false", value(false)}}
	case crdfields.IsQuantity(s):
		return slices.Concat(numbers(s), strs(s, quantities(size)))
	case s.Type == "integer" || s.Type == "number":
		return numbers(s)
	case s.Type == "string":
		if len(s.Enum) > 0 {
			var all []Worst
			for i := range s.Enum {
				all = append(all, Worst{fmt.Sprint(enumValue(s, i)), value(enumValue(s, i))})
			}
			return all
		}
		return strs(s, texts(f.Typed, size))
	}
	return nil
}

func value(v any) func() any { return func() any { return v } }

// numbers returns the largest and the smallest integer that a schema accepts.
func numbers(s *Schema) []Worst {
	least, most := int64(-1<<63), int64(1<<63-1)
	if s.Format == "int32" || crdfields.IsQuantity(s) {
		least, most = -1<<31, 1<<31-1
	}

	if s.Minimum != nil {
		least = max(least, int64(*s.Minimum))
	}

	if s.Maximum != nil && *s.Maximum < float64(most) {
		most = int64(*s.Maximum)
	}
	return []Worst{{"largest", value(most)}, {"smallest", value(least)}}
}

// strs returns those of the given texts that a schema accepts, after it has shortened them to the schema's maximum
// length. If the schema has a pattern, strs adds the longest texts that match it.
func strs(s *Schema, all []text) []Worst {
	var out []Worst
	for _, t := range all {
		size := t.size
		if s.MaxLength != nil {
			size = min(size, int(*s.MaxLength))
		}

		if size < t.least || s.Pattern != "" && !admits(s, t.make(size)) {
			continue
		}

		out = append(out, Worst{fmt.Sprintf("%s (%d)", t.name, size), func() any { return t.make(size) }})
	}

	if s.Pattern == "" {
		return out
	}

	for _, size := range []int{64, 256 << 10} {
		if s.MaxLength != nil {
			size = min(size, int(*s.MaxLength))
		}

		if text := patterns.Longest(s.Pattern, size); text != "" && admits(s, text) {
			out = append(out, Worst{fmt.Sprintf("longest of pattern (%d)", len(text)), value(text)})
		}
	}
	return out
}
