// Package admission lets tests check objects against a custom resource definition as an API server does.
//
// The package runs the API server's own code (k8s.io/apiextensions-apiserver) in the test's process, so that a check
// takes microseconds. It is not a part of package crd because that code makes a test's binary three times as large.
package admission

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/sparkoperator/spark-operator/test/kit/crd"
)

// Schema validates objects against one version of a definition.
type Schema struct {
	structural *schema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
}

// schemas contains the schemas of our definitions, by the file name and version.
var schemas sync.Map

// Ours returns the schema of a version of our definition in a file.
func Ours(t testing.TB, file, version string) *Schema {
	t.Helper()

	found, ok := schemas.Load(file + version)
	if !ok {
		found, _ = schemas.LoadOrStore(file+version, Of(t, crd.Ours(t, file), version))
	}
	return found.(*Schema)
}

// Of returns the schema of a version of a definition. Package definition checks whether a definition is valid.
func Of(t testing.TB, definition *apiextensionsv1.CustomResourceDefinition, version string) *Schema {
	t.Helper()

	schema, err := newSchema(definition, version)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func newSchema(definition *apiextensionsv1.CustomResourceDefinition, version string) (*Schema, error) {
	definition = definition.DeepCopy()
	apiextensionsv1.SetDefaults_CustomResourceDefinition(definition)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&definition.Spec)

	var internal apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(definition, &internal, nil); err != nil {
		return nil, err
	}

	versionSchema, err := apiextensions.GetSchemaForVersion(&internal, version)
	if err != nil {
		return nil, err
	}

	structural, err := schema.NewStructural(versionSchema.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}

	validator, _, err := validation.NewSchemaValidator(versionSchema.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	return &Schema{
		structural: structural,
		validator:  validator,
		rules:      cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}, nil
}

// Admit processes a JSON object as an API server does on creation: it drops unknown fields, sets defaults and
// validates. It returns the object that would be stored, and the reasons for a rejection, if there are any.
func (s *Schema) Admit(object []byte) (map[string]any, field.ErrorList) {
	var obj map[string]any
	if err := utiljson.Unmarshal(object, &obj); err != nil {
		return nil, field.ErrorList{field.Invalid(nil, string(object), err.Error())}
	}

	pruning.Prune(obj, s.structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, s.structural)
	defaulting.Default(obj, s.structural)

	ctx := context.Background()
	errs := validation.ValidateCustomResource(nil, obj, s.validator)
	errs = append(errs, objectmeta.Validate(ctx, nil, obj, s.structural, false)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, obj)...)
	// As in the API server, validation rules run only on objects that are otherwise valid, because rules read fields by
	// their declared types.
	if len(errs) == 0 {
		broken, _ := s.rules.Validate(ctx, nil, s.structural, obj, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, broken...)
	}
	return obj, errs
}

// Faults returns the errors with which the API server would reject the creation of an object. The argument file is the
// name of one of our definition files, and version is one of the versions in it.
func Faults(t testing.TB, file, version string, object any) field.ErrorList {
	t.Helper()

	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}

	_, errs := Ours(t, file, version).Admit(text)
	return errs
}
