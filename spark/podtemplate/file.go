package podtemplate

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sparkoperator/spark-operator/bounds"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// FromFile converts the text of a pod template's file, JSON or YAML, into JSON, as spark-submit reads the file. It
// keeps fields that a Pod does not have. It returns JSON unchanged if nothing has to be converted.
//
// Spark's Kubernetes client uses Jackson, which converts a number, a boolean or a text into the type of its field. So
// "value: 8080" and "runAsUser: '185'" are valid. FromFile does the same. A value that cannot be converted, such as
// "tty: maybe", stays unchanged, and Read rejects it.
//
// The text of an error continues a sentence that begins with the name of the file.
func FromFile(data []byte) ([]byte, error) {
	tree, isJSON, err := parseFile(data)
	if err != nil {
		return nil, errors.New(conf.Shorten(err.Error()))
	}
	fields, ok := tree.(map[string]any)
	if !ok {
		return nil, errors.New("contains no pod")
	}
	c := converter{}
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
	// changed is true if the tree is no longer the parsed text.
	changed bool
}

// fields converts the values of an object whose Go type is t, in place.
func (c *converter) fields(fields map[string]any, t reflect.Type) {
	for key, value := range fields {
		if field, known := fieldType(t, key); known {
			fields[key] = c.value(value, field)
		}
	}
}

// value returns the given value, converted to the field type t. It converts objects and lists in place.
func (c *converter) value(value any, t reflect.Type) any {
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
				value[i] = c.value(element, t.Elem())
			}
		}
		return value
	}
	converted := scalar(value, t)
	c.changed = c.changed || converted != value
	return converted
}

// scalar returns a text, a number or a boolean, converted to the field type t. It returns a value unchanged if it
// cannot be converted.
func scalar(value any, t reflect.Type) any {
	switch {
	case t == quantityType:
		return asText(value)
	case reflect.PointerTo(t).Implements(unmarshaler):
	case t.Kind() == reflect.String:
		return asText(value)
	case t.Kind() == reflect.Bool:
		return asBool(value)
	case t.Kind() == reflect.Int32 || t.Kind() == reflect.Int64:
		return asInteger(value)
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

// asInteger returns the whole number that a text stands for (StdDeserializer._parseInteger and _parseLong). asInteger
// does not convert a number with a fraction, and Read rejects it, as Spark does from 4.0 on. Spark 3.5 cuts off the
// fraction.
func asInteger(value any) any {
	text, ok := value.(string)
	if !ok {
		return value
	}
	if text = trimmed(text); text == "" {
		return nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return json.Number(strconv.FormatInt(n, 10))
	}
	return value
}

// trimmed returns a text without the characters at both ends that java.lang.String.trim removes.
func trimmed(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
}
