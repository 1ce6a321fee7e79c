package v1beta2_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sparkoperator/spark-operator/test/kit/crd"
	"github.com/sparkoperator/spark-operator/test/kit/crd/admission"
	"github.com/sparkoperator/spark-operator/test/kit/effort"
)

// TestPeersValuesAreStored checks, for each property down to a sidecar's probes, that our definitions store every value
// that the peer's definitions accept, and store it unchanged. TestPeersManifestsAreAccepted compares the definitions
// themselves; this test sends values through them.
func TestPeersValuesAreStored(t *testing.T) {
	for _, file := range []string{applications, schedules} {
		t.Run(file, func(t *testing.T) {
			theirs := crd.Theirs(t, file)
			before, after := admission.Of(t, theirs, version), admission.Ours(t, file, version)
			rules, comparison := crd.Rules(crd.Ours(t, file), version), crd.CompareDefinitions(theirs, crd.Ours(t, file), version)

			stored, refused := 0, map[string]bool{}
			for path, probe := range effort.Some(t, comparison.Probes()) {
				if strings.HasPrefix(path, ".spec.template.") {
					continue // the loop over the application's definition tests these paths
				}

				raw := encode(t, probe)

				original, errs := before.Admit(raw)
				if len(errs) > 0 {
					continue
				}

				now, errs := after.Admit(raw)
				switch {
				case len(errs) > 0 && !deliberatelyRefused(path) && !byRule(errs, rules):
					t.Errorf("%s: the peer accepts it: %v", path, errs.ToAggregate())
				case len(errs) > 0:
					refused[path] = true
				case cmp.Diff(original, now) != "":
					t.Errorf("%s: stored otherwise (-theirs +ours):\n%s", path, cmp.Diff(original, now))
				default:
					stored++
				}
			}

			t.Logf("%d values stored alike, %d values repeat others, %d properties with values that are refused on purpose",
				stored, comparison.Repeated, len(refused))

			if file == applications && stored*effort.Share(t)+comparison.Repeated < 8000 || stored == 0 {
				t.Errorf("only %d values were compared", stored)
			}
		})
	}
}

// deliberatelyRefused reports whether some values of a property are rejected on purpose, according to the list
// deliberate.
func deliberatelyRefused(path string) bool {
	quantity := strings.HasSuffix(path, ".divisor") || strings.HasSuffix(path, "{}") ||
		strings.HasSuffix(path, ".sizeLimit")
	for _, d := range deliberate {
		if d.path != "" && strings.HasSuffix(path, d.path) || d.path == "" && quantity {
			return true
		}
	}
	return false
}

// byRule reports whether every error comes from a validation rule of our definition. Our definition has rules that the
// peer's definition lacks. They reject only values that the operator would reject anyway when it reconciles the object.
// docs/validation.md lists these rules, and the test of test/kit/refusal has a row for each.
func byRule(errs field.ErrorList, rules []crd.Rule) bool {
	for _, err := range errs {
		if !slices.ContainsFunc(rules, func(r crd.Rule) bool { return r.Message == err.Detail }) {
			return false
		}
	}
	return true
}

// TestFullObjectsAreStoredWhole checks that objects are stored without loss. It stores one object that sets every
// property. If a property can have several values, it also stores one object for each other value.
func TestFullObjectsAreStoredWhole(t *testing.T) {
	for _, file := range []string{applications, schedules} {
		ours := crd.Ours(t, file)

		schema := admission.Ours(t, file, version)
		for variant := range crd.Variants(ours, version) {
			obj := crd.Full(ours, version, variant, crd.Sizes)

			stored, errs := schema.Admit(encode(t, obj))
			if len(errs) > 0 {
				t.Errorf("%s, variant %d: %v; a rule needs a valid value in crd.Sizes", file, variant, errs.ToAggregate())
			}

			if diff := cmp.Diff(obj, stored); diff != "" {
				t.Errorf("%s, variant %d (-sent +stored):\n%s", file, variant, diff)
			}
		}
	}
}
