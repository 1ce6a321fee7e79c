package statuswrite

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
)

func TestOwnWrites(t *testing.T) {
	object := func(uid types.UID, version string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "x", UID: uid,
			ResourceVersion: version}}
	}
	for _, test := range []struct {
		name  string
		wrote *corev1.ConfigMap
		read  *corev1.ConfigMap
		stale bool
	}{
		{"no write is recorded", nil, object("u", "5"), false},
		{"the cache is older", object("u", "10"), object("u", "9"), true},
		{"the cache has the write", object("u", "10"), object("u", "10"), false},
		{"the cache is newer", object("u", "10"), object("u", "11"), false},
		{"the object was deleted and created again", object("u", "10"), object("v", "9"), false},
		{"the resourceVersions cannot be compared", object("u", "ten"), object("u", "9"), false},
	} {
		var w OwnWrites
		if test.wrote != nil {
			w.Wrote(test.wrote)
		}

		if got, doubted := w.CacheIsStale(test.read, noon); got != test.stale || doubted {
			t.Errorf("%s: stale is %t", test.name, got)
		}

		w.Forget(identity.Key(test.read))

		if ahead, _ := w.CacheIsStale(test.read, noon); ahead {
			t.Errorf("%s: the write is remembered after Forget", test.name)
		}
	}
}

func TestStatusPatch(t *testing.T) {
	old := v1beta2.SparkApplicationStatus{SubmissionID: "a",
		AppState: v1beta2.ApplicationState{State: v1beta2.ApplicationStateSubmitted}}
	for _, test := range []struct {
		name   string
		stored v1beta2.SparkApplicationStatus
		change func(*v1beta2.SparkApplication)
		want   string
	}{
		{"nothing", old, func(*v1beta2.SparkApplication) {}, ""},
		{"only metadata", old, func(a *v1beta2.SparkApplication) { a.Labels = map[string]string{"a": "b"} }, ""},
		{"one field", old, func(a *v1beta2.SparkApplication) { a.Status.AppState.State = v1beta2.ApplicationStateRunning },
			`{"metadata":{"resourceVersion":"7","uid":"u"},"status":{"applicationState":{"state":"RUNNING"}}}`},
		{"a removed field", old, func(a *v1beta2.SparkApplication) { a.Status.SubmissionID = "" },
			`{"metadata":{"resourceVersion":"7","uid":"u"},"status":{"submissionID":null}}`},
		{"the first status is sent whole, with its required fields", v1beta2.SparkApplicationStatus{},
			func(a *v1beta2.SparkApplication) { a.Status.SubmissionID = "a" },
			`{"metadata":{"resourceVersion":"7","uid":"u"},"status":{"submissionID":"a","driverInfo":{},"applicationState":{"state":""}}}`},
	} {
		stored := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{UID: "u", ResourceVersion: "7"},
			Status: test.stored}
		object := stored.DeepCopy()
		test.change(object)

		got, err := Patch(stored, object, tiny.Kind().Status)
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %s, %v; want %s", test.name, got, err, test.want)
		}
	}
}

// TestStatusPatchIsTheWholeDifference checks that leaving out equal fields before the comparison does not change the
// patch.
func TestStatusPatchIsTheWholeDifference(t *testing.T) {
	t.Run("SparkApplication", wholeDifference(configured.For(kinds.SparkApplication).Build(config.Default, nil)))
	t.Run("ScheduledSparkApplication", wholeDifference(configured.For(kinds.Schedule).Build(config.Default, nil)))
	t.Run("SparkConnect", wholeDifference(configured.For(kinds.SparkConnect).Build(config.Default, nil)))
	t.Run("SparkApplication of Apache",
		wholeDifference(configured.For(kinds.ApacheApplication).Build(config.Default, nil)))
	t.Run("SparkCluster", wholeDifference(configured.For(kinds.SparkCluster).Build(config.Default, nil)))
}

