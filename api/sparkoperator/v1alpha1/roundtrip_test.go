package v1alpha1_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	strict "sigs.k8s.io/json"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/test/kit/crd/admission"
)

func newObjects(t testing.TB) *runtime.Scheme {
	t.Helper()

	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// load reads a manifest into its Go type and as plain JSON. The test fails if the manifest has a field that the Go type
// does not have.
func load(t testing.TB, path string) (*v1alpha1.SparkConnect, map[string]any) {
	t.Helper()

	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	var plain map[string]any
	if err := json.Unmarshal(raw, &plain); err != nil {
		t.Fatalf("%s: %v", path, err)
	}

	sc := &v1alpha1.SparkConnect{}

	unknown, err := strict.UnmarshalStrict(raw, sc)
	if err != nil || len(unknown) > 0 {
		t.Fatalf("%s: %v %v", path, err, unknown)
	}
	return sc, plain
}

func manifests(t testing.TB) []string {
	t.Helper()

	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) != 2 {
		t.Fatalf("manifests in testdata: %v %v", paths, err)
	}
	return paths
}

func TestManifestsSurviveARoundTrip(t *testing.T) {
	stored := admission.Ours(t, connects, version)
	for _, path := range manifests(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			sc, want := load(t, path)
			for name, o := range map[string]runtime.Object{"as read": sc, "copied": sc.DeepCopyObject()} {
				var got map[string]any
				if err := json.Unmarshal(encode(t, o), &got); err != nil {
					t.Fatal(err)
				}

				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: (-manifest +after the round trip):\n%s", name, diff)
				}
			}

			kept, errs := stored.Admit(encode(t, want))
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}

			var got map[string]any
			if err := json.Unmarshal(encode(t, kept), &got); err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("stored otherwise (-manifest +stored):\n%s", diff)
			}
		})
	}
}

// TestFullManifestSetsEveryField checks that the full manifest sets every field, because other tests cover only fields
// that a manifest sets.
func TestFullManifestSetsEveryField(t *testing.T) {
	sc, _ := load(t, "testdata/connect-full.json")

	v := reflect.ValueOf(sc).Elem()
	for _, part := range []string{"Spec", "Status"} {
		reportUnset(part, v.FieldByName(part), func(field string) { t.Errorf("%s is not set", field) })
	}
}

// reportUnset calls report for each field below v that is zero and belongs to one of this group's types. It omits
// fields that are always encoded.
func reportUnset(path string, v reflect.Value, report func(string)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			reportUnset(path, v.Elem(), report)
		}
	case reflect.Slice:
		for i := range v.Len() {
			reportUnset(path+"[]", v.Index(i), report)
		}
	case reflect.Struct:
		if !strings.Contains(v.Type().PkgPath(), "/api/sparkoperator/") {
			return
		}

		for field, value := range v.Fields() {
			at := path + "." + field.Name
			if always := !strings.Contains(field.Tag.Get("json"), ","); value.IsZero() && !always {
				report(at)
			}

			reportUnset(at, value, report)
		}
	}
}

func TestKindsAreRegistered(t *testing.T) {
	scheme := newObjects(t)
	for _, kind := range []string{"SparkConnect", "SparkConnectList"} {
		if !scheme.Recognizes(v1alpha1.GroupVersion.WithKind(kind)) {
			t.Errorf("%s is not registered", kind)
		}
	}

	if got, want := v1alpha1.Resource("sparkconnects"),
		(schema.GroupResource{Group: "sparkoperator.k8s.io", Resource: "sparkconnects"}); got != want {
		t.Errorf("resource %v, want %v", got, want)
	}

	if got, want := v1alpha1.Kind("SparkConnect"),
		(schema.GroupKind{Group: "sparkoperator.k8s.io", Kind: "SparkConnect"}); got != want {
		t.Errorf("kind %v, want %v", got, want)
	}
}

// TestZeroValuesAreNotWritten checks that fields that are not set are not encoded. Users of the peer's Go types build
// objects by hand, and the API server would store every field that is sent.
func TestZeroValuesAreNotWritten(t *testing.T) {
	got := string(encode(t, v1alpha1.SparkConnect{}))
	if want := `{"metadata":{},"spec":{"sparkVersion":"","server":{},"executor":{}}}`; got != want {
		t.Errorf("an empty SparkConnect is written as\n%s\nwant\n%s", got, want)
	}

	if got := string(encode(t, v1alpha1.SparkConnectStatus{})); got != `{}` {
		t.Errorf("an empty status is written as %s", got)
	}
}

// TestStatusWordsAreThePeers checks that the states, the condition and its reason have the same texts as in the peer,
// because clients of this API compare them.
func TestStatusWordsAreThePeers(t *testing.T) {
	for got, want := range map[string]string{
		string(v1alpha1.SparkConnectStateNew): "", string(v1alpha1.SparkConnectStateProvisioning): "Provisioning",
		string(v1alpha1.SparkConnectStateReady):    "Ready",
		string(v1alpha1.SparkConnectStateNotReady): "NotReady", string(v1alpha1.SparkConnectStateFailed): "Failed",
		v1alpha1.ConditionServerPodReady: "ServerPodReady", v1alpha1.ReasonServerPodNotReady: "ServerPodNotReady",
	} {
		if got != want {
			t.Errorf("%q, the peer says %q", got, want)
		}
	}
}
