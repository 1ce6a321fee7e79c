package v1_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sparkoperator/spark-operator/test/kit/crd"
	"github.com/sparkoperator/spark-operator/test/kit/crd/admission"
	"github.com/sparkoperator/spark-operator/test/kit/effort"
)

// definitions lists, for each kind of this package, the file of our definition and the file of the peer's definition.
// The peer is the operator of the Apache Spark project in release 1.1, whose API this package has to accept. Its
// definitions accept all that those of release 1.0 accept.
var definitions = []struct{ ours, theirs string }{
	{"spark.apache.org_sparkapplications.yaml", "sparkapplications.spark.apache.org-v1-1.1.yaml"},
	{"spark.apache.org_sparkclusters.yaml", "sparkclusters.spark.apache.org-v1-1.1.yaml"},
}

// versions are the served versions. The first one is the stored version.
var versions = []string{"v1", "v1beta1"}

// peerDefinition reads a definition of the peer, and adds the defaults that the API server would add to the definition.
func peerDefinition(t testing.TB, file string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	definition := crd.Theirs(t, file)
	apiextensionsv1.SetDefaults_CustomResourceDefinition(definition)
	return definition
}

func encode(t testing.TB, v any) []byte {
	t.Helper()

	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// deliberate lists the values that our definitions reject on purpose, although the peer's definitions accept them. An
// entry covers each crd.Gap whose What begins with the field what. The field why gives the reason.
var deliberate = []struct{ what, why string }{
	{"rule oldSelf.hasValue() || self.metadata.name.size()",
		"the peer cannot run a new resource with such a name either: it fails when it creates the first Service"},
	{`format "int64"`, "a number beyond 64 bits fits neither Go's nor Java's types: the peer cannot decode it either"},
	{"maxLength 256", "no Spark version is that long"},
	{"maxItems ", "no application or cluster that ran is known to have that many (docs/limits.md)"},
	{"maxProperties ", "as for maxItems"},
	{"rule ", "the operator refuses the same values when it reconciles the object (docs/refused-others.md)"},
}

// TestPeersManifestsAreAccepted checks that our definitions accept and keep every manifest that the peer's definitions
// accept, except for the deliberate gaps. The peer's users have such manifests.
func TestPeersManifestsAreAccepted(t *testing.T) {
	met := make([]bool, len(deliberate))
	for _, d := range definitions {
		for _, gap := range crd.Gaps(peerDefinition(t, d.theirs), crd.Ours(t, d.ours)) {
			meant := false
			for i, d := range deliberate {
				if strings.HasPrefix(gap.What, d.what) {
					meant, met[i] = true, true
				}
			}

			if !meant {
				t.Errorf("%s: %s: %s", d.ours, gap.Path, gap.What)
			}
		}
	}

	for i, d := range deliberate {
		if !met[i] {
			t.Errorf("%q is listed as deliberate, but there is no such gap", d.what)
		}
	}
}

// TestRulesAreThePeers checks that our definitions have the same required fields, enumerations and defaults as the
// peer's. Clients that are generated from the peer's definitions rely on them.
func TestRulesAreThePeers(t *testing.T) {
	for _, d := range definitions {
		mine, peers := crd.Ours(t, d.ours), peerDefinition(t, d.theirs)

		compared := 0
		for _, v := range peers.Spec.Versions {
			if v.Name != versions[0] {
				continue // the older version is served with the newer's schema
			}

			i := slices.IndexFunc(mine.Spec.Versions,
				func(o apiextensionsv1.CustomResourceDefinitionVersion) bool { return o.Name == v.Name })
			compared += compareRules(t, d.ours, v.Schema.OpenAPIV3Schema, mine.Spec.Versions[i].Schema.OpenAPIV3Schema)
		}

		t.Logf("%s: %d properties", d.ours, compared)

		if compared < 50 {
			t.Errorf("%s: only %d properties were compared", d.ours, compared)
		}
	}
}

// compareRules compares two schemas and all schemas below them, except below fields that our schema keeps raw. It
// returns the number of properties that it compared.
func compareRules(t *testing.T, path string, theirs, ours *apiextensionsv1.JSONSchemaProps) (compared int) {
	t.Helper()
	type rules struct {
		Type           string
		Required, Enum []string
		Default        string
	}

	rulesOf := func(s *apiextensionsv1.JSONSchemaProps) rules {
		r := rules{Type: s.Type, Required: slices.Sorted(slices.Values(s.Required))}
		for _, v := range s.Enum {
			r.Enum = append(r.Enum, string(v.Raw))
		}

		slices.Sort(r.Enum)

		if s.Default != nil {
			r.Default = string(s.Default.Raw)
		}
		return r
	}
	if diff := cmp.Diff(rulesOf(theirs), rulesOf(ours)); diff != "" {
		t.Errorf("%s (-theirs +ours):\n%s", path, diff)
	}

	compared = 1
	for _, name := range slices.Sorted(maps.Keys(ours.Properties)) {
		if property, ok := theirs.Properties[name]; ok {
			mine := ours.Properties[name]
			compared += compareRules(t, path+"."+name, &property, &mine)
		}
	}

	if ours.Items != nil && theirs.Items != nil {
		compared += compareRules(t, path+"[]", theirs.Items.Schema, ours.Items.Schema)
	}

	if ours.AdditionalProperties != nil && theirs.AdditionalProperties != nil {
		compared += compareRules(t, path+"{}", theirs.AdditionalProperties.Schema, ours.AdditionalProperties.Schema)
	}
	return compared
}

// TestPeersValuesAreStored checks, for each property down to the deepest embedded type, that our definitions store
// every value that the peer's definitions accept, and store it unchanged.
func TestPeersValuesAreStored(t *testing.T) {
	for _, d := range definitions {
		for _, version := range versions {
			t.Run(d.ours+" "+version, func(t *testing.T) {
				t.Parallel()
				peers := peerDefinition(t, d.theirs)
				before, after := admission.Of(t, peers, version), admission.Ours(t, d.ours, version)
				comparison := crd.CompareDefinitions(peers, crd.Ours(t, d.ours), version)

				stored, rules := 0, crd.Rules(crd.Ours(t, d.ours), version)
				for path, probe := range effort.Some(t, comparison.Probes()) {
					raw := encode(t, probe)

					original, errs := before.Admit(raw)
					if len(errs) > 0 {
						continue
					}

					now, errs := after.Admit(raw)

					now = withoutNulls(now)
					if version != versions[0] {
						dropDefaults(now)
					}

					switch {
					case len(errs) > 0 && !beyond64Bits(raw) && !byRule(errs, rules):
						t.Errorf("%s: the peer accepts it: %v", path, errs.ToAggregate())
					case len(errs) == 0 && cmp.Diff(original, now) != "":
						t.Errorf("%s: stored otherwise (-theirs +ours):\n%s", path, cmp.Diff(original, now))
					case len(errs) == 0:
						stored++
					}
				}

				t.Logf("%d values stored alike, %d values repeat others", stored, comparison.Repeated)

				if stored*effort.Share(t)+comparison.Repeated < 5000 {
					t.Errorf("only %d values were compared", stored)
				}
			})
		}
	}
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

// beyond64Bits reports whether an object contains a number that does not fit into 64 bits. crd.Probes uses two such
// numbers.
func beyond64Bits(object []byte) bool {
	return bytes.Contains(object, []byte("1e+30")) || bytes.Contains(object, []byte("9300000000000000000"))
}

// withoutNulls returns a copy of obj without fields whose value is null. The API server itself drops the nulls of
// fields whose types the definition describes. In fields that the definition keeps raw, a null stays, and it means the
// same as a missing field.
func withoutNulls(obj map[string]any) map[string]any {
	kept := map[string]any{}
	for key, value := range obj {
		if value != nil {
			kept[key] = withoutNull(value)
		}
	}
	return kept
}

func withoutNull(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return withoutNulls(value)
	case []any:
		kept := make([]any, 0, len(value))
		for _, element := range value {
			kept = append(kept, withoutNull(element))
		}
		return kept
	}
	return value
}

// dropDefaults removes from obj the fields that the peer's v1beta1 does not have. Our v1beta1 has them, with the same
// defaults as v1.
func dropDefaults(obj map[string]any) {
	spec, _ := obj["spec"].(map[string]any)
	delete(spec, "suspend")
	tolerations, _ := spec["applicationTolerations"].(map[string]any)
	delete(tolerations, "resourceRetainDurationMillis")
	delete(tolerations, "ttlAfterStopMillis")

	if restarts, ok := tolerations["restartConfig"].(map[string]any); ok {
		delete(restarts, "restartCounterResetMillis")
	}
}

// TestWhatTheSchemaAcceptsIsDecoded checks that every object that the schema accepts can be decoded. An informer lists
// and watches all objects of a kind at once, so one stored object that cannot be decoded would hide all of them.
func TestWhatTheSchemaAcceptsIsDecoded(t *testing.T) {
	decoder := serializer.NewCodecFactory(newObjects(t)).UniversalDeserializer()
	for _, d := range definitions {
		definition := crd.Ours(t, d.ours)
		schema := admission.Ours(t, d.ours, versions[0])

		accepted, refused, share := 0, 0, effort.Share(t)
		for path, probe := range effort.Some(t, crd.Probes(definition, versions[0])) {
			stored, errs := schema.Admit(encode(t, probe))
			if len(errs) > 0 {
				refused++
				continue
			}
			accepted++

			crd.MustDecode(t, path, decoder, encode(t, stored))
		}

		t.Logf("%s: %d accepted, %d refused", d.ours, accepted, refused)

		if accepted*share < 200 || refused*share < 100 {
			t.Errorf("%s: %d accepted and %d refused probes: too few to mean anything", d.ours, accepted, refused)
		}
	}
}

// TestFullObjectsAreStoredWhole checks that objects are stored without loss. For our definitions and the peer's, it
// stores one object that sets every property. If a property can have several values, it also stores one object for each
// other value.
func TestFullObjectsAreStoredWhole(t *testing.T) {
	for _, d := range definitions {
		ours, peers := crd.Ours(t, d.ours), peerDefinition(t, d.theirs)
		for _, from := range []*apiextensionsv1.CustomResourceDefinition{ours, peers} {
			for _, version := range versions {
				schema := admission.Ours(t, d.ours, version)
				for variant := range crd.Variants(from, version) {
					obj := crd.Full(from, version, variant, crd.Sizes)

					stored, errs := schema.Admit(encode(t, obj))
					if len(errs) > 0 {
						t.Errorf("%s %s, variant %d: %v", d.ours, version, variant, errs.ToAggregate())
					}

					if from == peers && version != versions[0] {
						dropDefaults(stored)
					}

					if diff := cmp.Diff(obj, stored); diff != "" {
						t.Errorf("%s %s, variant %d (-sent +stored):\n%s", d.ours, version, variant, diff)
					}
				}
			}
		}
	}
}

// TestDefaults checks that the API server sets defaults for exactly three numbers. It sets each of them only if the
// spec has the object that contains the number. Every reader of a spec must apply all other defaults itself.
func TestDefaults(t *testing.T) {
	for _, version := range versions {
		schema := admission.Ours(t, definitions[0].ours, version)
		for tolerations, want := range map[string]string{
			``:   ``,
			`{}`: `{"resourceRetainDurationMillis":-1,"ttlAfterStopMillis":-1}`,
			`{"restartConfig":{},"instanceConfig":{},"applicationTimeoutConfig":{}}`: `{"applicationTimeoutConfig":{},"instanceConfig":{},` +
				`"resourceRetainDurationMillis":-1,"restartConfig":{"restartCounterResetMillis":-1},"ttlAfterStopMillis":-1}`,
		} {
			sent := map[string]any{"apiVersion": "spark.apache.org/" + version, "kind": "SparkApplication",
				"metadata": map[string]any{"name": "a"}}

			spec := map[string]any{"runtimeVersions": map[string]any{"sparkVersion": "4.1.4"}}
			if tolerations != "" {
				spec["applicationTolerations"] = json.RawMessage(tolerations)
			}

			sent["spec"] = spec

			stored, errs := schema.Admit(encode(t, sent))
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}

			got := ""
			if kept, ok := stored["spec"].(map[string]any)["applicationTolerations"]; ok {
				got = string(encode(t, kept))
			}

			if got != want {
				t.Errorf("%s: tolerations %q are stored as %s, want %s", version, tolerations, got, want)
			}
		}
	}
}

