package capture

import "sync"

// Memory bounds the compressed bytes that all captures hold together. If it is full, the capture that holds most drops
// a chunk, so that a few large logs never take the memory of the others. Each capture keeps the first chunk of its head
// and the last chunk of its tail.
type Memory struct {
	mu       sync.Mutex // guards the rest, and the chunks of all captures
	left     int64
	captures map[*Capture]bool // those that hold chunks
}

// NewMemory returns a Memory of a number of bytes.
func NewMemory(bytes int64) *Memory {
	return &Memory{left: bytes, captures: map[*Capture]bool{}}
}

// Take takes some bytes, or reports false if there are not as many left.
func (m *Memory) Take(n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()

	if m.left < n {
		return false
	}

	m.left -= n
	return true
}

// Give returns some bytes.
func (m *Memory) Give(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.left += n
}

// takeFor takes some bytes for the next chunk of a capture. Other chunks are dropped until there is room. It reports
// false if all captures have as few chunks as they keep, and this one has no tail that the chunk could replace. The
// caller holds the lock.
func (m *Memory) takeFor(c *Capture, n int64) bool {
	for m.left < n {
		if longest := m.longest(c, n); longest != nil {
			longest.dropMiddle()
			continue
		}

		if len(c.last) == 0 {
			return false
		}

		c.dropOldest() // the end of a log is worth more than what comes before it
	}

	m.left -= n
	m.captures[c] = true
	return true
}

// longest returns the capture that holds most, if the next chunk of a capture is counted, too; nil if no capture has
// chunks to spare.
func (m *Memory) longest(next *Capture, n int64) (longest *Capture) {
	most := int64(-1)
	for c := range m.captures {
		held := c.held
		if c == next {
			held += n
		}

		if held > most && (len(c.last) > 1 || len(c.first) > 1) {
			longest, most = c, held
		}
	}
	return longest
}
