// Package capture compresses logs as they are read, hides secrets in them, and bounds how much of a log is kept and how
// much memory all of them need.
package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// ChunkSize is the number of bytes of a log that are compressed at once. Each chunk is a member of a gzip file, and
// several members are one valid file. So the oldest chunks of a tail can be dropped without the others.
const ChunkSize = 256 << 10

// Capture reads a log of any length and keeps its head and its tail, compressed. Without line breaks, it needs no more
// memory. It is an io.Writer.
type Capture struct {
	head, limit int64 // of the head and of both parts together, uncompressed
	chunk       int
	block       int // of bytes that are redacted at once; the same as chunk without redaction
	memory      *Memory
	redact      func([]byte) []byte // nil for none

	pending []byte
	pooled  bool  // pending is from the pool
	total   int64 // bytes of the log, after redaction

	// The lock of the memory guards the rest, because another capture that needs memory drops chunks of this one.
	first  []chunk // the head
	last   []chunk // the tail
	kept   int64   // bytes of both parts
	held   int64   // compressed bytes of both parts
	closed bool    // the head has no more chunks, because text after it is missing
	lost   bool    // there was no memory for a chunk
}

type chunk struct {
	data []byte // a gzip member
	raw  int64
}

// New returns a Capture that keeps a log of at most maxBytes. Of a longer one, it keeps the head and the end.
func New(head, maxBytes int64, m *Memory, redact func([]byte) []byte) *Capture {
	c := &Capture{head: head, limit: maxBytes, chunk: int(max(1, min(ChunkSize, maxBytes/8))), memory: m, redact: redact}

	c.block = c.chunk
	if redact != nil {
		c.block = ChunkSize // lines are seldom longer
	}
	return c
}

// Fit makes the chunks so small that a file within a limit has some, even if they cannot be compressed. It is called
// before the first byte is written.
func (c *Capture) Fit(limit int) {
	c.chunk = min(c.chunk, max(1, limit/4))
	if c.redact == nil {
		c.block = c.chunk
	}
}

// Write implements io.Writer. It never fails.
func (c *Capture) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		c.reserve(len(p))

		room := min(cap(c.pending), c.block) - len(c.pending)
		room = min(room, len(p))

		c.pending, p = append(c.pending, p[:room]...), p[room:]
		if len(c.pending) == c.block {
			c.flush(Border(c.pending, c.redact != nil))
		}
	}
	return n, nil
}

// ReadFrom implements io.ReaderFrom, so that io.Copy needs no buffer of its own.
func (c *Capture) ReadFrom(in io.Reader) (total int64, err error) {
	for {
		c.reserve(1)

		n, err := in.Read(c.pending[len(c.pending):min(cap(c.pending), c.block)])
		c.pending, total = c.pending[:len(c.pending)+n], total+int64(n)

		if len(c.pending) == c.block {
			c.flush(Border(c.pending, c.redact != nil))
		}

		if errors.Is(err, io.EOF) {
			return total, nil
		}

		if err != nil {
			return total, err
		}
	}
}

// smallBlock is the size up to which a capture has pending bytes of its own. A short log needs no more, nor a log that
// is followed and has few new lines.
const smallBlock = 8 << 10

// blocks are the pending bytes of captures. With new memory for each log, an operator that keeps a few logs a second
// had a third more resident memory, because the memory grows until the garbage is collected.
var blocks = sync.Pool{New: func() any { return new([ChunkSize]byte) }}

// reserve makes room for pending bytes, for n of them or fewer.
func (c *Capture) reserve(n int) {
	switch {
	case len(c.pending) < cap(c.pending):
	case len(c.pending) == 0 && n <= smallBlock:
		c.pending = make([]byte, 0, smallBlock)
	default:
		c.pending, c.pooled = append(blocks.Get().(*[ChunkSize]byte)[:0], c.pending...), true
	}
}

// giveBlock returns the memory of pending bytes, of which none are left.
func (c *Capture) giveBlock() {
	if c.pooled {
		blocks.Put((*[ChunkSize]byte)(c.pending[:ChunkSize]))
	}

	c.pending, c.pooled = nil, false
}

// Border returns where a piece of a log can be cut. Redaction needs whole lines. A line that is longer than the piece
// is cut behind a character that ends a value.
func Border(piece []byte, redacts bool) int {
	if !redacts {
		return len(piece)
	}

	if i := bytes.LastIndexByte(piece, '\n'); i >= 0 {
		return i + 1
	}

	if i := bytes.LastIndexAny(piece, ",;&"); i >= 0 {
		return i + 1
	}
	return len(piece)
}

// compressor compresses all texts, one after the other. It needs about a megabyte, and the operator has one core. For
// logs, it takes less than half of the CPU time of the standard library's.
var compressor struct {
	sync.Mutex
	gzip *gzip.Writer
	out  bytes.Buffer
}

// Compress returns a text as a gzip file.
func Compress(text []byte) []byte {
	compressor.Lock()
	defer compressor.Unlock()

	if compressor.gzip == nil {
		compressor.gzip, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	}

	compressor.out.Reset()
	compressor.gzip.Reset(&compressor.out)
	_, _ = compressor.gzip.Write(text) // a buffer takes everything
	_ = compressor.gzip.Close()
	return bytes.Clone(compressor.out.Bytes())
}