// TestVersions checks that v1 is stored and that v1beta1 is served with the same schema, so that no conversion is
// needed. The columns of v1beta1 keep the order that this version had in the peer.
func TestVersions(t *testing.T) {
	columns := map[string][]string{"v1": {"Age", "Current State"}, "v1beta1": {"Current State", "Age"}}
	for _, d := range definitions {
		definition := crd.Ours(t, d.ours)
		if definition.Spec.Conversion != nil {
			t.Errorf("%s: conversion %+v", d.ours, definition.Spec.Conversion)
		}

		if len(definition.Spec.Versions) != len(versions) {
			t.Fatalf("%s: %d versions", d.ours, len(definition.Spec.Versions))
		}

		for i, v := range definition.Spec.Versions {
			var names []string
			for _, c := range v.AdditionalPrinterColumns {
				if (c.Priority > 0) != (c.Name == "Cause") { // which only --output wide prints
					t.Errorf("%s: column %s has the priority %d", d.ours, c.Name, c.Priority)
				}

				if c.Priority == 0 {
					names = append(names, c.Name)
				}
			}

			if v.Name != versions[i] || !v.Served || v.Storage != (i == 0) || v.Subresources == nil ||
				v.Subresources.Status == nil {
				t.Errorf("%s: version %s, served %v, storage %v, subresources %v", d.ours, v.Name, v.Served, v.Storage,
					v.Subresources)
			}

			if diff := cmp.Diff(columns[v.Name], names); diff != "" {
				t.Errorf("%s %s: columns (-want +got):\n%s", d.ours, v.Name, diff)
			}

			if diff := cmp.Diff(definition.Spec.Versions[0].Schema, v.Schema); diff != "" {
				t.Errorf("%s %s: another schema than that of the stored version:\n%s", d.ours, v.Name, diff)
			}
		}
	}
}

// TestDefinitionsCanBeApplied checks the size of the definitions. kubectl apply stores a whole definition in one
// annotation, and the annotations of an object may have 256 KiB in total.
func TestDefinitionsCanBeApplied(t *testing.T) {
	for _, d := range definitions {
		size, err := crd.CompactSize(crd.Ours(t, d.ours))
		if err != nil {
			t.Fatal(err)
		}

		t.Logf("%s: %d bytes", d.ours, size)

		if limit := 256 * 1024; size >= limit {
			t.Errorf("%s has %d bytes as compact JSON, the limit is %d: shorten descriptions", d.ours, size, limit)
		}
	}
}

// TestChartHasTheSameDefinitions checks that the chart's copies of the definitions equal the definitions in config/crd.
func TestChartHasTheSameDefinitions(t *testing.T) {
	for _, d := range definitions {
		read := func(folder string) []byte {
			text, err := os.ReadFile(filepath.Join(crd.Root(t), folder, d.ours))
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		if !bytes.Equal(read("charts/spark-operator/files/crds"), read("config/crd")) {
			t.Errorf("the chart's %s is not the one in config/crd: run make generate", d.ours)
		}
	}
}
