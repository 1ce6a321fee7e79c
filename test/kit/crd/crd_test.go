package crd_test

import (
	_ "embed"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/test/kit/crd"
	"github.com/sparkoperator/spark-operator/test/kit/crd/admission"
)

// plain is the text of a definition that uses most features of a schema.
//
//go:embed testdata/thing.yaml
var plain string

func parse(t *testing.T, text string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()

	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict([]byte(text), &definition); err != nil {
		t.Fatal(err)
	}
	return &definition
}

func TestGaps(t *testing.T) {
	for _, tc := range []struct {
		name, old, new string
		path, what     string // of the one gap, empty if there is none
	}{
		{"the same", "", "", "", ""},
		{"wider minimum", "minimum: 1,", "minimum: 0,", "", ""},
		{"no maximum", ", maximum: 100", "", "", ""},
		{"more values", "[a, b]", "[a, b, c]", "", ""},
		{"no values", ", enum: [a, b]", "", "", ""},
		{"longer", "maxLength: 10", "maxLength: 11", "", ""},
		{"no pattern", ", pattern: '^[a-z]+$'", "", "", ""},
		{"optional", "required: [size]", "required: []", "", ""},
		{"one more property", "mode: {", "more: {type: string}\n              mode: {", "", ""},
		{"kept as it is", "status: {type: object, properties: {ready: {type: boolean}}}",
			"status: {type: object, x-kubernetes-preserve-unknown-fields: true}", "", ""},

		{"another short name", "shortNames: [th]", "shortNames: [tg]", "names", "differs"},
		{"another scope", "scope: Namespaced", "scope: Cluster", "scope", "differs"},
		{"another version", "- name: v1", "- name: v2", "v1", "no such version"},
		{"not served", "served: true", "served: false", "v1 served", "differs"},
		{"another column", "name: Size, type: integer", "name: Big, type: integer", "v1 columns", "differs"},
		{"no status", "subresources: {status: {}}", "subresources: {}", "v1 subresources", "differs"},
		{"missing property", "mode: {type: string, enum: [a, b]}", "", ".spec.mode", "missing"},
		{"missing property of an element", ", level: {type: integer, default: 1}", "", ".spec.parts[].level",
			"missing"},
		{"missing additional properties", ", additionalProperties: {type: string}", "", ".spec.tags{}", "missing"},
		{"one more required", "required: [size]", "required: [size, mode]", ".spec.mode", "required"},
		{"another type", "tags: {type: object, additionalProperties: {type: string}}",
			"tags: {type: object, additionalProperties: {type: boolean}}",
			".spec.tags{}", "type"},
		{"another format", "format: int32", "format: int64", ".spec.size", "format"},
		{"higher minimum", "minimum: 1,", "minimum: 2,", ".spec.size", "minimum 2"},
		{"lower maximum", "maximum: 100", "maximum: 99", ".spec.size", "maximum 99"},
		{"excluded bound", "minimum: 1,", "minimum: 1, exclusiveMinimum: true,", ".spec.size", "excludes"},
		{"multiples", "maximum: 100", "maximum: 100, multipleOf: 2", ".spec.size", "multipleOf"},
		{"fewer values", "[a, b]", "[a]", ".spec.mode", `refuses "b"`},
		{"values where theirs is free", "tags: {type: object, additionalProperties: {type: string}}",
			"tags: {type: object, additionalProperties: {type: string, enum: [x]}}", ".spec.tags{}", "enumeration"},
		{"shorter", "maxLength: 10", "maxLength: 9", ".spec.name", "maxLength 9"},
		{"another pattern", "'^[a-z]+$'", "'^[a-z]*$'", ".spec.name", "pattern"},
		{"a rule", "maxLength: 10", "maxLength: 10, x-kubernetes-validations: [{rule: 'size(self) > 1'}]", ".spec.name",
			"rule"},
		{"null dropped", ", nullable: true", "", ".spec.when", "null"},
		{"unknown fields dropped", ", x-kubernetes-preserve-unknown-fields: true", "", ".spec.raw", "unknown fields"},
		{"another default", "default: 1", "default: 2", ".spec.parts[].level", "default"},
		{"another merge key", "list-map-keys: [name]", "list-map-keys: [level]", ".spec.parts", "list map keys"},
		{"another combination", "anyOf: [{type: integer}, {type: string}]", "anyOf: [{type: string}, {type: integer}]",
			".spec.port", "anyOf"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if !strings.Contains(plain, tc.old) {
				t.Fatalf("the definition has no %q", tc.old)
			}

			gaps := crd.Gaps(parse(t, plain), parse(t, strings.Replace(plain, tc.old, tc.new, 1)))
			if tc.path == "" {
				if len(gaps) > 0 {
					t.Fatalf("got %v, want none", gaps)
				}
				return
			}

			if len(gaps) != 1 || gaps[0].Path != tc.path || !strings.Contains(gaps[0].What, tc.what) {
				t.Fatalf("got %v, want one about %s: %s", gaps, tc.path, tc.what)
			}
		})
	}
}

// TestProbes checks that there are probes for every property, and that our definitions accept some probes and reject
// others.
func TestProbes(t *testing.T) {
	definition := parse(t, plain)

	schema := admission.Of(t, definition, "v1")

	accepted, refused := map[string]int{}, map[string]int{}
	for path, probe := range crd.Probes(definition, "v1") {
		raw, err := yaml.Marshal(probe)
		if err != nil {
			t.Fatal(err)
		}

		if raw, err = yaml.YAMLToJSON(raw); err != nil {
			t.Fatal(err)
		}

		if _, errs := schema.Admit(raw); len(errs) > 0 {
			refused[path]++
		} else {
			accepted[path]++
		}
	}

	for _, path := range []string{".spec.size", ".spec.mode", ".spec.name", ".spec.when", ".spec.port", ".spec.tags{}",
		".spec.parts[].level", ".status.ready"} {
		if accepted[path] == 0 {
			t.Errorf("%s: no probe is accepted", path)
		}
	}

	for _, path := range []string{".spec.size", ".spec.name", ".spec.when", ".spec.port"} {
		if refused[path] == 0 {
			t.Errorf("%s: no probe is refused", path)
		}
	}
}
