package crd_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/test/kit/crd"
	"github.com/sparkoperator/spark-operator/test/kit/crd/admission"
)

func TestFull(t *testing.T) {
	definition := parse(t, plain)

	schema := admission.Of(t, definition, "v1")

	modes, ports := map[any]bool{}, map[any]bool{}

	variants := crd.Variants(definition, "v1")
	for variant := range variants {
		obj := crd.Full(definition, "v1", variant, map[string]any{".spec.name": "abc"})
		spec := obj["spec"].(map[string]any)

		modes[spec["mode"]], ports[spec["port"]] = true, true
		if spec["name"] != "abc" || len(spec) != 8 {
			t.Errorf("variant %d: %v", variant, spec)
		}

		raw, err := yaml.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}

		if raw, err = yaml.YAMLToJSON(raw); err != nil {
			t.Fatal(err)
		}

		stored, errs := schema.Admit(raw)
		if len(errs) > 0 {
			t.Errorf("variant %d: %v", variant, errs.ToAggregate())
		}

		if diff := cmp.Diff(obj, stored); diff != "" {
			t.Errorf("variant %d (-sent +stored):\n%s", variant, diff)
		}
	}

	if !modes["a"] || !modes["b"] || !ports[int64(1)] || !ports["name"] || variants != 2 {
		t.Errorf("%d variants with the modes %v and the ports %v", variants, modes, ports)
	}
}
