package web

import (
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// document is the description of /api/v1, in the form of OpenAPI 3.1.
type document struct {
	OpenAPI    string                       `json:"openapi"`
	Info       map[string]string            `json:"info"`
	Paths      map[string]map[string]anyMap `json:"paths"`
	Components map[string]anyMap            `json:"components"`

	names map[string]reflect.Type // of schemas
}

type anyMap = map[string]any

func newDocument() *document {
	return &document{
		OpenAPI: "3.1.0", Info: map[string]string{"title": "Spark console", "version": "v1"}, Paths: map[string]map[string]anyMap{},
		Components: map[string]anyMap{
			"schemas":         {},
			"securitySchemes": {"token": anyMap{"type": "http", "scheme": "bearer"}},
		},
		names: map[string]reflect.Type{},
	}
}

// placeholder matches a part of a path that varies.
var placeholder = regexp.MustCompile(`\{([a-z]+)\}`)

// add describes a route whose JSON has the type T.
func add[T any](d *document, route Route) {
	d.read("/api/v1"+route.API, route, "application/json", d.schema(reflect.TypeFor[T]()))
}

// read describes a route that answers GET.
func (d *document) read(path string, route Route, kind string, schema anyMap) {
	var parameters []anyMap
	for _, match := range placeholder.FindAllStringSubmatch(path, -1) {
		parameters = append(parameters, anyMap{"name": match[1], "in": "path", "required": true, "schema": anyMap{"type": "string"}})
	}

	for _, name := range slices.Sorted(maps.Keys(route.Parameters)) {
		parameters = append(parameters, anyMap{"name": name, "in": "query", "description": route.Parameters[name], "schema": anyMap{"type": "string"}})
	}

	operation := anyMap{
		"summary":  route.Summary,
		"security": []anyMap{{"token": []string{}}},
		"responses": anyMap{"200": anyMap{
			"description": route.Title, "content": anyMap{kind: anyMap{"schema": schema}},
		}},
	}
	if len(parameters) > 0 {
		operation["parameters"] = parameters
	}

	d.describe(path, "get", operation)
}

// describe adds an operation to those of its path.
func (d *document) describe(path, method string, operation anyMap) {
	if d.Paths[path] == nil {
		d.Paths[path] = map[string]anyMap{}
	}

	d.Paths[path][method] = operation
}

var (
	marshalsJSON = reflect.TypeFor[json.Marshaler]()
	marshalsText = reflect.TypeFor[encoding.TextMarshaler]()
)

// schema returns the schema of the JSON of a type.
func (d *document) schema(t reflect.Type) anyMap {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return anyMap{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[time.Duration]():
		return anyMap{"type": "integer", "format": "int64", "description": "in nanoseconds"}
	case t.Kind() == reflect.Pointer:
		return d.schema(t.Elem())
	case t.Implements(marshalsText), reflect.PointerTo(t).Implements(marshalsText):
		return anyMap{"type": "string"}
	case t.Implements(marshalsJSON), reflect.PointerTo(t).Implements(marshalsJSON):
		return anyMap{} // a quantity or a time of Kubernetes: a text or a number
	}

	switch t.Kind() {
	case reflect.Bool:
		return anyMap{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return anyMap{"type": "number"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return anyMap{"type": "integer"}
	case reflect.Slice, reflect.Array:
		return anyMap{"type": "array", "items": d.schema(t.Elem())}
	case reflect.Map:
		return anyMap{"type": "object", "additionalProperties": d.schema(t.Elem())}
	case reflect.Struct:
		return d.object(t)
	case reflect.Interface:
		return anyMap{}
	}
	return anyMap{"type": "string"}
}

// object returns a reference to the schema of a struct, which it adds if it is new.
func (d *document) object(t reflect.Type) anyMap {
	name := t.Name()
	if name == "" {
		return d.properties(t)
	}

	if known, taken := d.names[name]; taken && known != t {
		name = strings.ReplaceAll(t.String(), ".", "_") // with its package
	}

	if d.names[name] == nil {
		d.names[name] = t
		d.Components["schemas"][name] = d.properties(t)
	}
	return anyMap{"$ref": "#/components/schemas/" + name}
}

// properties returns the schema of a struct.
func (d *document) properties(t reflect.Type) anyMap {
	properties, required := anyMap{}, []string{}
	d.fields(t, properties, &required)
	out := anyMap{"type": "object", "properties": properties}

	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func (d *document) fields(t reflect.Type, properties anyMap, required *[]string) {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")

		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}

		switch {
		case name == "-" || !field.IsExported() && !field.Anonymous:
			continue
		case field.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			d.fields(inner, properties, required)
			continue
		case name == "":
			name = field.Name
		}

		properties[name] = d.schema(field.Type)
		if options == "" {
			*required = append(*required, name)
		}
	}
}
