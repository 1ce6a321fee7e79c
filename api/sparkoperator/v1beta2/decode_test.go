package v1beta2_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// small is an application of 350 bytes in which %q stands for a quantity. Some quantities once kept an informer busy
// for hours.
const small = `{"apiVersion":"sparkoperator.k8s.io/v1beta2","kind":"SparkApplication","metadata":{"name":"a","namespace":"b"},"spec":{"type":"Scala","sparkVersion":"4.1.4",` +
	`"mainApplicationFile":"local:///a.jar","executor":{},"driver":{"sidecars":[{"name":"s","resources":{"limits":{"cpu":%q}}}]}},"status":{"executionAttempts":3,"driverInfo":{}}}`

// TestSmallObjectsThatTakeHoursAreDecodedAtOnce decodes objects as an informer does, as single objects and in a list. A
// decoder that computes with the quantity would exceed the deadline of one minute; ours takes microseconds.
func TestSmallObjectsThatTakeHoursAreDecodedAtOnce(t *testing.T) {
	decoder := serializer.NewCodecFactory(newObjects(t)).UniversalDeserializer()
	for _, cpu := range []string{
		"1234567890123456789012e2000000000", "1e-2000000000", "1E2000000000", "1e0000000000000000099",
		strings.Repeat("1", 1_000_000), strings.Repeat("1", 1_000_000) + "Ki",
		"0." + strings.Repeat("1", 1_000_000),
	} {
		document := fmt.Sprintf(small, cpu)
		list := `{"apiVersion":"sparkoperator.k8s.io/v1beta2","kind":"SparkApplicationList","metadata":{},"items":[` +
			fmt.Sprintf(small, "1") + "," + document + `]}`

		done := make(chan []v1beta2.SparkApplication, 1)
		go func() {
			var all []v1beta2.SparkApplication
			for _, text := range []string{document, list} {
				object, _, err := decoder.Decode([]byte(text), nil, nil)
				if err != nil {
					t.Error(err)
				}

				switch object := object.(type) {
				case *v1beta2.SparkApplication:
					all = append(all, *object)
				case *v1beta2.SparkApplicationList:
					all = append(all, object.Items...)
				}
			}
			done <- all
		}()

		select {
		case <-time.After(time.Minute):
			t.Fatalf("%.80q is not decoded after a minute", cpu)
		case all := <-done:
			for i, app := range all {
				within := i == 1
				if within != (app.OutOfBounds == "") || app.Name != "a" || app.Status.ExecutionAttempts != 3 {
					t.Errorf("%.80q, object %d: %q, %s, %d attempts", cpu, i, app.OutOfBounds, app.Name,
						app.Status.ExecutionAttempts)
				}

				if !within && !strings.HasPrefix(app.OutOfBounds, "spec.driver.sidecars[0].resources.limits[cpu]: ") {
					t.Errorf("%.80q: %s", cpu, app.OutOfBounds)
				}
			}
		}
	}
}

// TestAnUnreadSpecIsNotWrittenBack checks that an object whose spec could not be decoded cannot be encoded, so that its
// empty spec does not overwrite the stored spec.
func TestAnUnreadSpecIsNotWrittenBack(t *testing.T) {
	var app v1beta2.SparkApplication
	if err := json.Unmarshal([]byte(fmt.Sprintf(small, "1e100")), &app); err != nil || app.OutOfBounds == "" {
		t.Fatal(err, app.OutOfBounds)
	}

	if text, err := json.Marshal(&app); err == nil || !strings.Contains(err.Error(), "limits[cpu]") {
		t.Errorf("%v, %s", err, text)
	}

	if err := json.Unmarshal([]byte(fmt.Sprintf(small, "1")), &app); err != nil || app.OutOfBounds != "" ||
		len(app.Spec.Driver.Sidecars) != 1 {
		t.Errorf("put right: %v, %q", err, app.OutOfBounds)
	}
}

// plain is a SparkApplication without limits. It has no UnmarshalJSON, and UnmarshalJSON is what checks the limits.
type plain v1beta2.SparkApplication

func TestObjectsWithinTheLimitsAreDecodedAsBefore(t *testing.T) {
	for _, path := range fixtures(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var expected plain
		var decoded v1beta2.SparkApplication

		if err := utiljson.Unmarshal(text, &expected); err != nil || expected.Kind != "SparkApplication" {
			continue // a schedule
		}

		if err := utiljson.Unmarshal(text, &decoded); err != nil {
			t.Fatal(err)
		}

		if decoded.SpecBytes == 0 {
			t.Errorf("%s: the length of the spec is not known", path)
		}

		expected.SpecBytes = decoded.SpecBytes // only UnmarshalJSON sets this field
		if diff := cmp.Diff(v1beta2.SparkApplication(expected), decoded); diff != "" {
			t.Errorf("%s: (-plain +checked):\n%s", path, diff)
		}
	}
}

// BenchmarkDecode measures the cost of the limits. It decodes an application that sets every field, as a client decodes
// it, with limits and without them.
func BenchmarkDecode(b *testing.B) {
	obj, _ := load(b, "testdata/application-full.json")
	text := encode(b, obj)
	decoder := serializer.NewCodecFactory(newObjects(b)).UniversalDeserializer()
	b.Run("checked", func(b *testing.B) {
		b.SetBytes(int64(len(text)))

		for b.Loop() {
			if _, _, err := decoder.Decode(text, nil, &v1beta2.SparkApplication{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plain", func(b *testing.B) {
		b.SetBytes(int64(len(text)))

		for b.Loop() {
			var meta runtime.TypeMeta // which the client reads first

			var app plain
			if utiljson.Unmarshal(text, &meta) != nil || utiljson.Unmarshal(text, &app) != nil {
				b.Fatal("not decoded")
			}
		}
	})
}
