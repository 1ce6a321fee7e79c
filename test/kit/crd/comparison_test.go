package crd_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/test/kit/crd"
)

// twins is a definition with three properties. The first two have the same schema except for the description.
const twins = `
metadata: {name: twins.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Twin, listKind: TwinList, plural: twins, singular: twin}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              a:
                {type: object, description: The first., properties:
                  {size: {type: integer}, m: {additionalProperties: {type: string}, type: object}}}
              b:
                {type: object, description: The second., properties:
                  {size: {type: integer}, m: {additionalProperties: {type: string}, type: object}}}
              c: {type: object, properties: {size: {type: integer}}}
`

type (
	one struct {
		N int `json:"size"`
	}
	other struct {
		N string `json:"size"`
	}
	spec struct {
		A *one `json:"a"`
		B *one `json:"b"`
	}
	mixed struct {
		A one   `json:"a"`
		B other `json:"b"`
	}
)

// TestComparisonsRepeatNothingElse checks which properties have values that a Comparison leaves out: those inside of a
// property whose schema and whose counterpart another property has too. Left out values are counted.
func TestComparisonsRepeatNothingElse(t *testing.T) {
	theirs, all := parse(t, twins), []string{".spec.a.m{}", ".spec.a.size", ".spec.b.m{}", ".spec.b.size", ".spec.c.size"}
	change := func(old, changed string) *crd.Comparison {
		text := strings.Replace(twins, old, changed, 1)
		if text == twins {
			t.Fatalf("the definition has no %q", old)
		}
		return crd.CompareDefinitions(theirs, parse(t, text), "v1")
	}
	const second = "{type: object, description: The second., properties:\n" +
		"                  {size: {type: integer}, m: {additionalProperties: {type: string}, type: object}}}"

	for name, test := range map[string]struct {
		comparison *crd.Comparison
		repeated   []string
	}{
		"equal definitions": {change("The first.", "Another text."), []string{".spec.b.m{}", ".spec.b.size"}},
		"another type in the second": {change(second, strings.Replace(second, "integer", "number", 1)),
			[]string{".spec.b.m{}"}},
		"a limit of the second":        {change(second, strings.Replace(second, "string", "string, maxLength: 5", 1)), nil},
		"the second has no properties": {change(second, "{type: object}"), nil},
		"the second keeps any content": {change(second, "{type: object, x-kubernetes-preserve-unknown-fields: true}"), nil},
		"the same Go type": {crd.CompareType(theirs, "v1", struct {
			Spec spec `json:"spec"`
		}{}), []string{".spec.b.m{}", ".spec.b.size"}},
		"another Go type with the same fields": {crd.CompareType(theirs, "v1", struct {
			Spec mixed `json:"spec"`
		}{}), nil},
	} {
		want, got := map[string]int{}, map[string]int{}

		total := 0
		for path := range crd.Probes(theirs, "v1") {
			want[path]++
			total++
		}

		compared := 0
		for path := range test.comparison.Probes() {
			got[path]++
			compared++
		}

		var repeated []string
		for _, path := range all {
			if got[path] < want[path] {
				repeated = append(repeated, path)
			}
		}

		if !slices.Equal(repeated, test.repeated) || got[".spec.b"] != want[".spec.b"] {
			t.Errorf("%s: values of %v are left out, want %v", name, repeated, test.repeated)
		}

		if compared+test.comparison.Repeated != total {
			t.Errorf("%s: %d values and %d repeated ones of %d", name, compared, test.comparison.Repeated, total)
		}
	}
}
