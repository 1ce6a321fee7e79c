package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/config/crd"
)

// values are the values that the test puts at each place of a definition. There is no number of more than 32 bits,
// because the definitions do not limit the numbers in all types of Kubernetes.
var values = []string{
	`"x"`, `""`, `"500m"`, `"true"`, `"2"`, `0`, `1`, `-1`, `70000`, `1.5`, `true`, `null`, `[]`, `{}`, `["x"]`,
	`[null]`, `[1]`, `[{}]`, `{"k":"x"}`, `{"k":1}`, `{"k":null}`, `{"k":{}}`,
}

// TestDefinitionsRefuseTheSame puts values of all types at each place of the specs, and compares the places of the
// faults with those of the API server's own validation.
func TestDefinitionsRefuseTheSame(t *testing.T) {
	files, err := crd.Files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}

	var count int
	for _, file := range files {
		text, err := crd.Files.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}

		var found apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &found); err != nil {
			t.Fatal(err)
		}

		for _, version := range found.Spec.Versions[:1] {
			kind := schema.GroupVersionKind{Group: found.Spec.Group, Version: version.Name, Kind: found.Spec.Names.Kind}
			spec := version.Schema.OpenAPIV3Schema
			*spec = apiextensionsv1.JSONSchemaProps{Type: "object", Required: []string{"spec"},
				Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec.Properties["spec"]}}

			var internal apiextensions.JSONSchemaProps
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(spec, &internal,
				nil); err != nil {
				t.Fatal(err)
			}

			structural, err := structuralschema.NewStructural(&internal)
			if err != nil {
				t.Fatal(err)
			}

			validator, _, err := validation.NewSchemaValidator(&internal)
			if err != nil {
				t.Fatal(err)
			}

			root := definition(kind)
			places("spec", spec.Properties["spec"], func(pieces []string) {
				for _, value := range values {
					text := []byte(strings.Join(pieces, value))
					count++

					compareFaults(t, kind, root, text, func(tree map[string]any) map[string]bool {
						defaulting.PruneNonNullableNullsWithoutDefaults(tree, structural)
						defaulting.Default(tree, structural)

						refused := map[string]bool{}
						for _, fault := range validation.ValidateCustomResource(nil, tree, validator) {
							refused[fault.Field] = true
						}

						delete(refused, "<nil>") // a number with a fraction has a second fault, without a place
						return refused
					})
				}
			})
		}
	}

	t.Logf("%d objects", count)
}

// places calls a function with each place of a schema, as the texts before and after the value in an object.
func places(name string, p apiextensionsv1.JSONSchemaProps, visit func([]string)) {
	var walk func(before, after string, p apiextensionsv1.JSONSchemaProps)
	walk = func(before, after string, p apiextensionsv1.JSONSchemaProps) {
		visit([]string{before, after})

		for _, key := range slices.Sorted(maps.Keys(p.Properties)) {
			// The schemas of the others are those of sidecars, of the driver and of another kind. Nobody writes a status.
			if !slices.Contains([]string{"initContainers", "executor", "template", "status"}, key) {
				walk(before+fmt.Sprintf("{%q:", key), "}"+after, p.Properties[key])
			}
		}

		if p.Items != nil {
			walk(before+"[", "]"+after, *p.Items.Schema)
		}

		if p.AdditionalProperties != nil {
			walk(before+`{"k":`, "}"+after, *p.AdditionalProperties.Schema)
		}
	}
	walk(fmt.Sprintf("{%q:", name), "}", p)
}

func compareFaults(t *testing.T, kind schema.GroupVersionKind, root *property, text []byte,
	theirs func(map[string]any) map[string]bool) {
	t.Helper()

	var tree map[string]any
	if err := utiljson.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}

	documents, faults := Read("f", text)
	if len(faults) > 0 {
		t.Fatal(faults)
	}

	c := checker{document: &documents[0], root: root}
	c.check(shapeOf(kind))

	ours := map[string]bool{}
	for _, fault := range c.found {
		if !fault.Warning() {
			ours[strings.NewReplacer("[k]", ".k").Replace(fault.Field)] = true
		}
	}

	if want := theirs(tree); !maps.Equal(ours, want) {
		shown, _ := json.Marshal(tree)
		t.Errorf("%s: %s:\nwe refuse %v\nthe API server refuses %v\n%s", kind.Kind, text,
			slices.Sorted(maps.Keys(ours)), slices.Sorted(maps.Keys(want)), shown)
	}
}
