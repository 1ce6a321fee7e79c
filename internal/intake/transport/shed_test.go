package transport

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// parts specifies the kept fields of a message: it maps the number of each kept field to the Message that specifies
// what is kept of its content.
type parts = map[protowire.Number]*Message

// names specifies the kept parts of a pod: its name and namespace, the labels a and b, and the names of its containers.
var names = Kinds{"Pod": Fields(parts{
	1: Fields(parts{1: Whole, 3: Whole, 11: Named("a", "b")}),
	2: Fields(parts{2: Fields(parts{1: Whole})}),
})}

var codec = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

// encoded returns an object in the API server's encoding.
func encoded(t testing.TB, object runtime.Object) []byte {
	t.Helper()

	var out bytes.Buffer
	if err := codec.Encode(object, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func decoded(t testing.TB, object []byte) runtime.Object {
	t.Helper()

	out, _, err := codec.Decode(object, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var podMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}

func TestShed(t *testing.T) {
	long := strings.Repeat("x", 300) // lengths of two bytes shrink to one
	for name, test := range map[string]struct{ in, want runtime.Object }{
		"unkept fields are removed at each depth": {
			&corev1.Pod{TypeMeta: podMeta, ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n", UID: "u", Generation: 7, Finalizers: []string{long}},
				Spec:   corev1.PodSpec{NodeName: "x", Containers: []corev1.Container{{Name: "one", Image: long}, {Name: "two", Args: []string{long, long}}}},
				Status: corev1.PodStatus{Phase: corev1.PodRunning}},
			&corev1.Pod{TypeMeta: podMeta, ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n"},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "one"}, {Name: "two"}}}},
		},
		"a kept field may be long": {
			&corev1.Pod{TypeMeta: podMeta, ObjectMeta: metav1.ObjectMeta{Name: long, Namespace: long, Labels: map[string]string{"a": long}}},
			&corev1.Pod{TypeMeta: podMeta, ObjectMeta: metav1.ObjectMeta{Name: long, Namespace: long, Labels: map[string]string{"a": long}}},
		},
		"named entries of a map are kept": {
			&corev1.Pod{TypeMeta: podMeta, ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "1", "ab": "2", "b": "", "": "4", "z": "5"}}},
			&corev1.Pod{TypeMeta: podMeta, ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "1", "b": ""}}},
		},
		"nothing": {&corev1.Pod{TypeMeta: podMeta}, &corev1.Pod{TypeMeta: podMeta}},
		"objects of another kind are kept whole": {
			&metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Message: "too old", Reason: metav1.StatusReasonExpired, Code: 410},
			&metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Message: "too old", Reason: metav1.StatusReasonExpired, Code: 410},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := encoded(t, test.in)
			out := names.Shed(in)
			got := decoded(t, out)

			want := decoded(t, encoded(t, test.want)) // protobuf changes empty messages in both
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
	pod := encoded(t, &corev1.Pod{TypeMeta: podMeta, ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"a": "b"}}})
	for name, in := range map[string][]byte{
		"empty":       {},
		"other magic": append([]byte("json"), pod[4:]...),
		"magic alone": magic,
		"cut short":   pod[:len(pod)-5],
		"JSON":        []byte(`{"kind":"Pod"}`),
	} {
		t.Run(name, func(t *testing.T) {
			if got := names.objects().shed([]byte("before"), in); !bytes.Equal(got, append([]byte("before"), in...)) {
				t.Errorf("shed(%q) = %q", in, got)
			}
		})
	}

	cut := protowire.AppendTag(nil, 1, protowire.BytesType)
	if _, err := Fields(parts{1: Whole}).shed(nil, append(cut, 9)); err == nil {
		t.Error("a field that is longer than its message is no error")
	}
}

