package crd

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestColumnCause checks that each version of each kind has the column that `kubectl get --output wide` prints: the
// message of the condition Ready.
func TestColumnCause(t *testing.T) {
	entries, err := Files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}

	for _, entry := range entries {
		text, err := Files.ReadFile(entry.Name())
		if err != nil {
			t.Fatal(err)
		}

		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &definition); err != nil {
			t.Fatal(err)
		}

		want := apiextensionsv1.CustomResourceColumnDefinition{Name: "Cause", Type: "string", Priority: 1, JSONPath: `.status.conditions[?(@.type=="Ready")].message`}
		for _, version := range definition.Spec.Versions {
			if !slices.Contains(version.AdditionalPrinterColumns, want) {
				t.Errorf("%s %s has no column %+v", definition.Name, version.Name, want)
			}
		}
	}
}
