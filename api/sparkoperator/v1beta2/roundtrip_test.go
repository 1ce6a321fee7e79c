package v1beta2_test

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

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

func newObjects(t testing.TB) *runtime.Scheme {
	t.Helper()

	scheme := runtime.NewScheme()
	if err := v1beta2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

func fixtures(t testing.TB) []string {
	t.Helper()

	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures in testdata: %v", err)
	}
	return paths
}

// load reads a fixture into its Go type and as plain JSON. The test fails if the fixture has a field that the Go type
// does not have.
func load(t testing.TB, path string) (runtime.Object, map[string]any) {
	t.Helper()

	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	var plain map[string]any
	if err := json.Unmarshal(raw, &plain); err != nil {
		t.Fatalf("%s: %v", path, err)
	}

	kind, _ := plain["kind"].(string)

	obj, err := newObjects(t).New(v1beta2.GroupVersion.WithKind(kind))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}

	unknown, err := strict.UnmarshalStrict(raw, obj)
	if err != nil || len(unknown) > 0 {
		t.Fatalf("%s: %v %v", path, err, unknown)
	}
	return obj, plain
}

func TestManifestsSurviveARoundTrip(t *testing.T) {
	for _, path := range fixtures(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			obj, want := load(t, path)
			for name, o := range map[string]runtime.Object{"as read": obj, "copied": obj.DeepCopyObject()} {
				var got map[string]any
				if err := json.Unmarshal(encode(t, o), &got); err != nil {
					t.Fatal(err)
				}

				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: (-manifest +after the round trip):\n%s", name, diff)
				}
			}
		})
	}
}

// TestFullManifestsSetEveryField checks that the full manifests set every field, because other tests cover only fields
// that a manifest sets.
func TestFullManifestsSetEveryField(t *testing.T) {
	for _, path := range []string{"testdata/application-full.json", "testdata/schedule-full.json"} {
		obj, _ := load(t, path)

		v := reflect.ValueOf(obj).Elem()
		for _, part := range []string{"Spec", "Status"} {
			reportUnset(part, v.FieldByName(part), func(field string) { t.Errorf("%s: %s is not set", path, field) })
		}
	}
}

// reportUnset calls report for each field below v that is zero and belongs to one of this package's types. It omits
// fields that are always encoded, because their zero is a value. A pointer to a zero is not a zero.
func reportUnset(path string, v reflect.Value, report func(string)) {
	ours := reflect.TypeFor[v1beta2.SparkApplication]().PkgPath()
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
		if v.Type().PkgPath() != ours {
			return
		}

		for field, value := range v.Fields() {
			at := path + "." + field.Name

			always := !strings.Contains(field.Tag.Get("json"), ",")
			if value.IsZero() && !always {
				report(at)
			}

			reportUnset(at, value, report)
		}
	}
}

func TestKindsAreRegistered(t *testing.T) {
	scheme := newObjects(t)
	for _, kind := range []string{"SparkApplication", "SparkApplicationList", "ScheduledSparkApplication",
		"ScheduledSparkApplicationList"} {
		if !scheme.Recognizes(v1beta2.GroupVersion.WithKind(kind)) {
			t.Errorf("%s is not registered", kind)
		}
	}

	if got, want := v1beta2.Resource("sparkapplications"),
		(schema.GroupResource{Group: "sparkoperator.k8s.io", Resource: "sparkapplications"}); got != want {
		t.Errorf("resource %v, want %v", got, want)
	}

	if got, want := v1beta2.Kind("SparkApplication"),
		(schema.GroupKind{Group: "sparkoperator.k8s.io", Kind: "SparkApplication"}); got != want {
		t.Errorf("kind %v, want %v", got, want)
	}
}

// TestZeroValuesAreNotWritten checks that fields that are not set are not encoded. Users of the peer's Go types build
// objects by hand, and the API server would store every field that is sent.
func TestZeroValuesAreNotWritten(t *testing.T) {
	got := string(encode(t, v1beta2.SparkApplication{}))

	want := `{"metadata":{},"spec":{"type":"","sparkVersion":"","mainApplicationFile":"","driver":{},"executor":{}}}`
	if got != want {
		t.Errorf("an empty SparkApplication is written as\n%s\nwant\n%s", got, want)
	}

	got = string(encode(t, v1beta2.SparkApplicationStatus{}))
	if want := `{"driverInfo":{},"applicationState":{"state":""}}`; got != want {
		t.Errorf("an empty status is written as %s, want %s", got, want)
	}
}
