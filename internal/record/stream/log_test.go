package stream

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/record/bucket"
	"github.com/sparkoperator/spark-operator/internal/record/capture"
	"github.com/sparkoperator/spark-operator/internal/record/store"
)

const appUID = "6b1f7a52-94f5-4a5a-8d5e-5d5d0a3b7f10"

var at = store.Attempt{APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "SparkApplication", Namespace: "jobs", Name: "pi", UID: appUID, Number: 1}

// node plays the log of one container as a kubelet serves it.
type node struct {
	clock time.Time
	lines []line
	uid   types.UID
	uids  int                // requests for the UID
	since []time.Time        // of all requests
	after context.CancelFunc // called at the end of an answer, so that the store refuses
}

type line struct {
	at   time.Time
	text string // without a line break if the line is not finished
}

func (n *node) Open(_ context.Context, r Request) (io.ReadCloser, error) {
	n.since = append(n.since, r.Since)

	var out bytes.Buffer
	for _, l := range n.lines {
		if l.at.Before(r.Since) {
			continue
		}

		if r.Times {
			out.WriteString(l.at.Format("2006-01-02T15:04:05.000000000Z07:00") + " ")
		}

		out.WriteString(l.text)
	}
	return &answer{&out, n.after}, nil
}

func (n *node) UID(context.Context, types.NamespacedName) (types.UID, error) {
	n.uids++
	return n.uid, nil
}

// answer calls a function at its end.
type answer struct {
	io.Reader
	after func()
}

func (a *answer) Read(p []byte) (int, error) {
	count, err := a.Reader.Read(p)
	if err != nil && a.after != nil {
		a.after()
	}
	return count, err
}

func (*answer) Close() error { return nil }

// write appends a text to the log, which may begin or continue an unfinished line.
func (n *node) write(text string) {
	for l := range strings.Lines(text) {
		if last := len(n.lines) - 1; last >= 0 && !strings.HasSuffix(n.lines[last].text, "\n") {
			n.lines[last].text += l
			continue
		}

		n.lines = append(n.lines, line{n.clock, l})
	}
}

func directory(t *testing.T) *store.Bucket {
	t.Helper()

	b, err := store.OpenBucket(t.Context(), "file://"+t.TempDir(), bucket.Hints{})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = b.Close() })
	return b
}

// logIn returns the log of a driver as a process has it that does not know what was uploaded.
func logIn(b *store.Bucket, limit int64, redact func([]byte) []byte) *Log {
	return &Log{
		Attempt: at, Pod: types.NamespacedName{Namespace: "jobs", Name: "pi-driver"}, UID: "u-1", Bucket: b, Interval: time.Second, Redact: redact,
		Head: limit / 16, Limit: limit, memory: capture.NewMemory(maxMemory),
	}
}

// finished returns the text of the log that is kept when the container has ended.
func finished(t *testing.T, l *Log, n *node, limit int64) (string, *capture.Capture) {
	t.Helper()

	memory := capture.NewMemory(1 << 30)
	whole, rest := capture.New(limit/16, limit, memory, nil), capture.New(0, limit, memory, l.Redact)

	if err := l.Load(t.Context()); err != nil {
		t.Fatal(err)
	}

	in, _ := n.Open(t.Context(), Request{Times: true, Since: l.Since()})
	if err := l.Rest(in, rest); err != nil {
		t.Fatal(err)
	}

	if err := l.Add(t.Context(), whole); err != nil {
		t.Fatal(err)
	}

	whole.Join(rest)

	data, _ := whole.File(0)
	if len(data) == 0 {
		return "", whole
	}

	text, err := store.Plain(data, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), whole
}

var start = time.Date(2026, 11, 29, 10, 0, 0, 123456789, time.UTC)

