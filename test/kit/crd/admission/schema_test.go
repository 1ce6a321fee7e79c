package admission

import (
	"os"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// plain returns the text of a definition that uses most features of a schema.
func plain(t *testing.T) string {
	t.Helper()

	text, err := os.ReadFile("../testdata/thing.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func parse(t *testing.T, text string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()

	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict([]byte(text), &definition); err != nil {
		t.Fatal(err)
	}
	return &definition
}

func TestAdmit(t *testing.T) {
	schema, err := NewSchema(parse(t, plain(t)), "v1")
	if err != nil {
		t.Fatal(err)
	}

	for _, tc := range []struct{ name, object, refused string }{
		{"good", `{"spec":{"size":1}}`, ""},
		{"text for a number", `{"spec":{"size":"1"}}`, "spec.size"},
		{"duplicate keys", `{"spec":{"size":1,"parts":[{"name":"a"},{"name":"a"}]}}`, "Duplicate"},
		{"not JSON", `{`, "unexpected end"},
	} {
		_, errs := schema.Admit([]byte(tc.object))
		if got := errs.ToAggregate(); (got == nil) != (tc.refused == "") || got != nil &&
			!strings.Contains(got.Error(), tc.refused) {
			t.Errorf("%s: got %v, want %q", tc.name, got, tc.refused)
		}
	}

	stored, errs := schema.Admit([]byte(`{"spec":{"size":1,"unknown":2,"raw":{"kept":3},"parts":[{"name":"a"}]}}`))

	spec := stored["spec"].(map[string]any)
	if _, there := spec["unknown"]; there || len(errs) > 0 {
		t.Errorf("stored %v (%v), want no unknown field", stored, errs)
	}

	if raw := spec["raw"].(map[string]any); raw["kept"] != int64(3) {
		t.Errorf("stored %v, want what is unknown in raw kept", stored)
	}

	if part := spec["parts"].([]any)[0].(map[string]any); part["level"] != int64(1) {
		t.Errorf("stored %v, want the default level", stored)
	}
}

func TestNewSchemaRefusesBadDefinitions(t *testing.T) {
	for name, text := range map[string]string{
		"not structural":    strings.Replace(plain(t), "size: {type: integer,", "size: {", 1),
		"rule that is none": strings.Replace(plain(t), "maxLength: 10", "x-kubernetes-validations: [{rule: 'self ='}]", 1),
		"rule too costly": strings.Replace(plain(t), "additionalProperties: {type: string}",
			"additionalProperties: {type: string, x-kubernetes-validations: [{rule: \"self.matches('(a|b)*c')\"}]}", 1),
		"no approval": strings.ReplaceAll(plain(t), "example.com", "example.k8s.io"),
	} {
		if _, err := NewSchema(parse(t, text), "v1"); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
