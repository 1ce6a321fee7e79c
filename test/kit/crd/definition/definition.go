// Package definition lets tests check whether an API server would accept a custom resource definition. It runs the API
// server's own code, which includes a client of Kubernetes, so other tests should not import it.
package definition

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
)

// Check returns an error if an API server would reject a definition. Reasons for a rejection are a schema that is not
// structural, rules that do not compile or cost too much, and a protected group without an approval.
func Check(crd *apiextensionsv1.CustomResourceDefinition) error {
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
		return err
	}

	if errs := validation.ValidateCustomResourceDefinition(context.Background(), &internal); len(errs) > 0 {
		return fmt.Errorf("definition %s: %w", crd.Name, errs.ToAggregate())
	}
	return nil
}
