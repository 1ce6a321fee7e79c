// Package admission lets tests check objects against a custom resource definition as an API server does.
//
// The package runs the API server's own code (k8s.io/apiextensions-apiserver) in the test's process, so that a check
// takes microseconds. It is not a part of package crd because that code makes a test's binary three times as large.
package admission

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	definition "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// Schema validates objects against one version of a definition.
type Schema struct {
	structural *schema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
}

// NewSchema returns the schema of a version of a definition. It returns an error if an API server would reject the
// definition. Reasons for a rejection are a schema that is not structural, rules that do not compile or cost too much,
// and a protected group without an approval.
func NewSchema(crd *apiextensionsv1.CustomResourceDefinition, version string) (*Schema, error) {
	crd = crd.DeepCopy()
	apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)

	for _, v := range crd.Spec.Versions {
		if v.Storage {
			crd.Status.StoredVersions = []string{v.Name}
		}
	}

	var internal apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, &internal, nil); err != nil {
		return nil, err
	}

	if errs := definition.ValidateCustomResourceDefinition(context.Background(), &internal); len(errs) > 0 {
		return nil, fmt.Errorf("definition %s: %w", crd.Name, errs.ToAggregate())
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
	if err := json.Unmarshal(object, &obj); err != nil {
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
