package capture

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"weak"
)

func plain(t *testing.T, data []byte) string {
	t.Helper()

	if len(data) == 0 {
		return ""
	}

	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}

	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestCaptureKeepsHeadAndTail writes logs of every kind of length in pieces of random sizes. A log within the limit is
// whole. Of a longer one, the head and the end are there, with a mark between, and the numbers add up.
func TestCaptureKeepsHeadAndTail(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, limits := range [][2]int64{{1 << 10, 16 << 10}, {0, 4 << 10}, {64, 1 << 10}, {1 << 20, 16 << 20}} {
		for range 30 {
			head, limit := limits[0], limits[1]

			log := make([]byte, random.Int64N(3*limit))
			for i := range log {
				log[i] = byte('a' + random.IntN(26))
			}

			m := NewMemory(1 << 30)
			c := New(head, limit, m, nil)

			for rest := log; len(rest) > 0; {
				n := min(1+random.IntN(int(limit/3)+1), len(rest))
				_, _ = c.Write(rest[:n])
				rest = rest[n:]
			}

			data, kept := c.File(0)
			text := plain(t, data)

			if int64(len(log)) <= limit {
				if text != string(log) || kept != int64(len(log)) {
					t.Fatalf("a log of %d bytes with the limits %v is not whole: %d", len(log), limits, len(text))
				}
				continue
			}

			before, after, marked := strings.Cut(text, "\n[... ")

			_, after, _ = strings.Cut(after, " ...]\n")
			if !marked || !strings.HasPrefix(string(log), before) || !strings.HasSuffix(string(log), after) || int64(len(before)+len(after)) != kept || kept >= c.total || c.total != int64(len(log)) {
				t.Fatalf("a log of %d bytes with the limits %v: head %d, tail %d, kept %d", len(log), limits, len(before), len(after), kept)
			}

			if least := limit * 3 / 4; kept < least && limit > 1000 || kept > limit+int64(c.chunk) {
				t.Fatalf("of %d bytes, %d were kept, with the limits %v", len(log), kept, limits)
			}

			if c.Release(); m.left != 1<<30 {
				t.Fatalf("%d bytes of memory were not returned", 1<<30-m.left)
			}
		}
	}
}

// TestCaptureOfEndlessLine checks that 2 GB in one line, and bytes that cannot be compressed, need no more memory than
// the limit of all captures.
func TestCaptureOfEndlessLine(t *testing.T) {
	const limit = 3 << 20
	m := NewMemory(limit)
	c := New(1<<20, 16<<20, m, nil)

	binary := make([]byte, 1<<20)
	for i := range binary {
		binary[i] = byte(rand.Uint32())
	}

	size := 64
	if testing.Short() {
		size = 24
	}

	for range size {
		_, _ = c.Write(binary)

		if held := c.held; held > limit {
			t.Fatalf("the capture holds %d bytes", held)
		}
	}

	data, kept := c.File(0)
	if text := plain(t, data); kept == c.total || !strings.Contains(text, "bytes of the log were not kept") || !strings.HasSuffix(text, string(binary[len(binary)-1000:])) {
		t.Errorf("kept %d of %d bytes, and the end is not there", kept, c.total)
	}
}

// TestCaptureWithinLimit checks that a file for a ConfigMap stays within its limit and ends with the end of the log.
func TestCaptureWithinLimit(t *testing.T) {
	c := New(1<<20, 16<<20, NewMemory(1<<30), nil)

	random := rand.New(rand.NewPCG(3, 4))
	for range 4 << 20 / 8 {
		_, _ = c.Write([]byte{byte(random.Uint32()), 'a', 'b', 'c', byte(random.Uint32()), 'd', 'e', '\n'})
	}

	_, _ = c.Write([]byte("the end"))

	data, kept := c.File(400 << 10)
	if len(data) > 400<<10 || len(data) < 100<<10 || kept >= c.total || !strings.HasSuffix(plain(t, data), "the end") {
		t.Errorf("the file has %d bytes", len(data))
	}
}

// TestDroppedChunksAreFreed checks that the memory of a chunk can be used again after the chunk was dropped. The bound
// of all captures counts it as free.
func TestDroppedChunksAreFreed(t *testing.T) {
	c := New(0, 1<<20, NewMemory(64<<20), nil)
	for range 3 {
		c.add([]byte("text"))
	}

	first := weak.Make(&c.last[0].data[0])

	c.dropOldest()
	runtime.GC()

	if first.Value() != nil {
		t.Error("the text of a dropped chunk is still in memory")
	}

	runtime.KeepAlive(c)
}

// TestReadFromEqualsWrite reads logs of every kind of length in pieces of random sizes. The file is that of a log that
// is written, also if the log ends with an error, and if redaction needs whole lines.
func TestReadFromEqualsWrite(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	broken := errors.New("the connection is lost")

	for _, size := range []int{0, 1, smallBlock - 1, smallBlock, smallBlock + 1, ChunkSize, ChunkSize + 1, 3*ChunkSize + 7} {
		for _, redact := range []func([]byte) []byte{nil, bytes.ToUpper} {
			log := make([]byte, size)
			for i := range log {
				log[i] = "abc\n"[random.IntN(4)]
			}

			var pieces []io.Reader
			for rest := log; len(rest) > 0; {
				n := min(1+random.IntN(100<<10), len(rest))
				pieces, rest = append(pieces, bytes.NewReader(rest[:n])), rest[n:]
			}

			m := NewMemory(1 << 30)
			read, written := New(64, 16<<20, m, redact), New(64, 16<<20, m, redact)
			_, _ = written.Write(log)

			n, err := read.ReadFrom(io.MultiReader(append(pieces, iotest.ErrReader(broken))...))
			if n != int64(size) || !errors.Is(err, broken) {
				t.Errorf("%d bytes of %d were read, with the error %v", n, size, err)
			}

			got, kept := read.File(0)
			want, _ := written.File(0)

			if plain(t, got) != plain(t, want) || kept != int64(size) || read.Total() != int64(size) {
				t.Errorf("the log of %d bytes differs: %d are kept", size, kept)
			}
		}
	}
}

// TestCaptureNeedsLittleMemory checks that a log allocates less than half of its size. The operator once allocated two
// and a half times its size, and had 25 MB more resident memory because of that.
func TestCaptureNeedsLittleMemory(t *testing.T) {
	log := bytes.Repeat([]byte("a line of a log that can be compressed\n"), 1<<20/39)
	m := NewMemory(1 << 30)

	const logs = 20

	var before, after runtime.MemStats

	runtime.ReadMemStats(&before)

	for range logs {
		c := New(1<<20, 16<<20, m, nil)
		_, _ = c.ReadFrom(bytes.NewReader(log))
		_, _ = c.File(0)
		c.Release()
	}

	runtime.ReadMemStats(&after)

	if each := (after.TotalAlloc - before.TotalAlloc) / logs; each > uint64(len(log)/2) {
		t.Errorf("a log of %d bytes allocates %d", len(log), each)
	}
}