// flush redacts and compresses the first pending bytes.
func (c *Capture) flush(end int) {
	text := c.pending[:end]
	if c.redact != nil {
		text = c.redact(text)
	}

	for piece := range slices.Chunk(text, c.chunk) {
		c.add(piece)
	}

	c.pending = append(c.pending[:0], c.pending[end:]...)
}

// add compresses a piece of the log.
func (c *Capture) add(text []byte) { c.Add(Compress(text), int64(len(text))) }

// Add appends a piece of the log that is compressed already, and has a number of bytes uncompressed. It drops the
// oldest chunks of the tail if the tail is too long. If there is too little memory, the longest log loses a chunk.
func (c *Capture) Add(data []byte, raw int64) {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()

	if !c.memory.takeFor(c, int64(len(data))) {
		c.lost = true
		c.skip(raw)

		return
	}

	c.held += int64(len(data))
	c.keep(chunk{data, raw})
}

// Append appends a piece of the log that was compressed before, and has a number of bytes uncompressed. It divides a
// large piece into chunks, because a chunk is kept or dropped as a whole. It returns an error if the piece is damaged.
func (c *Capture) Append(data []byte, raw int64) error {
	if raw <= max(int64(c.chunk), c.limit/pieceShare) {
		c.Add(data, raw)
		return nil
	}

	in, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}

	_, err = c.ReadFrom(io.LimitReader(in, raw))
	c.flush(len(c.pending)) // the next piece comes after it
	return err
}

// pieceShare is the part of the limit up to which a piece stays as it is. Parts that the operator uploads are seldom
// larger, so that most need not be compressed again.
const pieceShare = 16

// keep appends a chunk whose memory is taken.
func (c *Capture) keep(next chunk) {
	inHead := c.total < c.head && !c.closed
	c.total += next.raw
	c.kept += next.raw

	if inHead {
		c.first = append(c.first, next)
		return
	}

	c.last = append(c.last, next)
	for c.kept > c.limit && len(c.last) > 1 {
		c.dropOldest()
	}
}

// Skip counts bytes of the log that come next and are not there. The kept part of the tail before them is dropped,
// so that the mark describes the only gap.
func (c *Capture) Skip(raw int64) {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()

	c.skip(raw)
}

func (c *Capture) skip(raw int64) {
	for raw > 0 && len(c.last) > 0 {
		c.dropOldest()
	}

	c.total += raw
	c.closed = c.closed || raw > 0
}

// Join appends what another capture has of the rest of the log. The other capture is empty afterwards.
func (c *Capture) Join(rest *Capture) {
	rest.flush(len(rest.pending))
	rest.giveBlock()

	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()

	c.held, c.lost = c.held+rest.held, c.lost || rest.lost
	c.memory.captures[c] = true

	for _, next := range rest.first {
		c.keep(next)
	}

	c.skip(rest.total - rest.kept)

	for _, next := range rest.last {
		c.keep(next)
	}

	rest.first, rest.last, rest.kept, rest.held = nil, nil, 0, 0
	delete(c.memory.captures, rest)
}

// Lost reports whether the end of the log is not kept because there was no memory.
func (c *Capture) Lost() bool {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	return c.lost && len(c.last) == 0
}

// Total returns the size of the log, uncompressed and after redaction.
func (c *Capture) Total() int64 { return c.total }

// dropOldest drops the oldest chunk of the tail. The caller holds the lock of the memory, also of the functions below.
func (c *Capture) dropOldest() {
	c.forget(c.last[0])
	c.last[0] = chunk{} // the array of the slice would keep the text in memory
	c.last = c.last[1:]
}

// dropNewest drops the newest chunk of the head. The text that comes next belongs to the tail then.
func (c *Capture) dropNewest() {
	end := len(c.first) - 1
	c.forget(c.first[end])
	c.first[end] = chunk{}
	c.first, c.closed = c.first[:end], true
}

// dropMiddle drops the chunk before the end of the log, or the last one of the head if only one chunk is after it.
func (c *Capture) dropMiddle() {
	if len(c.last) > 1 {
		c.dropOldest()
	} else {
		c.dropNewest()
	}
}

// forget gives back the memory of a chunk that is dropped.
func (c *Capture) forget(dropped chunk) {
	c.memory.left += int64(len(dropped.data))
	c.held -= int64(len(dropped.data))
	c.kept -= dropped.raw
}

// File returns the compressed log, and how many bytes of it the file has. If the file must not exceed a limit, more of
// the middle is dropped. A mark stands where bytes are missing. limit is 0 if there is none.
func (c *Capture) File(limit int) (data []byte, kept int64) {
	c.flush(len(c.pending))
	c.giveBlock()

	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()

	const markSize = 256
	for limit > 0 && c.held+markSize > int64(limit) && len(c.last) > 1 {
		c.dropOldest()
	}

	for limit > 0 && c.held+markSize > int64(limit) && len(c.first) > 0 {
		c.dropNewest()
	}

	data = make([]byte, 0, c.held+markSize)
	for _, part := range c.first {
		data = append(data, part.data...)
	}

	if c.kept < c.total {
		data = append(data, Compress(fmt.Appendf(nil, "\n[... %d bytes of the log were not kept ...]\n", c.total-c.kept))...)
	}

	for _, part := range c.last {
		data = append(data, part.data...)
	}
	return data, c.kept
}

// Release returns the memory of the capture.
func (c *Capture) Release() {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()

	c.memory.left += c.held
	c.first, c.last, c.held = nil, nil, 0
	delete(c.memory.captures, c)
	c.giveBlock()
}
