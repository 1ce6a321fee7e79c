// Package crdfields reads our custom resource definitions and lists every field that they accept, with the field's
// schema. For a field whose schema accepts anything, it also lists the fields of the Go type into which the operator
// decodes the field.
package crdfields

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"
)

// Schema is the OpenAPI schema of a field. It determines which values the API server accepts.
type Schema = apiextensionsv1.JSONSchemaProps

// Definition is one version of one custom resource definition.
type Definition struct {
	APIVersion string
	Kind       string
	// Stored is the API version in which the operator receives every object. A conversion changes nothing but the API
	// version.
	Stored string
	Schema *Schema
	fields []*Field
	opaque []string
}

// Name returns a short unique name, such as "sparkoperator/v1beta2.SparkApplication".
func (d *Definition) Name() string {
	group, version, _ := strings.Cut(d.APIVersion, "/")
	first, _, _ := strings.Cut(group, ".")
	return first + "/" + version + "." + d.Kind
}

// Definitions reads every version of every definition in a folder, in the order of the file names. Of several versions
// with the same schema, it returns only the first, because the operator receives their objects as the same JSON.
func Definitions(folder string) ([]*Definition, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}

	slices.Sort(files)

	var all []*Definition
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}

		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}

		for i := range crd.Spec.Versions {
			version := &crd.Spec.Versions[i]
			schema := version.Schema.OpenAPIV3Schema
			schema.Properties["metadata"] = metadataSchema()

			d := &Definition{APIVersion: crd.Spec.Group + "/" + version.Name, Kind: crd.Spec.Names.Kind, Stored: storedVersion(&crd), Schema: schema}
			if same := func(other *Definition) bool {
				return other.Stored == d.Stored && other.Kind == d.Kind && reflect.DeepEqual(other.Schema, schema)
			}; !slices.ContainsFunc(all, same) {
				all = append(all, d)
			}
		}
	}

	for _, d := range all {
		d.walk()
	}
	return all, nil
}

func storedVersion(crd *apiextensionsv1.CustomResourceDefinition) string {
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Storage {
			return crd.Spec.Group + "/" + crd.Spec.Versions[i].Name
		}
	}
	return ""
}

// metadataSchema returns the schema of the metadata fields that a user may set. The API server limits names, and the
// keys and values of labels. It limits the annotations of one object to 256 KiB in total.
func metadataSchema() Schema {
	word := Schema{Type: "string", MaxLength: new(int64(63)), Pattern: `^[a-z0-9]+$`}
	text := Schema{Type: "string"}
	mapOf := func(value Schema) Schema {
		return Schema{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &value}}
	}
	owner := Schema{Type: "object", Required: []string{"apiVersion", "kind", "name", "uid"}, Properties: map[string]Schema{
		"apiVersion": text, "kind": text, "name": text, "uid": text, "controller": {Type: "boolean"}, "blockOwnerDeletion": {Type: "boolean"},
	}}
	finalizer := Schema{Type: "string", Pattern: `^[a-z0-9]+[.]io/[a-z0-9]+$`, MaxLength: new(int64(63))}
	return Schema{Type: "object", Properties: map[string]Schema{
		"labels": mapOf(word), "annotations": mapOf(Schema{Type: "string", MaxLength: new(int64(250 << 10))}),
		"ownerReferences": {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &owner}},
		"finalizers":      {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &finalizer}},
	}}
}

// raw maps the last name in a raw field's path to the Go type into which the operator decodes the field. A raw field is
// a field whose schema accepts anything.
var raw = map[string]reflect.Type{
	"template":                    reflect.TypeFor[corev1.PodTemplateSpec](),
	"podTemplateSpec":             reflect.TypeFor[corev1.PodTemplateSpec](),
	"statefulSetSpec":             reflect.TypeFor[appsv1.StatefulSetSpec](),
	"serviceSpec":                 reflect.TypeFor[corev1.ServiceSpec](),
	"ingressSpec":                 reflect.TypeFor[networkingv1.IngressSpec](),
	"horizontalPodAutoscalerSpec": reflect.TypeFor[autoscalingv2.HorizontalPodAutoscalerSpec](),
	"httpRouteSpec":               reflect.TypeFor[gatewayv1.HTTPRouteSpec](),
	"grpcRouteSpec":               reflect.TypeFor[gatewayv1.GRPCRouteSpec](),
	"lastObservedDriverStatus":    reflect.TypeFor[corev1.PodStatus](),
}

// IsRaw reports whether a schema accepts arbitrary fields and lists none.
func IsRaw(s *Schema) bool {
	return s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields && len(s.Properties) == 0
}

// schemaOf returns a schema of the JSON that Kubernetes decodes into a Go type. The schema contains types, but no
// limits such as maxLength.
func schemaOf(t reflect.Type, depth int) Schema {
	switch t {
	case reflect.TypeFor[resource.Quantity](), reflect.TypeFor[intstr.IntOrString]():
		return Schema{XIntOrString: true}
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return Schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[metav1.Duration]():
		return Schema{Type: "string"}
	case reflect.TypeFor[runtime.RawExtension](), reflect.TypeFor[metav1.FieldsV1]():
		return Schema{Type: "object", XPreserveUnknownFields: new(true)}
	}

	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem(), depth)
	case reflect.String:
		return Schema{Type: "string"}
	case reflect.Bool:
		return Schema{Type: "boolean"}
	case reflect.Int32:
		return Schema{Type: "integer", Format: "int32"}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return Schema{Type: "integer", Format: "int64"}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return Schema{Type: "string", Format: "byte"}
		}

		items := schemaOf(t.Elem(), depth+1)
		return Schema{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &items}}
	case reflect.Map:
		value := schemaOf(t.Elem(), depth+1)
		return Schema{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &value}}
	case reflect.Struct:
		return structSchema(t, depth)
	}
	return Schema{Type: "object", XPreserveUnknownFields: new(true)}
}

// maxDepth is the nesting at which schemaOf stops. No Kubernetes type is nested more deeply.
const maxDepth = 16

func structSchema(t reflect.Type, depth int) Schema {
	out := Schema{Type: "object", Properties: map[string]Schema{}}
	if depth > maxDepth {
		return out
	}

	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || name == "managedFields" || name == "status":
		case name == "" && field.Anonymous:
			maps.Copy(out.Properties, structSchema(field.Type, depth).Properties)
		case name != "":
			out.Properties[name] = schemaOf(field.Type, depth+1)
		}
	}
	return out
}
