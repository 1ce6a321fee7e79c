package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestFinishCutsDescriptionsAndAddsPatterns(t *testing.T) {
	got, err := finish([]byte(`
spec:
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        description: ours
        properties:
          memory: {type: string, description: ours too}
          ports:
            type: array
            description: kept
            items: {type: object, description: says the list already, properties: {name: {type: string, description: of our own type}}}
          sidecars:
            type: array
            description: ours
            items:
              type: object
              properties:
                image: {type: string, description: Kubernetes'}
                port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
                limit:
                  x-kubernetes-int-or-string: true
                  pattern: '^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$'
                since: {type: string, format: date-time}
                exact: {type: string, format: date-time, pattern: '^2'}
`))
	if err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{"description: ours\n", "description: ours too", "description: kept", "description: of our own type",
		"minimum: -2147483648", "maximum: 2147483647", `([eE](\+|-)?[0-9]{1,2}))?$`, `pattern: ^\+?((`, "minimum: 0", "pattern: ^[^tz]*$", "pattern: ^2"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}

	for _, not := range []string{"Kubernetes'", "says the list already"} {
		if strings.Contains(string(got), not) {
			t.Errorf("%q remains in:\n%s", not, got)
		}
	}

	again, err := finish(got)
	if err != nil {
		t.Fatal(err)
	}

	if string(again) != string(got) {
		t.Errorf("finishing twice changes:\n%s\nto:\n%s", got, again)
	}
}

// TestFinishLimitsListsMapsAndQuantities checks that every list, map and quantity without a limit gets one. Lists and
// maps in a status get the limit for statuses.
func TestFinishLimitsListsMapsAndQuantities(t *testing.T) {
	got, err := finish([]byte(`
spec:
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          metadata: {type: object}
          spec:
            type: object
            properties:
              list: {type: array, items: {type: array, items: {type: string}}}
              few: {type: array, maxItems: 20, items: {type: string}}
              map:
                type: object
                additionalProperties: {x-kubernetes-int-or-string: true, pattern: '^[0-9]*$'}
              raw: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status:
            type: object
            properties:
              list: {type: array, items: {type: object, additionalProperties: {type: string}}}
`))
	if err != nil {
		t.Fatal(err)
	}

	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema struct{ Properties map[string]any }
				}
			}
		}
	}
	if err := yaml.Unmarshal(got, &crd); err != nil {
		t.Fatal(err)
	}
	const want = `{"metadata":{"properties":{"name":{"type":"string"}},"type":"object"},` +
		`"spec":{"properties":{"few":{"items":{"type":"string"},"maxItems":20,"type":"array"},` +
		`"list":{"items":{"items":{"type":"string"},"maxItems":1000,"type":"array"},"maxItems":1000,"type":"array"},` +
		`"map":{"additionalProperties":{"maxLength":64,"minimum":0,"pattern":"^[0-9]*$","x-kubernetes-int-or-string":true},"maxProperties":2000,"type":"object"},` +
		`"raw":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},"type":"object"},` +
		`"status":{"properties":{"list":{"items":{"additionalProperties":{"type":"string"},"maxProperties":20000,"type":"object"},"maxItems":20000,"type":"array"}},"type":"object"}}`

	text, err := json.Marshal(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties)
	if err != nil {
		t.Fatal(err)
	}

	if string(text) != want {
		t.Errorf("got:\n%s\nwant:\n%s", text, want)
	}
}

// TestFinishServesTheOlderVersion checks that a group's older version differs from the stored version only in its name
// and the order of its columns.
func TestFinishServesTheOlderVersion(t *testing.T) {
	const definition = `
spec:
  group: %s
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns: [{name: Age}, {name: Current State}]
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, description: ours}}}}
`
	type version struct {
		Name                     string              `json:"name"`
		Served                   bool                `json:"served"`
		Storage                  bool                `json:"storage"`
		Subresources             map[string]any      `json:"subresources"`
		AdditionalPrinterColumns []map[string]string `json:"additionalPrinterColumns"`
		Schema                   map[string]any      `json:"schema"`
	}
	versions := func(text []byte) []version {
		var crd struct {
			Spec struct {
				Versions []version `json:"versions"`
			} `json:"spec"`
		}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		return crd.Spec.Versions
	}

	finished, err := finish(fmt.Appendf(nil, definition, "spark.apache.org"))
	if err != nil {
		t.Fatal(err)
	}

	got := versions(finished)
	if len(got) != 2 {
		t.Fatalf("%d versions:\n%s", len(got), finished)
	}

	want := got[0]
	want.Name, want.Storage = "v1beta1", false

	want.AdditionalPrinterColumns = []map[string]string{{"name": "Current State"}, {"name": "Age"}}
	if !reflect.DeepEqual(got[1], want) || !got[0].Storage {
		t.Errorf("versions\n%+v\n%+v", got[0], got[1])
	}

	again, err := finish(finished)
	if err != nil || string(again) != string(finished) {
		t.Errorf("finishing twice: %v\n%s", err, again)
	}

	other, err := finish(fmt.Appendf(nil, definition, "sparkoperator.k8s.io"))
	if err != nil || len(versions(other)) != 1 {
		t.Errorf("another group: %v\n%s", err, other)
	}
}

func TestFinishRejectsOtherFiles(t *testing.T) {
	for name, in := range map[string]string{
		"not YAML":                   "\t",
		"another kind":               "kind: ConfigMap",
		"a version without a schema": "spec: {versions: [{name: v1}]}",
	} {
		if _, err := finish([]byte(in)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
