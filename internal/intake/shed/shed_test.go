package shed

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/test/kit/wire"
)

// parts specifies the kept fields of a message: it maps the number of each kept field to the Message that specifies
// what is kept of its content.
type parts = map[protowire.Number]*Message

// names specifies the kept parts of a pod: its name and namespace, the labels a and b, and the names of its containers.
var names = Kinds{"Pod": Fields(parts{
	1: Fields(parts{1: Whole, 3: Whole, 11: Named("a", "b")}),
	2: Fields(parts{2: Fields(parts{1: Whole})}),
})}

var podMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}

func TestShed(t *testing.T) {
	long := strings.Repeat("x", 300) // lengths of two bytes shrink to one
	for name, test := range map[string]struct{ in, want runtime.Object }{
		"unkept fields are removed at each depth": {
			&corev1.Pod{TypeMeta: podMeta,
				ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n", UID: "u", Generation: 7,
					Finalizers: []string{long}},
				Spec: corev1.PodSpec{NodeName: "x",
					Containers: []corev1.Container{{Name: "one", Image: long},
						{Name: "two", Args: []string{long, long}}}},
				Status: corev1.PodStatus{Phase: corev1.PodRunning}},
			&corev1.Pod{TypeMeta: podMeta, ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n"},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "one"}, {Name: "two"}}}},
		},
		"a kept field may be long": {
			&corev1.Pod{TypeMeta: podMeta,
				ObjectMeta: metav1.ObjectMeta{Name: long, Namespace: long, Labels: map[string]string{"a": long}}},
			&corev1.Pod{TypeMeta: podMeta,
				ObjectMeta: metav1.ObjectMeta{Name: long, Namespace: long, Labels: map[string]string{"a": long}}},
		},
		"named entries of a map are kept": {
			&corev1.Pod{TypeMeta: podMeta,
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "1", "ab": "2", "b": "", "": "4",
					"z": "5"}}},
			&corev1.Pod{TypeMeta: podMeta, ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "1", "b": ""}}},
		},
		"nothing": {&corev1.Pod{TypeMeta: podMeta}, &corev1.Pod{TypeMeta: podMeta}},
		"objects of another kind are kept whole": {
			&metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure",
				Message: "too old", Reason: metav1.StatusReasonExpired, Code: 410},
			&metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure",
				Message: "too old", Reason: metav1.StatusReasonExpired, Code: 410},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := wire.Encode(t, test.in)
			out := names.Shed(in)
			got := wire.Decode(t, out)

			want := wire.Decode(t, wire.Encode(t, test.want)) // protobuf changes empty messages in both
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}

			if len(out) > len(in) {
				t.Errorf("%d bytes became %d", len(in), len(out))
			}
		})
	}
}

// TestShedMalformed checks that unreadable input is returned unchanged, so that the client's decoder reports its
// well-known error.
func TestShedMalformed(t *testing.T) {
	pod := wire.Encode(t, &corev1.Pod{TypeMeta: podMeta,
		ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"a": "b"}}})
	for name, in := range map[string][]byte{
		"empty":       {},
		"other magic": append([]byte("json"), pod[4:]...),
		"magic alone": magic,
		"cut short":   pod[:len(pod)-5],
		"JSON":        []byte(`{"kind":"Pod"}`),
	} {
		t.Run(name, func(t *testing.T) {
			if got := names.Objects().Append([]byte("before"), in); !bytes.Equal(got, append([]byte("before"), in...)) {
				t.Errorf("Append(%q) = %q", in, got)
			}
		})
	}

	cut := protowire.AppendTag(nil, 1, protowire.BytesType)
	if _, err := Fields(parts{1: Whole}).Append(nil, append(cut, 9)); err == nil {
		t.Error("a field that is longer than its message is no error")
	}
}

// FuzzShed checks that Shed handles any input without a panic, and that its output is not longer than the input.
func FuzzShed(f *testing.F) {
	f.Add(wire.Encode(f, &corev1.Pod{TypeMeta: podMeta,
		ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"a": "1", "z": "2"}}}))
	f.Add([]byte("k8s\x00\x0a\x05\x12\x03Pod\x12\x02\x0a\x80"))
	f.Fuzz(func(t *testing.T, in []byte) {
		if out := names.Shed(in); len(out) > len(in) {
			t.Errorf("%d bytes became %d", len(in), len(out))
		}
	})
}
