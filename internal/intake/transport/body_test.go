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

	"github.com/sparkoperator/spark-operator/internal/intake/shed"
	"github.com/sparkoperator/spark-operator/test/kit/wire"
)

// parts specifies the kept fields of a message: it maps the number of each kept field to the Message that specifies
// what is kept of its content.
type parts = map[protowire.Number]*shed.Message

// names specifies the kept parts of a pod: its name and namespace, the labels a and b, and the names of its containers.
var names = shed.Kinds{"Pod": shed.Fields(parts{
	1: shed.Fields(parts{1: shed.Whole, 3: shed.Whole, 11: shed.Named("a", "b")}),
	2: shed.Fields(parts{2: shed.Fields(parts{1: shed.Whole})}),
})}

var podMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}

// frame returns the event of a watch in the API server's encoding.
func frame(t *testing.T, kind string, object runtime.Object) []byte {
	t.Helper()
	event := &metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: wire.Encode(t, object)}}

	body, err := event.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func bodyOf(in io.Reader) *frames {
	return &frames{Closer: io.NopCloser(in), from: in, event: names.Objects().Event()}
}

func TestFrames(t *testing.T) {
	pod := func(name string) *corev1.Pod {
		return &corev1.Pod{TypeMeta: podMeta, ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u"},
			Spec: corev1.PodSpec{NodeName: strings.Repeat("n", 1000)}}
	}
	expired := &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Message: "too old resource version"}
	in := bytes.Join([][]byte{frame(t, "ADDED", pod("one")), frame(t, "MODIFIED", pod("two")),
		frame(t, "ERROR", expired)}, nil)

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

				kinds, got, out = append(kinds, event.Type), append(got, wire.Decode(t, event.Object.Raw)), out[4+size:]
			}

			if diff := cmp.Diff([]string{"ADDED", "MODIFIED", "ERROR"}, kinds); diff != "" {
				t.Errorf("types (-want +got):\n%s", diff)
			}

			want := []runtime.Object{wire.Decode(t, wire.Encode(t, bare("one"))), wire.Decode(t, wire.Encode(t, bare("two"))), expired}
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
	if _, err := bodyOf(bytes.NewReader(huge)).Read(make([]byte, 10)); err == nil ||
		!strings.Contains(err.Error(), "16777217 bytes") {
		t.Errorf("of an event that is too large: %v", err)
	}
}
