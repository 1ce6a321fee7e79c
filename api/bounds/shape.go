package bounds

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sort classifies values. All values of a sort have the same kind of limit, such as a number of items.
type sort uint8

const (
	anything sort = iota // a value of unknown type, or of a type that has no limits
	text
	quantity
	list   // a list with items of the shape elem
	table  // a map from keys that users choose to values of the shape elem
	object // an object with the fields of a struct
	integer
	boolean
)

// Shape describes a Go type into which a JSON value is decoded. It contains only what the checks of the limits need. It
// is derived from the type once and never changed.
type Shape struct {
	sort   sort
	fields map[string]*member
	elem   *Shape
	max    int // the maximum number of characters of a text (0: no maximum), or the bits of an integer
}

// member is a field of an object.
type member struct {
	shape *Shape
	max   int  // the field's own limit of items, entries or characters; 0: the general limit of the sort
	raw   bool // kept as raw JSON and decoded later, into the type that shape describes
}

// Tag is the key of struct tags that add limits to a field:
//
//	max=20               how many items, entries or characters it may have
//	as=PodTemplateSpec   the type in rawTypes that its raw JSON is decoded into later
const Tag = "bounds"

// rawTypes contains the Go types of fields that are first kept as raw JSON and decoded later. The keys are the names in
// struct tags (see Tag).
var rawTypes = map[string]reflect.Type{
	"Pod":                         reflect.TypeFor[corev1.Pod](),
	"PodTemplateSpec":             reflect.TypeFor[corev1.PodTemplateSpec](),
	"PodStatus":                   reflect.TypeFor[corev1.PodStatus](),
	"StatefulSetSpec":             reflect.TypeFor[appsv1.StatefulSetSpec](),
	"ServiceSpec":                 reflect.TypeFor[corev1.ServiceSpec](),
	"IngressSpec":                 reflect.TypeFor[networkingv1.IngressSpec](),
	"HorizontalPodAutoscalerSpec": reflect.TypeFor[autoscalingv2.HorizontalPodAutoscalerSpec](),
}

var (
	anyShape      = &Shape{sort: anything}
	booleanShape  = &Shape{sort: boolean}
	textShape     = &Shape{sort: text}
	quantityShape = &Shape{sort: quantity}
	parsedShape   = &Shape{sort: text, max: MaxParsed}
)

// parsed contains types with an UnmarshalJSON method that parses a text, such as a time. If the text is invalid, the
// error of this method quotes the whole text. Therefore the limit MaxParsed applies to the text.
var parsed = map[reflect.Type]bool{
	reflect.TypeFor[metav1.Time](): true, reflect.TypeFor[metav1.MicroTime](): true, reflect.TypeFor[metav1.Duration](): true,
}

// shapes maps Go types to their shapes. It contains a type before its fields are derived, so that deriving a recursive
// type ends.
type shapes map[reflect.Type]*Shape

// derived contains all shapes that were derived so far. Shapes are derived only while package-level variables are
// initialized, so derived does not change later.
var derived = shapes{}

// RawShape returns the shape of a type that rawTypes contains. It panics for other types.
func RawShape[T any]() *Shape {
	shape := raw[reflect.TypeFor[T]()]
	if shape == nil {
		panic(fmt.Sprintf("bounds: %s is not one of the raw types", reflect.TypeFor[T]()))
	}
	return shape
}

// raw contains the shapes of all types in rawTypes.
var raw = func() map[reflect.Type]*Shape {
	found := map[reflect.Type]*Shape{}
	for _, t := range rawTypes {
		found[t] = derived.shapeOf(t)
	}
	return found
}()

// ShapeOf returns the shape of a type. It may be called only to initialize package-level variables, because it is not
// safe for concurrent use. It panics if a Tag is invalid.
func ShapeOf[T any]() *Shape { return derived.shapeOf(reflect.TypeFor[T]()) }

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func (all shapes) shapeOf(t reflect.Type) *Shape {
	if t.Kind() == reflect.Pointer {
		return all.shapeOf(t.Elem())
	}

	switch {
	case t == reflect.TypeFor[resource.Quantity]():
		return quantityShape
	case parsed[t]:
		return parsedShape
	case reflect.PointerTo(t).Implements(unmarshaler):
		return anyShape
	case all[t] != nil:
		return all[t]
	}

	shape := &Shape{}
	switch t.Kind() {
	case reflect.String:
		return textShape
	case reflect.Bool:
		return booleanShape
	case reflect.Int32, reflect.Int64:
		return &Shape{sort: integer, max: t.Bits()}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 { // encoding/json encodes []byte as text
			return textShape
		}

		all[t], shape.sort = shape, list
		shape.elem = all.shapeOf(t.Elem())
	case reflect.Map:
		all[t], shape.sort = shape, table
		shape.elem = all.shapeOf(t.Elem())
	case reflect.Struct:
		all[t], shape.sort, shape.fields = shape, object, map[string]*member{}
		all.fields(t, shape.fields)
	default:
		return anyShape
	}
	return shape
}

// fields finds the fields of a struct that encoding/json decodes, and adds them to members under their JSON names. A
// field of an embedded struct counts as a field of the outer struct.
func (all shapes) fields(t reflect.Type, members map[string]*member) {
	for f := range t.Fields() {
		tag := f.Tag.Get("json")

		name, _, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-" || !f.IsExported() && !f.Anonymous:
			continue
		case f.Anonymous && name == "":
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}

			if inner.Kind() == reflect.Struct {
				all.fields(inner, members)
				continue
			}
		}

		if name == "" {
			name = f.Name
		}

		m := &member{shape: all.shapeOf(f.Type)}
		if err := all.tagged(m, f.Tag.Get(Tag)); err != nil {
			panic(fmt.Sprintf("bounds: %s.%s: %v", t, f.Name, err))
		}

		members[name] = m
	}
}

// tagged changes a member according to the struct tag of its field (see Tag).
func (all shapes) tagged(m *member, tag string) error {
	if tag == "" {
		return nil
	}

	for word := range strings.SplitSeq(tag, ",") {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "max":
			most, err := strconv.Atoi(value)
			if err != nil || most <= 0 {
				return fmt.Errorf("max=%s is no limit", value)
			}

			m.max = most
		case "as":
			t := rawTypes[value]
			if t == nil {
				return fmt.Errorf("no raw type is called %q", value)
			}

			m.shape, m.raw = all.shapeOf(t), true
		default:
			return fmt.Errorf("unknown word %q", word)
		}
	}
	return nil
}
