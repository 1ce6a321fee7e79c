package podtemplate

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// FromFile converts the text of a pod template's file, JSON or YAML, into JSON, as spark-submit of a version of Spark
// reads the file. It keeps fields that a Pod does not have. It returns JSON unchanged if nothing has to be converted.
//
// Spark's Kubernetes client uses Jackson, which converts a number, a boolean or a text into the type of its field. So
// "value: 8080" and "runAsUser: '185'" are valid. FromFile does the same. A value that cannot be converted, such as
// "tty: maybe", stays unchanged, and Read rejects it.
//
// The text of an error continues a sentence that begins with the name of the file.
func FromFile(data []byte, version string) ([]byte, error) {
	tree, isJSON, err := parseFile(data)
	if err != nil {
		return nil, errors.New(conf.Shorten(err.Error()))
	}

	fields, ok := tree.(map[string]any)
	if !ok {
		return nil, errors.New("contains no pod")
	}

	c := converter{old: strings.HasPrefix(version, "3.")}
	c.fields(fields, reflect.TypeFor[corev1.Pod]())

	if isJSON && !c.changed {
		return data, nil
	}
	return json.Marshal(fields)
}

// parseFile parses JSON or YAML. Numbers are of type json.Number. Text that begins with a brace may be YAML too.
func parseFile(data []byte) (tree any, isJSON bool, err error) {
	if err := CheckYAML(data); err != nil {
		return nil, false, err
	}

	if !json.Valid(data) {
		tree, err = parseYAML(data)
		return tree, false, err
	}

	if err := checkDepth(data); err != nil {
		return nil, true, err
	}
	// The decoder keeps one of two equal names, so nobody could notice them later.
	if fault := bounds.Check(data, bounds.RawShape[corev1.Pod](), ""); fault != nil {
		return nil, true, fault
	}

	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	err = decoder.Decode(&tree)
	return tree, true, err
}

var quantityType = reflect.TypeFor[resource.Quantity]()

// converter converts the scalars of a tree to the types of their fields.
type converter struct {
	// old is true for Spark 3.5, whose Kubernetes client reads integers in another way.
	old bool
	// changed is true if the tree is no longer the parsed text.
	changed bool
}

// fields converts the values of an object whose Go type is t, in place.
func (c *converter) fields(fields map[string]any, t reflect.Type) {
	for key, value := range fields {
		if field, known := fieldType(t, key); known {
			fields[key] = c.value(value, field, key)
		}
	}
}

// value returns the given value, converted to the field type t. It converts objects and lists in place. The argument
// name is the name of the field.
func (c *converter) value(value any, t reflect.Type, name string) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}

	switch value := value.(type) {
	case map[string]any:
		c.fields(value, t)
		return value
	case []any:
		if t.Kind() == reflect.Slice {
			for i, element := range value {
				value[i] = c.value(element, t.Elem(), name)
			}
		}
		return value
	}

	converted := c.scalar(value, t, name)
	c.changed = c.changed || converted != value
	return converted
}

// scalar returns a text, a number or a boolean, converted to the field type t. It returns a value unchanged if it
// cannot be converted.
func (c *converter) scalar(value any, t reflect.Type, name string) any {
	switch {
	case t == quantityType:
		return asText(value)
	case reflect.PointerTo(t).Implements(unmarshaler):
	case t.Kind() == reflect.String:
		return asText(value)
	case t.Kind() == reflect.Bool:
		return asBool(value)
	case t.Kind() == reflect.Int32 || t.Kind() == reflect.Int64:
		return c.asInteger(value, t.Kind() == reflect.Int64, name)
	}
	return value
}

// asText returns the text of a number or a boolean (com.fasterxml.jackson.databind.deser.std.StringDeserializer).
func asText(value any) any {
	switch value := value.(type) {
	case json.Number:
		return value.String()
	case bool:
		return strconv.FormatBool(value)
	}
	return value
}

// asBool returns the boolean that a text or a whole number stands for (StdDeserializer._parseBoolean).
func asBool(value any) any {
	switch value := value.(type) {
	case string:
		switch trimmed(value) {
		case "true", "True", "TRUE":
			return true
		case "false", "False", "FALSE":
			return false
		case "":
			return nil
		}
	case json.Number:
		if wholeNumber.MatchString(value.String()) {
			return value != "0" && value != "-0"
		}
	}
	return value
}

// octal matches a mode of files that Spark 4 reads as octal.
var octal = regexp.MustCompile(`^0[oO]?([0-7]+)$`)

// asInteger returns the whole number that a value stands for (StdDeserializer._parseInteger and _parseLong). It cuts
// off the fraction of a number, except if the field has 32 bits and Spark is newer than 3.5: then Spark rejects the
// number, as Read does.
//
// From 4.0 on, modes of files may be octal (io.fabric8.kubernetes.model.jackson.GoIntegerDeserializer). Modes with a
// sign, with blanks, or with a zero before other digits stay text, which Read rejects, because the releases disagree.
func (c *converter) asInteger(value any, long bool, name string) any {
	text, ok := value.(string)
	if !ok {
		number, _ := value.(json.Number)
		if f, err := number.Float64(); err == nil && f != math.Trunc(f) && (long || c.old && math.Abs(f) <= math.MaxInt32) {
			return json.Number(strconv.FormatInt(int64(f), 10))
		}
		return value
	}

	base := 10
	if !c.old && (name == "mode" || name == "defaultMode") {
		if found := octal.FindStringSubmatch(text); found != nil {
			text, base = found[1], 8
		} else if !wholeNumber.MatchString(text) {
			return value
		}
	}

	if text = trimmed(text); text == "" {
		return nil
	}

	if n, err := strconv.ParseInt(text, base, 64); err == nil {
		return json.Number(strconv.FormatInt(n, 10))
	}
	return value
}

// trimmed returns a text without the characters at both ends that java.lang.String.trim removes.
func trimmed(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
}
