package charts

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write known-values.json and docs/values.md")

const known = "spark-operator/files/known-values.json"

// schema is the part of a JSON schema that says which names an object has.
type schema struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Additional json.RawMessage            `json:"additionalProperties"`
}

// names returns the names that a schema lists, with the defaults of the values.
func names(t *testing.T, text []byte, defaults any, isSet bool) any {
	t.Helper()

	var s schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}

	if s.Properties == nil || s.Additional != nil {
		if !isSet {
			return []any{}
		}
		return []any{defaults}
	}

	out := map[string]any{}

	values, _ := defaults.(map[string]any)
	for name, property := range s.Properties {
		if string(property) == "false" {
			continue
		}

		value, has := values[name]
		out[name] = names(t, property, value, has)
	}
	return out
}

// TestKnownValues checks that the table of the chart's values, which the templates read, matches the schema and the
// defaults. With -update, it writes the table.
func TestKnownValues(t *testing.T) {
	text, err := os.ReadFile("spark-operator/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}

	values, err := os.ReadFile("spark-operator/values.yaml")
	if err != nil {
		t.Fatal(err)
	}

	var defaults map[string]any
	if err := yaml.UnmarshalStrict(values, &defaults); err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer

	encoder := json.NewEncoder(&want)
	encoder.SetIndent("", " ")
	encoder.SetEscapeHTML(false)

	if err := encoder.Encode(names(t, text, defaults, true)); err != nil {
		t.Fatal(err)
	}

	if *update {
		if err := os.WriteFile(known, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}

	if diff := cmp.Diff(want.String(), string(KnownValues)); diff != "" {
		t.Errorf("%s is old; run: go test ./charts -update (-want +got):\n%s", known, diff)
	}
}