// TestNothingIsLostOrDoubled plays logs that are written while they are uploaded, with lines that have the same time,
// times in another order, lines that are not finished, long lines, operators that stop and start, and uploads that the
// store refuses. At the end, the kept log is what was written. If the node rotates the log, the kept log lacks only
// lines since the last upload, and a mark is there.
func TestNothingIsLostOrDoubled(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 7))
		rotates := seed%3 == 2

		b := directory(t)
		n := &node{clock: start, uid: "u-1"}
		l := logIn(b, 64<<20, nil)

		var written strings.Builder
		write := func(text string) { written.WriteString(text); n.write(text) }

		for range 40 {
			for range random.IntN(8) {
				switch random.IntN(6) {
				case 0: // another time
					n.clock = n.clock.Add(time.Duration(random.IntN(3000)) * time.Millisecond)
				case 1: // an earlier time, from another stream of output
					n.clock = n.clock.Add(-time.Microsecond)
				case 2: // a line that is not finished
					write(fmt.Sprintf("part %d ", random.IntN(100)))
				case 3:
					if random.IntN(10) == 0 {
						write(strings.Repeat("long ", random.IntN(150<<10)) + "\n")
					}
				default:
					write(fmt.Sprintf("line %d\n", random.IntN(100)))
				}
			}

			switch random.IntN(5) {
			case 0:
				l = logIn(b, 64<<20, nil) // another leader
			case 1: // the store refuses
				ctx, cancel := context.WithCancel(t.Context())
				n.after = cancel
				_ = l.read(ctx, n)
				n.after = nil
			case 2:
				if rotates && random.IntN(4) == 0 {
					n.lines = nil
				}
			default:
				if err := l.read(t.Context(), n); err != nil {
					t.Fatal(seed, err)
				}
			}
		}

		text, whole := finished(t, l, n, 64<<20)
		if !rotates && text != written.String() {
			t.Fatalf("seed %d: the kept log has %d bytes, want %d; they differ at %d", seed, len(text), written.Len(), differ(text, written.String()))
		}

		for _, piece := range marks.Split(text, -1) {
			if !strings.Contains(written.String(), strings.TrimSuffix(piece, "\n")) {
				t.Fatalf("seed %d: the kept log has a text that was never written so: %.200q", seed, piece)
			}
		}

		if whole.Total() != int64(len(text)) {
			t.Fatalf("seed %d: the size is %d, want %d", seed, whole.Total(), len(text))
		}
	}
}

var marks = regexp.MustCompile(`\n?\[\.\.\. the node has rotated the log: lines between \S+ and \S+ may be missing here \.\.\.\]\n`)

