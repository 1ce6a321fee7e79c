package v1alpha1_test

import (
	"bytes"
	"encoding/json"
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
)

const (
	connects = "sparkoperator.k8s.io_sparkconnects.yaml"
	version  = "v1alpha1"
)

func encode(t testing.TB, v any) []byte {
	t.Helper()

	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// deliberate lists the values that our definition rejects on purpose, although the definition of the peer, the kubeflow
// operator, accepts them. An entry covers each crd.Gap whose Path ends with the field path and whose What begins with
// the field what. The field why gives the reason.
var deliberate = []struct{ path, what, why string }{
	{"Port", "minimum -2.147483648e+09",
		"Go's IntOrString holds an int32: the peer cannot decode other numbers either"},
	{"Port", "maximum 2.147483647e+09", "as for the minimum"},
	{"Time", "pattern ^[^tz]*$", "Go's times have a capital T and Z: the peer cannot decode other times either"},
	{"sparkVersion", "maxLength 256", "no Spark version is that long"},
	{"", "maxItems ", "no server that ran is known to have that many (docs/limits.md)"},
	{"", "maxProperties ", "as for maxItems"},
	{"", "rule ", "the operator refuses the same values when it reconciles the object (docs/refused-others.md)"},
}

// TestPeersManifestsAreAccepted checks that our definition accepts and keeps every manifest that the peer's definition
// accepts, except for the deliberate gaps. The peer's users have such manifests.
func TestPeersManifestsAreAccepted(t *testing.T) {
	met := make([]bool, len(deliberate))
	for _, gap := range crd.Gaps(crd.Theirs(t, connects), crd.Ours(t, connects)) {
		meant := false
		for i, d := range deliberate {
			if strings.HasSuffix(gap.Path, d.path) && strings.HasPrefix(gap.What, d.what) {
				meant, met[i] = true, true
			}
		}

		if !meant {
			t.Errorf("%s: %s", gap.Path, gap.What)
		}
	}

	for i, d := range deliberate {
		if !met[i] {
			t.Errorf("%q %q is listed as deliberate, but there is no such gap", d.path, d.what)
		}
	}
}

// TestPeersValuesAreStored checks, for each property, that our definition stores every value that the peer's definition
// accepts, and stores it unchanged.
func TestPeersValuesAreStored(t *testing.T) {
	theirs := crd.Theirs(t, connects)
	before, after := admission.Of(t, theirs, version), admission.Ours(t, connects, version)

	stored, rules := 0, crd.Rules(crd.Ours(t, connects), version)
	for path, probe := range crd.Probes(theirs, version) {
		raw := encode(t, probe)

		original, errs := before.Admit(raw)
		if len(errs) > 0 {
			continue
		}

		now, errs := after.Admit(raw)
		switch {
		case len(errs) > 0 && !deliberatelyRefused(path) && !byRule(errs, rules):
			t.Errorf("%s: the peer accepts it: %v", path, errs.ToAggregate())
		case len(errs) == 0 && cmp.Diff(original, now) != "":
			t.Errorf("%s: stored otherwise (-theirs +ours):\n%s", path, cmp.Diff(original, now))
		case len(errs) == 0:
			stored++
		}
	}

	t.Logf("%d values stored alike", stored)

	if stored < 300 {
		t.Errorf("only %d values were compared", stored)
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

func deliberatelyRefused(path string) bool {
	for _, d := range deliberate {
		if d.path != "" && strings.HasSuffix(path, d.path) {
			return true
		}
	}
	return false
}

// TestWhatTheSchemaAcceptsIsDecoded checks that every object that the schema accepts can be decoded. An informer lists
// and watches all objects of a kind at once, so one stored object that cannot be decoded would hide all of them.
func TestWhatTheSchemaAcceptsIsDecoded(t *testing.T) {
	decoder := serializer.NewCodecFactory(newObjects(t)).UniversalDeserializer()
	definition := crd.Ours(t, connects)
	schema := admission.Ours(t, connects, version)

	accepted, refused := 0, 0
	for path, probe := range crd.Probes(definition, version) {
		stored, errs := schema.Admit(encode(t, probe))
		if len(errs) > 0 {
			refused++
			continue
		}
		accepted++

		crd.MustDecode(t, path, decoder, encode(t, stored))
	}

	t.Logf("%d accepted, %d refused", accepted, refused)

	if accepted < 300 || refused < 300 {
		t.Errorf("%d accepted and %d refused probes: too few to mean anything", accepted, refused)
	}
}

// TestFullObjectsAreStoredWhole checks that objects are stored without loss. It stores one object that sets every
// property. If a property can have several values, it also stores one object for each other value.
func TestFullObjectsAreStoredWhole(t *testing.T) {
	ours := crd.Ours(t, connects)

	schema := admission.Ours(t, connects, version)
	for variant := range crd.Variants(ours, version) {
		obj := crd.Full(ours, version, variant, crd.Sizes)

		stored, errs := schema.Admit(encode(t, obj))
		if len(errs) > 0 {
			t.Errorf("variant %d: %v", variant, errs.ToAggregate())
		}

		if diff := cmp.Diff(obj, stored); diff != "" {
			t.Errorf("variant %d (-sent +stored):\n%s", variant, diff)
		}
	}
}

// TestNamesAreThePeers checks that our definition has the same names, columns, approval annotation and versions as the
// peer's, because users of the API see them.
func TestNamesAreThePeers(t *testing.T) {
	ours, theirs := crd.Ours(t, connects), crd.Theirs(t, connects)
	if diff := cmp.Diff(theirs.Spec.Names.ShortNames, ours.Spec.Names.ShortNames); diff != "" ||
		ours.Spec.Names.Kind != theirs.Spec.Names.Kind ||
		ours.Spec.Names.Plural != theirs.Spec.Names.Plural || ours.Spec.Scope != theirs.Spec.Scope {
		t.Errorf("names %+v, the peer's are %+v", ours.Spec.Names, theirs.Spec.Names)
	}

	columns := func(definition *apiextensionsv1.CustomResourceDefinition) (all []apiextensionsv1.CustomResourceColumnDefinition) {
		for _, c := range definition.Spec.Versions[0].AdditionalPrinterColumns {
			c.Description = ""
			if c.Name != "Cause" { // which only --output wide prints
				c.Priority = 0
				all = append(all, c)
			}
		}
		return all
	}
	if diff := cmp.Diff(columns(theirs), columns(ours)); diff != "" {
		t.Errorf("columns (-theirs +ours):\n%s", diff)
	}

	const approved = "api-approved.kubernetes.io"
	if got, want := ours.Annotations[approved], theirs.Annotations[approved]; got != want {
		t.Errorf("%s is %q, the peer's is %q", approved, got, want)
	}

	if v := ours.Spec.Versions[0]; len(ours.Spec.Versions) != 1 || v.Name != version || !v.Served || !v.Storage ||
		v.Subresources == nil || v.Subresources.Status == nil {
		t.Errorf("versions %+v", ours.Spec.Versions)
	}
}

// TestDefinitionCanBeApplied checks the size of the definition. kubectl apply stores a whole definition in one
// annotation, and the annotations of an object may have 256 KiB in total.
func TestDefinitionCanBeApplied(t *testing.T) {
	size, err := crd.CompactSize(crd.Ours(t, connects))
	if err != nil {
		t.Fatal(err)
	}

	t.Logf("%d bytes", size)

	if limit := 256 * 1024; size >= limit {
		t.Errorf("the definition has %d bytes as compact JSON, the limit is %d: shorten descriptions", size, limit)
	}
}

// TestChartHasTheSameDefinition checks that the chart's copy of the definition equals the definition in config/crd.
func TestChartHasTheSameDefinition(t *testing.T) {
	read := func(folder string) []byte {
		text, err := os.ReadFile(filepath.Join(crd.Root(t), folder, connects))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if !bytes.Equal(read("charts/spark-operator/files/crds"), read("config/crd")) {
		t.Error("the chart's definition is not the one in config/crd: run make generate")
	}
}
