package v1_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	strict "sigs.k8s.io/json"

	v1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/test/kit/crd"
	"github.com/sparkoperator/spark-operator/test/kit/crd/admission"
)

func newObjects(t testing.TB) *runtime.Scheme {
	t.Helper()

	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// load reads a manifest into its Go type and as plain JSON. The test fails if the manifest has a field that the Go type
// does not have.
func load(t testing.TB, path string) (runtime.Object, map[string]any) {
	t.Helper()

	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	plain := plainOf(t, raw)

	obj, err := newObjects(t).New(v1.GroupVersion.WithKind(plain["kind"].(string)))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}

	unknown, err := strict.UnmarshalStrict(raw, obj)
	if err != nil || len(unknown) > 0 {
		t.Fatalf("%s: %v %v", path, err, unknown)
	}
	return obj, plain
}

// plainOf decodes JSON and keeps each number as text, because decoding to a float64 would lose digits of 64-bit
// numbers.
func plainOf(t testing.TB, raw []byte) (plain map[string]any) {
	t.Helper()

	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()

	if err := decoder.Decode(&plain); err != nil {
		t.Fatal(err)
	}
	return plain
}

func manifests(t testing.TB) []string {
	t.Helper()

	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) < 7 {
		t.Fatalf("manifests in testdata: %v %v", paths, err)
	}
	return paths
}

func TestManifestsSurviveARoundTrip(t *testing.T) {
	stored := map[string]*admission.Schema{
		"SparkApplication": admission.Ours(t, definitions[0].ours, versions[0]),
		"SparkCluster":     admission.Ours(t, definitions[1].ours, versions[0]),
	}

	rules := crd.Rules(crd.Ours(t, definitions[0].ours), versions[0])
	for _, path := range manifests(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			obj, want := load(t, path)
			for name, o := range map[string]runtime.Object{"as read": obj, "copied": obj.DeepCopyObject()} {
				if diff := cmp.Diff(want, plainOf(t, encode(t, o))); diff != "" {
					t.Errorf("%s: (-manifest +after the round trip):\n%s", name, diff)
				}
			}

			kept, errs := stored[want["kind"].(string)].Admit(encode(t, want))
			// A rule rejects a new application in client mode, but the peer accepts and stores such a manifest.
			if len(errs) > 0 && !byRule(errs, rules) {
				t.Fatal(errs.ToAggregate())
			}

			if diff := cmp.Diff(want, plainOf(t, encode(t, kept))); diff != "" {
				t.Errorf("stored otherwise (-manifest +stored):\n%s", diff)
			}
		})
	}
}

// TestFullManifestsSetEveryField checks that the full manifests set every field, because other tests cover only fields
// that a manifest sets.
func TestFullManifestsSetEveryField(t *testing.T) {
	for _, path := range []string{"testdata/application-full.json", "testdata/cluster-full.json"} {
		obj, _ := load(t, path)

		v := reflect.ValueOf(obj).Elem()
		for _, part := range []string{"Spec", "Status"} {
			reportUnset(part, v.FieldByName(part), func(field string) { t.Errorf("%s: %s is not set", path, field) })
		}
	}
}

// reportUnset calls report for each field below v that is zero and belongs to one of this module's types.
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
	case reflect.Map:
		for _, key := range v.MapKeys() {
			reportUnset(path+"{}", v.MapIndex(key), report)
		}
	case reflect.Struct:
		if !strings.Contains(v.Type().PkgPath(), "/api/spark") {
			return
		}

		for field, value := range v.Fields() {
			at := path + "." + field.Name
			if value.IsZero() {
				report(at)
			}

			reportUnset(at, value, report)
		}
	}
}

// TestDecodingKeepsWrittenZeros checks that decoding distinguishes a zero that the user wrote from a missing field. It
// covers fields for which the definition sets no default.
func TestDecodingKeepsWrittenZeros(t *testing.T) {
	obj, _ := load(t, "testdata/application-thresholds.json")

	tolerations := obj.(*v1.SparkApplication).Spec.ApplicationTolerations
	for name, n := range map[string]*int64{
		"maxRestartAttempts":       tolerations.RestartConfig.MaxRestartAttempts,
		"restartBackoffMillis":     tolerations.RestartConfig.RestartBackoffMillis,
		"driverStartTimeoutMillis": tolerations.ApplicationTimeoutConfig.DriverStartTimeoutMillis,
		"initExecutors":            tolerations.InstanceConfig.InitExecutors,
	} {
		if n == nil || *n != 0 {
			t.Errorf("%s is %v, want 0", name, n)
		}
	}

	for name, n := range map[string]*int64{
		"maxRestartOnFailure":      tolerations.RestartConfig.MaxRestartOnFailure,
		"driverReadyTimeoutMillis": tolerations.ApplicationTimeoutConfig.DriverReadyTimeoutMillis,
	} {
		if n != nil {
			t.Errorf("%s is %d, want it absent", name, *n)
		}
	}
}

