package capture

import (
	"bytes"
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"
)

// incompressible returns a text that compression hardly makes smaller.
func incompressible(n int) []byte {
	random := make([]byte, n/4*3)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	return []byte(base64.StdEncoding.EncodeToString(random))
}

// TestLargeLogsLeaveMemory checks that the longest log loses more of its middle if the memory of all captures is full.
// The first large logs once took all of it, and nothing was kept of the logs after them, however short they were.
func TestLargeLogsLeaveMemory(t *testing.T) {
	const size = 4 << 20

	m := NewMemory(size)
	large := New(1<<20, 16<<20, m, nil)
	log := incompressible(16 << 20)
	_, _ = large.Write(log)

	if m.left > ChunkSize {
		t.Fatalf("%d bytes are left, so the captures do not compete", m.left)
	}

	short, second := New(1<<20, 16<<20, m, nil), New(1<<20, 16<<20, m, nil)
	text := string(incompressible(1 << 20))
	_, _ = short.Write([]byte(text))

	if data, kept := short.File(0); short.Lost() || kept != int64(len(text)) || plain(t, data) != text {
		t.Errorf("%d bytes of %d of a short log are kept", kept, len(text))
	}

	_, _ = second.Write(log)

	for _, c := range []*Capture{large, second} {
		data, kept := c.File(0)

		head, tail, _ := strings.Cut(plain(t, data), "\n[... ")
		_, tail, _ = strings.Cut(tail, " ...]\n")

		if kept < size/4 || int64(len(head)+len(tail)) != kept || !bytes.HasPrefix(log, []byte(head)) || !bytes.HasSuffix(log, []byte(tail)) || tail == "" || head == "" {
			t.Errorf("of a large log, %d bytes at the begin and %d at the end are kept, in all %d", len(head), len(tail), kept)
		}
	}

	for _, c := range []*Capture{large, short, second} {
		c.Release()
	}

	if m.left != size || len(m.captures) > 0 {
		t.Errorf("%d bytes of memory were not returned, by %d captures", size-m.left, len(m.captures))
	}
}

// TestLogWithoutMemory checks that a log says that it lost its end if all memory is taken by the least that other
// captures keep, and that the text that finds memory later is kept.
func TestLogWithoutMemory(t *testing.T) {
	m := NewMemory(ChunkSize)
	other, c, head := New(0, 16<<20, m, nil), New(0, 16<<20, m, nil), New(1, 16<<20, m, nil)
	_, _ = other.Write(incompressible(ChunkSize / 4 * 3))
	_, _ = other.File(0)
	_, _ = c.Write(incompressible(ChunkSize / 4 * 3))

	if _, kept := c.File(0); kept != 0 || !c.Lost() || other.Lost() {
		t.Errorf("%d bytes are kept, and the log is lost: %t, %t", kept, c.Lost(), other.Lost())
	}

	_, _ = head.Write([]byte("the head"))
	_, _ = head.File(0)
	_, _ = head.Write(incompressible(ChunkSize / 4 * 3))

	if _, kept := head.File(0); kept != int64(len("the head")) || !head.Lost() {
		t.Errorf("%d bytes of the head are kept, and the log is lost: %t", kept, head.Lost())
	}

	other.Release()

	_, _ = c.Write([]byte("the end"))
	if data, _ := c.File(0); c.Lost() || !strings.HasSuffix(plain(t, data), "kept ...]\nthe end") {
		t.Errorf("the text is %q", plain(t, data))
	}
}
