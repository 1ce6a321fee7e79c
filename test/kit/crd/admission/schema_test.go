package admission

import (
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/test/kit/crd"
)

func TestAdmit(t *testing.T) {
	plain, err := crd.Read("../testdata/thing.yaml")
	if err != nil {
		t.Fatal(err)
	}

	schema := Of(t, plain, "v1")

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
