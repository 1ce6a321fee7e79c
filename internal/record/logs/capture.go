package logs

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// chunkSize is the number of bytes of a log that are compressed at once. Each chunk is a member of a gzip file, and
// several members are one valid file. So the oldest chunks of a tail can be dropped without the others.
const chunkSize = 256 << 10

// memory bounds the compressed bytes that all captures hold together.
type memory struct{ left atomic.Int64 }

func newMemory(bytes int64) *memory {
	m := &memory{}
	m.left.Store(bytes)
	return m
}

func (m *memory) take(n int64) bool {
	if m.left.Add(-n) < 0 {
		m.left.Add(n)
		return false
	}
	return true
}

func (m *memory) give(n int64) { m.left.Add(n) }

// capture reads a log of any length and keeps its head and its tail, compressed. Without line breaks, it needs no more
// memory. It is an io.Writer.
type capture struct {
	head, limit int64 // of the head and of both parts together, uncompressed
	chunk       int
	block       int // of bytes that are redacted at once; the same as chunk without redaction
	memory      *memory
	redact      func([]byte) []byte // nil for none

	pending []byte
	first   []chunk // the head
	last    []chunk // the tail
	total   int64   // bytes of the log, after redaction
	kept    int64   // bytes of both parts
}

type chunk struct {
	data []byte // a gzip member
	raw  int64
}

// newCapture keeps a log of at most maxBytes. Of a longer one, it keeps the head and the end.
func newCapture(head, maxBytes int64, m *memory, redact func([]byte) []byte) *capture {
	c := &capture{head: head, limit: maxBytes, chunk: int(max(1, min(chunkSize, maxBytes/8))), memory: m, redact: redact}

	c.block = c.chunk
	if redact != nil {
		c.block = chunkSize // lines are seldom longer
	}
	return c
}

// fit makes the chunks so small that a file within a limit has some, even if they cannot be compressed. It is called
// before the first byte is written.
func (c *capture) fit(limit int) {
	c.chunk = min(c.chunk, max(1, limit/4))
	if c.redact == nil {
		c.block = c.chunk
	}
}

// Write implements io.Writer. It never fails.
func (c *capture) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		room := min(c.block-len(c.pending), len(p))

		c.pending, p = append(c.pending, p[:room]...), p[room:]
		if len(c.pending) == c.block {
			c.flush(c.border())
		}
	}
	return n, nil
}

// border returns where the pending bytes can be cut. Redaction needs whole lines. A line that is longer than a block is
// cut behind a character that ends a value.
func (c *capture) border() int {
	if c.redact == nil {
		return len(c.pending)
	}

	if i := bytes.LastIndexByte(c.pending, '\n'); i >= 0 {
		return i + 1
	}

	if i := bytes.LastIndexAny(c.pending, ",;&"); i >= 0 {
		return i + 1
	}
	return len(c.pending)
}

var compressors = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	return w
}}

func compress(text []byte) []byte {
	var out bytes.Buffer

	w := compressors.Get().(*gzip.Writer)
	w.Reset(&out)
	_, _ = w.Write(text) // a buffer takes everything
	_ = w.Close()
	compressors.Put(w)
	return bytes.Clone(out.Bytes())
}

// flush redacts and compresses the first pending bytes.
func (c *capture) flush(end int) {
	text := c.pending[:end]
	if c.redact != nil {
		text = c.redact(text)
	}

	for piece := range slices.Chunk(text, c.chunk) {
		c.add(piece)
	}

	c.pending = append(c.pending[:0], c.pending[end:]...)
}

// add compresses a piece of the log. It drops the oldest chunks of the tail if the tail is too long or if there is too
// little memory.
func (c *capture) add(text []byte) {
	raw := int64(len(text))
	next := chunk{compress(text), raw}
	inHead := c.total < c.head
	c.total += raw

	for !c.memory.take(int64(len(next.data))) {
		if len(c.last) == 0 {
			return // the chunk is missing, and the index shows that
		}

		c.dropOldest()
	}

	c.kept += raw
	if inHead {
		c.first = append(c.first, next)
		return
	}

	c.last = append(c.last, next)
	for c.kept > c.limit && len(c.last) > 0 {
		c.dropOldest()
	}
}

func (c *capture) dropOldest() {
	c.memory.give(int64(len(c.last[0].data)))
	c.kept -= c.last[0].raw
	c.last = c.last[1:]
}

// file returns the compressed log, and how many bytes of it the file has. If the file must not exceed a limit, more of
// the middle is dropped. A mark stands where bytes are missing. limit is 0 if there is none.
func (c *capture) file(limit int) (data []byte, kept int64) {
	c.flush(len(c.pending))

	const markSize = 256
	for size := c.size() + markSize; limit > 0 && size > limit && len(c.last) > 1; size = c.size() + markSize {
		c.dropOldest()
	}

	for limit > 0 && c.size()+markSize > limit && len(c.first) > 0 {
		last := len(c.first) - 1
		c.memory.give(int64(len(c.first[last].data)))
		c.kept -= c.first[last].raw
		c.first = c.first[:last]
	}

	for _, part := range c.first {
		data = append(data, part.data...)
	}

	if c.kept < c.total {
		data = append(data, compress(fmt.Appendf(nil, "\n[... %d bytes of the log were not kept ...]\n", c.total-c.kept))...)
	}

	for _, part := range c.last {
		data = append(data, part.data...)
	}
	return data, c.kept
}

func (c *capture) size() (n int) {
	for _, part := range c.first {
		n += len(part.data)
	}

	for _, part := range c.last {
		n += len(part.data)
	}
	return n
}

// release returns the memory of the capture.
func (c *capture) release() {
	c.memory.give(int64(c.size()))
	c.first, c.last, c.pending = nil, nil, nil
}