func TestKindsAreRegistered(t *testing.T) {
	scheme := newObjects(t)
	for _, kind := range []string{"SparkApplication", "SparkApplicationList", "SparkCluster", "SparkClusterList"} {
		if !scheme.Recognizes(v1.GroupVersion.WithKind(kind)) {
			t.Errorf("%s is not registered", kind)
		}
	}

	if got, want := v1.Resource("sparkclusters"),
		(schema.GroupResource{Group: "spark.apache.org", Resource: "sparkclusters"}); got != want {
		t.Errorf("resource %v, want %v", got, want)
	}

	if got, want := v1.Kind("SparkCluster"),
		(schema.GroupKind{Group: "spark.apache.org", Kind: "SparkCluster"}); got != want {
		t.Errorf("kind %v, want %v", got, want)
	}
}

// TestZeroValuesAreNotWritten checks that fields that are not set are not encoded. Users of the Go types build objects
// by hand, and the API server would store every field that is sent.
func TestZeroValuesAreNotWritten(t *testing.T) {
	for want, obj := range map[string]any{
		`{"metadata":{}}`: v1.SparkApplication{},
		`{"metadata":{},"spec":{"runtimeVersions":{"sparkVersion":"4.1.4"}}}`: v1.SparkApplication{
			Spec: v1.ApplicationSpec{RuntimeVersions: v1.RuntimeVersions{SparkVersion: "4.1.4"}},
		},
		`{"metadata":{},"spec":{"runtimeVersions":{"sparkVersion":"4.1.4"},"clusterTolerations":{"instanceConfig":{"initWorkers":0,"minWorkers":0,"maxWorkers":0}}}}`: v1.SparkCluster{
			Spec: v1.ClusterSpec{RuntimeVersions: v1.RuntimeVersions{SparkVersion: "4.1.4"}},
		},
		`{"serviceMetadata":{},"ingressMetadata":{}}`: v1.DriverServiceIngress{},
	} {
		if got := string(encode(t, obj)); got != want {
			t.Errorf("%T is written as\n%s\nwant\n%s", obj, got, want)
		}
	}
}

// TestStatusesHoldNoNull checks that no encoded status contains a null, whichever of its fields are set. The
// definitions accept no null, so the API server would reject such a status.
func TestStatusesHoldNoNull(t *testing.T) {
	for _, kind := range []reflect.Type{reflect.TypeFor[v1.ApplicationStatus](), reflect.TypeFor[v1.ClusterStatus]()} {
		for depth := range 7 {
			v := reflect.New(kind)
			fill(v.Elem(), depth)

			text := encode(t, v.Interface())
			if bytes.Contains(text, []byte("null")) {
				t.Errorf("%s, filled %d deep, is written as\n%s", kind, depth, text)
			}
		}
	}
}

// fill sets the fields below v. Values of types from other modules get a fixed value. Pointers, lists and maps of our
// types are set down to depth levels; below that they stay zero.
func fill(v reflect.Value, depth int) {
	switch v.Interface().(type) {
	case metav1.Time:
		v.Set(reflect.ValueOf(metav1.Unix(1, 0)))
		return
	case metav1.MicroTime:
		v.Set(reflect.ValueOf(metav1.MicroTime{Time: time.Unix(1, 0)}))
		return
	case runtime.RawExtension:
		v.Set(reflect.ValueOf(runtime.RawExtension{Raw: []byte("{}")}))
		return
	}

	if v.Kind() == reflect.Struct {
		for _, value := range v.Fields() {
			fill(value, depth)
		}
		return
	}

	if depth == 0 {
		return
	}

	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth-1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth-1)
	case reflect.Map:
		element := reflect.New(v.Type().Elem()).Elem()
		fill(element, depth-1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("0"), element)
	}
}
