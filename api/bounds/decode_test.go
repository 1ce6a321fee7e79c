package bounds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

type resourceSpec struct {
	Count      int32              `json:"count,omitempty"`
	Containers []corev1.Container `json:"containers,omitempty"`
}

type resourceStatus struct {
	Attempt int32               `json:"attempt,omitempty"`
	Free    corev1.ResourceList `json:"free,omitempty"`
	Since   metav1.Time         `json:"since,omitzero"`
	Names   []string            `json:"names,omitempty"`
	Lists   [][]string          `json:"lists,omitempty"`
}

type customResource struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   resourceSpec   `json:"spec,omitzero"`
	Status resourceStatus `json:"status,omitzero"`
}

var customKind = Kind{Spec: ShapeOf[resourceSpec](), Status: ShapeOf[resourceStatus]()}

func decode(t *testing.T, in string) (customResource, string) {
	t.Helper()
	got, fault, _ := decodeLength(t, in)
	return got, fault
}

func decodeLength(t *testing.T, in string) (got customResource, fault string, specBytes int) {
	t.Helper()
	// Decode must clear the former content.
	into := customResource{Spec: resourceSpec{Count: 7}, Status: resourceStatus{Attempt: 7}}

	fault, specBytes, err := Decode([]byte(in), customKind, &into, &into.Spec, &into.Status)
	if err != nil {
		t.Fatal(err)
	}
	return into, fault, specBytes
}

// TestDecodeReturnsTheLengthOfASpec checks that Decode returns the length of a decoded spec, even if the status is
// invalid, and 0 if the spec cannot be decoded. Callers use the length, so that they need not scan the spec again.
func TestDecodeReturnsTheLengthOfASpec(t *testing.T) {
	for in, want := range map[string]int{
		`{"spec": {"count":1} }`:                        len(`{"count":1}`),
		`{"spec":{"count":1},"status":{"attempt":"x"}}`: len(`{"count":1}`),
		`{"spec":{"count":"one"}}`:                      0,
		`{"spec":{"count":1},"metadata":{"labels":{` + strings.Repeat(`"a":"b",`, MaxEntries) + `"c":"d"}}}`: 0,
		`{"status":{"attempt":1}}`: 0,
	} {
		if _, _, got := decodeLength(t, in); got != want {
			t.Errorf("%.100s: %d bytes, want %d", in, got, want)
		}
	}
}

func TestDecodeDropsASpecBeyondALimit(t *testing.T) {
	const form = `{"kind":"K","metadata":{"name":"a","finalizers":["f"]},"spec":%s,"status":{"attempt":3,"names":["x"]}}`
	for _, test := range []struct{ spec, fault string }{
		{`{"containers":[{"resources":{"limits":{"cpu":"1e2000000000"}}}]}`,
			"spec.containers[0].resources.limits[cpu]: the exponent of a quantity has at most 2 digits"},
		{`{"containers":[{"resources":{"limits":{"cpu":"much"}}}]}`,
			`spec.containers[0].resources.limits[cpu]: "much" is not a quantity`},
		{`{"count":"three"}`, `spec.count: is the text "three", not a whole number; write one such as 1`},
		{`{"count":99999999999}`, "spec.count: is the number 99999999999, not in the range of the field; write a number from -2147483648 to 2147483647"},
		{`{"count":1e999999999}`, "spec.count: is the number 1e999999999, not a whole number; "},
		{`[]`, "spec: is a list, not an object; "},
		{`{"containers":[{"name":"` + strings.Repeat("x", MaxSpecBytes) + `"}]}`,
			"spec: has 524316 bytes of JSON, and at most 524288 are accepted"},
	} {
		got, fault := decode(t, fmt.Sprintf(form, test.spec))
		if !strings.HasPrefix(fault, test.fault) {
			t.Errorf("%.200s: fault %q, want %q", test.spec, fault, test.fault)
		}

		if diff := cmp.Diff(resourceSpec{}, got.Spec); diff != "" {
			t.Errorf("%s: not empty:\n%s", test.spec, diff)
		}

		if got.Name != "a" || got.Kind != "K" || len(got.Finalizers) != 1 || got.Status.Attempt != 3 ||
			len(got.Status.Names) != 1 {
			t.Errorf("%s: the rest was lost: %+v", test.spec, got)
		}
	}
}

