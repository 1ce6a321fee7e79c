package transport

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/sparkoperator/spark-operator/internal/intake/shed"
)

// frames is the body of a protobuf watch after each event has been reduced to the kept fields. Each event is preceded
// by four bytes that contain its length (Kubernetes: runtime/serializer/protobuf, length-delimited frames).
type frames struct {
	io.Closer
	from  io.Reader
	event *shed.Message
	in    []byte
	out   []byte // the event, reduced to the kept fields
	left  []byte // the unread part of out
}

// maxFrame is the largest size of an event that is read, in bytes. client-go has the same limit of 16 MiB.
const maxFrame = 16 << 20

// keptFrame is the size, in bytes, up to which the buffers for an event are reused for the next events. Larger buffers
// are freed at the next event that does not need them.
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
		f.in, f.out = nil, nil // otherwise one large event would take memory until the watch ends
	}

	if int(size) > cap(f.in) {
		f.in = make([]byte, size)
	}

	f.in = f.in[:size]
	if _, err := io.ReadFull(f.from, f.in); err != nil {
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF // io.EOF would mean that the watch ended normally
		}
		return err
	}

	out, err := f.event.Append(append(f.out[:0], length[:]...), f.in)
	if err != nil {
		out = append(append(out[:0], length[:]...), f.in...)
	}

	binary.BigEndian.PutUint32(out, uint32(len(out)-len(length)))
	f.out, f.left = out, out
	return nil
}

// list is the body of a response after its object, or the objects in its list, have been reduced to the kept fields.
type list struct {
	io.ReadCloser
	objects shed.Objects
	left    *bytes.Reader
}

// Read implements io.Reader.
func (l *list) Read(p []byte) (int, error) {
	if l.left == nil {
		all, err := io.ReadAll(l.ReadCloser)
		if err != nil {
			return 0, err
		}

		l.left = bytes.NewReader(l.objects.Append(make([]byte, 0, len(all)/2), all))
	}
	return l.left.Read(p)
}
