package table

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// path is a field of an object. Each step is the index of a field in a struct (reflect.Value.FieldByIndex).
type path [][]int

// pathOf returns the path with the given JSON names, and the type of the field. It panics if there is no such field,
// because a table is written with the program.
func pathOf(t reflect.Type, names string) (steps path, last reflect.Type) {
	for name := range strings.SplitSeq(names, ".") {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}

		step := stepOf(t, name)
		if step == nil {
			panic("table: " + t.String() + " has no field " + name + " of " + names)
		}

		steps, t = append(steps, step), t.FieldByIndex(step).Type
	}
	return steps, t
}

// stepOf returns the index of the field with a JSON name, also in embedded structs, or nil.
func stepOf(t reflect.Type, name string) []int {
	for f := range t.Fields() {
		switch found, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
		case found == name:
			return f.Index
		case f.Anonymous && found == "":
			if step := stepOf(f.Type, name); step != nil {
				return append(f.Index, step...)
			}
		}
	}
	return nil
}

// in returns the field of an object. If a pointer on the way is nil, in allocates its value, or returns false
// if it may not.
func (p path) in(object reflect.Value, allocate bool) (field reflect.Value, found bool) {
	for _, step := range p {
		for object.Kind() == reflect.Pointer {
			if object.IsNil() && !allocate {
				return reflect.Value{}, false
			}

			if object.IsNil() {
				object.Set(reflect.New(object.Type().Elem()))
			}

			object = object.Elem()
		}

		object = object.FieldByIndex(step)
	}
	return object, true
}

// textOf returns the value of a field as Spark reads it, or "" if the field is not set or has no text.
func textOf(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case []string:
		return strings.Join(value, ",")
	case bool:
		if value {
			return "true"
		}
	case *string:
		if value != nil {
			return *value
		}
	case *bool:
		if value != nil {
			return strconv.FormatBool(*value)
		}
	case *int32:
		if value != nil {
			return strconv.FormatInt(int64(*value), 10)
		}
	}
	return ""
}

// write writes the value of a key into a field, and reports whether it fits.
func write(field reflect.Value, text string) bool {
	switch field := field.Addr().Interface().(type) {
	case **string:
		*field = &text
	case *[]string:
		*field = conf.SplitList(text)
	case **int32:
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return false
		}

		*field = new(int32(n))
	default:
		return false
	}
	return true
}
