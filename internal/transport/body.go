package transport

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// frames is the body of a watch in protobuf, reduced to the kept fields. Four bytes with the length of an event precede
// each event (Kubernetes: runtime/serializer/protobuf, length-delimited frames).
type frames struct {
	io.Closer
	from  io.Reader
	event *Message
	in    []byte
	out   []byte // the event, reduced to the kept fields
	left  []byte // the unread part of out
}

// maxFrame is the size of the largest event that is read, in bytes. client-go does not read events above 16 MiB either.
const maxFrame = 16 << 20

// keptFrame is the size of the largest event, in bytes, whose buffers are reused for the next event.
const keptFrame = 256 << 10

// Read implements io.Reader.
func (f *frames) Read(p []byte) (int, error) {
	if len(f.left) == 0 {
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, f.left)
	f.left = f.left[n:]
	return n, nil
}

// next reads one event and reduces it to the kept fields.
func (f *frames) next() error {
	var length [4]byte
	if _, err := io.ReadFull(f.from, length[:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(length[:])
	if size > maxFrame {
		return fmt.Errorf("a watch event has %d bytes; the limit is %d", size, maxFrame)
	}
	if size <= keptFrame && cap(f.in) > keptFrame {
		f.in, f.out = nil, nil // do not keep the memory of one large event as long as the watch lasts
	}
	if int(size) > cap(f.in) {
		f.in = make([]byte, size)
	}
	f.in = f.in[:size]
	if _, err := io.ReadFull(f.from, f.in); err != nil {
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF // a watch that is cut off has not ended
		}
		return err
	}
	out, err := f.event.shed(append(f.out[:0], length[:]...), f.in)
	if err != nil {
		out = append(append(out[:0], length[:]...), f.in...)
	}
	binary.BigEndian.PutUint32(out, uint32(len(out)-len(length)))
	f.out, f.left = out, out
	return nil
}

// list is the body of a response that holds one object or one list, reduced to the kept fields.
type list struct {
	io.ReadCloser
	objects objects
	left    *bytes.Reader
}

// Read implements io.Reader.
func (l *list) Read(p []byte) (int, error) {
	if l.left == nil {
		all, err := io.ReadAll(l.ReadCloser)
		if err != nil {
			return 0, err
		}
		l.left = bytes.NewReader(l.objects.shed(make([]byte, 0, len(all)/2), all))
	}
	return l.left.Read(p)
}