// frame returns the event of a watch in the API server's encoding.
func frame(t *testing.T, kind string, object runtime.Object) []byte {
	t.Helper()
	event := &metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: encoded(t, object)}}

	body, err := event.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func bodyOf(in io.Reader) *frames {
	return &frames{Closer: io.NopCloser(in), from: in, event: names.objects().event()}
}

func TestFrames(t *testing.T) {
	pod := func(name string) *corev1.Pod {
		return &corev1.Pod{TypeMeta: podMeta, ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u"}, Spec: corev1.PodSpec{NodeName: strings.Repeat("n", 1000)}}
	}
	expired := &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Message: "too old resource version"}
	in := bytes.Join([][]byte{frame(t, "ADDED", pod("one")), frame(t, "MODIFIED", pod("two")), frame(t, "ERROR", expired)}, nil)

	bare := func(name string) *corev1.Pod {
		return &corev1.Pod{TypeMeta: podMeta, ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	for name, reader := range map[string]func(io.Reader) io.Reader{
		"in whole reads":      func(r io.Reader) io.Reader { return r },
		"byte by byte":        iotest.OneByteReader,
		"half by half":        iotest.HalfReader,
		"with its end":        iotest.DataErrReader,
		"byte by byte, twice": func(r io.Reader) io.Reader { return iotest.OneByteReader(iotest.OneByteReader(r)) },
	} {
		t.Run(name, func(t *testing.T) {
			out, err := io.ReadAll(reader(bodyOf(reader(bytes.NewReader(in)))))
			if err != nil {
				t.Fatal(err)
			}
			var got []runtime.Object

			var kinds []string
			for len(out) > 0 {
				size := binary.BigEndian.Uint32(out)

				var event metav1.WatchEvent
				if err := event.Unmarshal(out[4 : 4+size]); err != nil {
					t.Fatal(err)
				}

				kinds, got, out = append(kinds, event.Type), append(got, decoded(t, event.Object.Raw)), out[4+size:]
			}

			if diff := cmp.Diff([]string{"ADDED", "MODIFIED", "ERROR"}, kinds); diff != "" {
				t.Errorf("types (-want +got):\n%s", diff)
			}

			want := []runtime.Object{decoded(t, encoded(t, bare("one"))), decoded(t, encoded(t, bare("two"))), expired}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFramesCut checks that Read returns io.ErrUnexpectedEOF if a watch is interrupted within an event, and io.EOF if
// it ends between two events. After io.ErrUnexpectedEOF, the reflector must list again or watch from its last version.
func TestFramesCut(t *testing.T) {
	whole := frame(t, "ADDED", &corev1.Pod{TypeMeta: podMeta})
	for name, test := range map[string]struct {
		in   []byte
		want error
	}{
		"at an end":      {nil, io.EOF},
		"in a length":    {whole[:2], io.ErrUnexpectedEOF},
		"after a length": {whole[:4], io.ErrUnexpectedEOF},
		"in an event":    {whole[:len(whole)-1], io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			//nolint:errorlint // readers compare with ==
			if _, err := bodyOf(bytes.NewReader(test.in)).Read(make([]byte, 10)); err != test.want {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}

	huge := binary.BigEndian.AppendUint32(nil, maxFrame+1)
	if _, err := bodyOf(bytes.NewReader(huge)).Read(make([]byte, 10)); err == nil || !strings.Contains(err.Error(), "16777217 bytes") {
		t.Errorf("of an event that is too large: %v", err)
	}
}

// FuzzShed checks that Shed handles any input without a panic, and that its output is not longer than the input.
func FuzzShed(f *testing.F) {
	f.Add(encoded(f, &corev1.Pod{TypeMeta: podMeta, ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"a": "1", "z": "2"}}}))
	f.Add([]byte("k8s\x00\x0a\x05\x12\x03Pod\x12\x02\x0a\x80"))
	f.Fuzz(func(t *testing.T, in []byte) {
		if out := names.Shed(in); len(out) > len(in) {
			t.Errorf("%d bytes became %d", len(in), len(out))
		}
	})
}