// anyStatuses returns a filler of statuses with values that an API server could hold.
func anyStatuses(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.3).NumElements(0, 3).MaxDepth(12).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewQuantity(int64(c.Intn(1000)), resource.DecimalSI)
		},
		func(m *metav1.Time, c randfill.Continue) { m.Time = time.Unix(int64(c.Intn(1<<30)), 0) },
		func(m *metav1.MicroTime, c randfill.Continue) { m.Time = time.Unix(int64(c.Intn(1<<30)), 0) },
		func(i *intstr.IntOrString, c randfill.Continue) { *i = intstr.FromInt32(int32(c.Intn(1000))) },
		func(s *string, c randfill.Continue) { *s = fmt.Sprintf("s%d", c.Intn(1000)) },
	)
}

func wholeDifference(kind contract.Kind) func(*testing.T) {
	return func(t *testing.T) {
		parts, nothing := 0, 0
		for seed := range int64(300) {
			random := rand.New(rand.NewPCG(uint64(seed), 0))
			fill := anyStatuses(seed).Funcs(func(raw *runtime.RawExtension, c randfill.Continue) {
				*raw = runtime.RawExtension{Raw: fmt.Appendf(nil, `{"phase":"s%d","list":[%d]}`, c.Intn(9), c.Intn(9))}
			})
			app, other := kind.New(), kind.New()
			fill.Fill(kind.Status(app))
			fill.Fill(kind.Status(other))
			before := jsonOf(t, kind.Status(app))

			stored := kind.New()
			if err := json.Unmarshal(before, kind.Status(stored)); err != nil {
				t.Fatal(err)
			}

			mix(reflect.ValueOf(kind.Status(app)).Elem(), reflect.ValueOf(kind.Status(other)).Elem(), random)

			patch, err := Patch(stored, app, kind.Status)
			if err != nil {
				t.Fatal(err)
			}

			want, err := jsonpatch.CreateMergePatch(before, jsonOf(t, kind.Status(app)))
			if err != nil {
				t.Fatal(err)
			}

			var got struct{ Status json.RawMessage }
			switch {
			case patch == nil:
				got.Status, nothing = []byte("{}"), nothing+1
			case json.Unmarshal(patch, &got) != nil:
				t.Fatalf("seed %d: %s", seed, patch)
			default:
				parts++
			}

			if string(got.Status) != string(want) {
				t.Errorf("seed %d:\n%s, want\n%s", seed, got.Status, want)
			}
		}

		if parts == 0 || nothing == 0 {
			t.Errorf("%d pairs of statuses differ, %d are equal", parts, nothing)
		}
	}
}

// TestDifferingCopiesSelfEncodingTypesWhole checks that a type with its own JSON encoding is copied whole. A field that
// is equal in both structs may determine the encoding of another field, as the Type of an IntOrString does.
func TestDifferingCopiesSelfEncodingTypesWhole(t *testing.T) {
	type status struct {
		Name string
		Port *intstr.IntOrString
	}

	before, after := differing(reflect.ValueOf(&status{"a", new(intstr.FromString("http"))}),
		reflect.ValueOf(&status{"a", new(intstr.FromString("https"))}))
	for got, want := range map[reflect.Value]string{before: `{"Name":"","Port":"http"}`,
		after: `{"Name":"","Port":"https"}`} {
		if text := string(jsonOf(t, got.Interface())); text != want {
			t.Errorf("%s, want %s", text, want)
		}
	}
}

// mix copies some fields of one struct to another, including fields behind pointers.
func mix(into, from reflect.Value, random *rand.Rand) {
	if random.IntN(4) == 0 {
		return
	}

	for i := range into.NumField() {
		a, b := into.Field(i), from.Field(i)
		switch {
		case a.Kind() == reflect.Pointer && a.Type().Elem().Kind() == reflect.Struct && !a.IsNil() && !b.IsNil():
			mix(a.Elem(), b.Elem(), random)
		case random.IntN(3) == 0:
			a.Set(b)
		}
	}
}

func jsonOf(t testing.TB, value any) []byte {
	t.Helper()

	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