func TestDecodeDropsTooManyLabels(t *testing.T) {
	for _, more := range []int{0, 1} {
		got, fault := decode(t, `{"metadata":{"labels":`+entries(MaxEntries+more)+
			`,"name":"a","finalizers":["f"]},"spec":{"count":2},"status":{"attempt":3}}`)
		if got.Name != "a" || len(got.Finalizers) != 1 || got.Status.Attempt != 3 {
			t.Errorf("the rest was lost: %+v", got)
		}

		switch {
		case more == 0 && (fault != "" || len(got.Labels) != MaxEntries || got.Spec.Count != 2):
			t.Errorf("fault %q, %d labels, spec %+v", fault, len(got.Labels), got.Spec)
		case more == 1 && (!strings.HasPrefix(fault, "metadata.labels: has more than 2000 entries; ") ||
			got.Labels != nil || got.Spec.Count != 0):
			t.Errorf("fault %q, %d labels, spec %+v", fault, len(got.Labels), got.Spec)
		}
	}
}

// TestDecodeKeepsTheValidPartsOfAStatus checks that Decode keeps the valid parts of a status, because an application
// that lost its status would run twice.
func TestDecodeKeepsTheValidPartsOfAStatus(t *testing.T) {
	const form = `{"metadata":{"name":"a"},"status":{"names":["x"],%s,"attempt":3},"spec":{"count":2}}`
	for name, test := range map[string]struct{ status, fault string }{
		"quantity": {`"free":{"memory":"1Gi","cpu":"1e2000000000"}`, ""},
		"list":     {`"names":` + repeated(`"x"`, MaxStatusItems+1), ""},
		"list in a list": {
			`"lists":[["a"],` + repeated(`"x"`, MaxStatusItems+1) + `,["b"]]`, ""},
		"list of lists that are too long": {`"lists":` + repeated(`["x"]`, MaxStatusItems+1), ""},
		"type":                            {`"since":"yesterday"`, "status: cannot be read: "},
		"deep":                            {`"other":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, fault := decode(t, fmt.Sprintf(form, test.status))
			if !strings.HasPrefix(fault, test.fault) || (fault == "") != (test.fault == "") {
				t.Errorf("fault %q, want %q", fault, test.fault)
			}

			if got.Spec.Count != 2 || got.Status.Attempt != 3 {
				t.Errorf("lost: %+v", got)
			}

			if free := got.Status.Free; free != nil && (free.Memory().String() != "1Gi" || !free.Cpu().IsZero()) {
				t.Errorf("free: %v", free)
			}

			if lists := got.Status.Lists; lists != nil &&
				(len(lists) != 3 || lists[0][0] != "a" || lists[1] != nil || lists[2][0] != "b") {
				t.Errorf("lists: %.200v", lists)
			}
		})
	}
}

// FuzzDecode checks that Decode returns the same object as a decoder without limits if the input is within the limits.
// It also checks that Decode reports an error or a fault for input that the decoder without limits rejects.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"kind":"K","metadata":{"name":"a"},"spec":{"count":1},"status":{"attempt":2}}`, `{"spec":null,"status":null}`,
		`{"spec":{},"spec":{"count":2}}`, `{"Spec":{"count":1}}`, `null`, `[]`, `{`,
		`{"spec":{"count":1.5}}`, `{"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"1e9"}}}]}}`,
		`{"metadata":1}`, `{"status":{"free":{"cpu":"1e1000"},"attempt":1}}`,
	} {
		f.Add([]byte(seed))
	}

	f.Fuzz(func(t *testing.T, in []byte) {
		var got, want customResource
		fault, _, err := Decode(in, customKind, &got, &got.Spec, &got.Status)

		parts, errParts := split(in, customKind)
		if errParts == nil && (parts.fault != nil || len(parts.patches) > 0) {
			return // a plain decoder might compute for hours
		}

		if errParts != nil && string(bytes.TrimSpace(in)) != "null" {
			if err == nil {
				t.Errorf("%q: read, although it is to be refused: %v", in, errParts)
			}
			return
		}

		errPlain := utiljson.Unmarshal(in, &want)
		switch {
		case errPlain == nil && (err != nil || fault != ""):
			t.Errorf("%q: %v, %q, but a plain decoder reads it", in, err, fault)
		case errPlain == nil:
			if a, b := encoded(t, got), encoded(t, want); a != b {
				t.Errorf("%q: decoded otherwise:\n%s\n%s", in, a, b)
			}
		case err == nil && fault == "":
			t.Errorf("%q: no fault, but a plain decoder says %v", in, errPlain)
		}
	})
}

func encoded(t *testing.T, v any) string {
	t.Helper()

	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