func differ(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// TestRotatedLog checks that a log that the node has rotated is kept from its beginning, that a mark stands where lines
// may be missing, and that the parts count the places.
func TestRotatedLog(t *testing.T) {
	b := directory(t)
	n := &node{clock: start, uid: "u-1"}
	l := logIn(b, 1<<20, nil)

	n.write("first\n")

	if err := l.read(t.Context(), n); err != nil {
		t.Fatal(err)
	}

	n.lines, n.clock = nil, start.Add(time.Minute)
	n.write("later\n")

	if err := l.read(t.Context(), n); err != nil {
		t.Fatal(err)
	}

	n.write("last")

	want := "first\n[... the node has rotated the log: lines between 2026-11-29T10:00:00Z and 2026-11-29T10:01:00Z may be missing here ...]\nlater\nlast"
	if text, _ := finished(t, l, n, 1<<20); text != want {
		t.Errorf("the log is %q", text)
	}

	if part, _, err := b.ReadPart(t.Context(), at, 0); err != nil || part.Gaps != 1 {
		t.Errorf("the part is %+v, %v", part, err)
	}
}

// TestRequests checks that a quiet log costs one request and no upload, and that the UID of the pod is read only if the
// log does not show that the pod is the same.
func TestRequests(t *testing.T) {
	b := directory(t)
	n := &node{clock: start, uid: "u-1"}
	l := logIn(b, 1<<20, nil)

	n.write("first\n")

	for range 3 {
		if err := l.read(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}

	n.clock = start.Add(time.Minute)
	n.write("second\n")

	if err := l.read(t.Context(), n); err != nil || n.uids != 1 || len(n.since) != 4 {
		t.Errorf("%d requests for the UID, and requests for the log since %v, %v", n.uids, n.since, err)
	}

	if want := start.Truncate(time.Second).Add(-time.Second); !n.since[0].IsZero() || !n.since[3].Equal(want) {
		t.Errorf("the requests are for the log since %v", n.since)
	}
}

// TestPodOfNextAttempt checks that nothing of the log of another pod that has the name is uploaded.
func TestPodOfNextAttempt(t *testing.T) {
	for _, before := range []string{"", "ours\n"} {
		b := directory(t)
		n := &node{clock: start, uid: "u-1"}
		l := logIn(b, 1<<20, nil)

		n.write(before)

		if err := l.read(t.Context(), n); err != nil {
			t.Fatal(err)
		}

		n.lines, n.uid, n.clock = nil, "u-2", start.Add(time.Minute)
		n.write("theirs\n")

		if err := l.read(t.Context(), n); err == nil {
			t.Error("the log of another pod was read")
		}

		if size, _ := l.Size(); size != int64(len(before)) {
			t.Errorf("%d bytes were uploaded", size)
		}
	}
}

// TestRedactionAcrossReads puts a secret at each place of a log that is read piece by piece, also if the line with it
// is longer than a chunk. No part of the secret is uploaded.
func TestRedactionAcrossReads(t *testing.T) {
	const secret = "spark.hadoop.fs.s3a.secret.key=hunter2hunter2"

	for _, filler := range []int{0, 10, capture.ChunkSize - len(secret) - 3, capture.ChunkSize - 20, capture.ChunkSize + 5} {
		for cut := 0; cut < len(secret); cut += 1 + filler>>14 {
			b := directory(t)
			n := &node{clock: start, uid: "u-1"}
			l := logIn(b, 1<<20, capture.Redacted)

			n.write("before\n" + strings.Repeat("0123456,", filler/8) + secret[:cut])

			if err := l.read(t.Context(), n); err != nil {
				t.Fatal(err)
			}

			n.write(secret[cut:] + "\nafter\n")

			if err := l.read(t.Context(), n); err != nil {
				t.Fatal(err)
			}

			if text, _ := finished(t, l, n, 1<<20); strings.Contains(text, "unter2") || !strings.Contains(text, "secret.key=*") || !strings.HasSuffix(text, "\nafter\n") {
				t.Fatalf("with %d bytes before the secret, which is cut at %d, a part of it is uploaded", filler, cut)
			}
		}
	}
}

// TestPartsOfLongLog checks that of a long log only as many parts stay in the store as are kept, that a part is small,
// and that the kept log has the beginning and the end.
func TestPartsOfLongLog(t *testing.T) {
	const limit = 1 << 20

	b := directory(t)
	n := &node{clock: start, uid: "u-1"}
	l := logIn(b, limit, nil)
	random := rand.New(rand.NewPCG(1, 1))

	for i := range 200 {
		n.clock = n.clock.Add(5 * time.Second)
		n.lines = n.lines[max(0, len(n.lines)-500):]

		for range 200 {
			n.write(fmt.Sprintf("%d %x %x\n", i, random.Uint64(), random.Uint64()))
		}

		if err := l.read(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}

	offsets, err := b.Parts(t.Context(), at)
	if err != nil || len(offsets) > 2*limit/partSize {
		t.Errorf("the store has %d parts, %v", len(offsets), err)
	}

	for object, err := range b.List(t.Context(), at.Dir()) {
		if err != nil || object.Size > 4*partSize || !store.IsOwn(object.Key) {
			t.Errorf("the part %s has %d bytes, %v", object.Key, object.Size, err)
		}
	}

	text, whole := finished(t, l, n, limit)
	if !strings.HasPrefix(text, "0 ") || !strings.Contains(text, "bytes of the log were not kept") || !strings.Contains(text, "\n199 ") || whole.Total() < 5*limit/4 {
		t.Errorf("the log has %d of %d bytes, and begins with %.50q", len(text), whole.Total(), text)
	}

	if err := l.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}

	if offsets, err := b.Parts(t.Context(), at); len(offsets) > 0 || err != nil {
		t.Errorf("parts are left: %v, %v", offsets, err)
	}
}

// TestLateWriteOfEarlierLeader checks that a part that an earlier leader has written after the present one began is not
// read twice.
func TestLateWriteOfEarlierLeader(t *testing.T) {
	b := directory(t)
	n := &node{clock: start, uid: "u-1"}
	earlier := logIn(b, 1<<20, nil)

	n.write("one\n")

	if err := earlier.read(t.Context(), n); err != nil {
		t.Fatal(err)
	}

	present := logIn(b, 1<<20, nil)
	if err := present.Load(t.Context()); err != nil {
		t.Fatal(err)
	}

	n.write("two\n")

	if err := cmp.Or(earlier.read(t.Context(), n), present.read(t.Context(), n)); err != nil {
		t.Fatal(err)
	}

	n.write("three\n")

	if text, _ := finished(t, present, n, 1<<20); text != "one\ntwo\nthree\n" {
		t.Errorf("the log is %q", text)
	}
}
