package transport

import (
	"context"
	"io"
)

// Work is notified when the decoding of a body begins and ends. In a watch, decoding begins when a read returns bytes,
// and ends at the next read or at the end of the body. In a list, decoding begins when the body of the response is
// closed (WithWork).
type Work interface {
	Begin()
	End()
	Drop() // ends the work for ever
}

// workKey is the context key of the Work that WithWork adds.
type workKey struct{}

// WithWork returns a context for a request that lists objects. The client closes the body of the response before it
// decodes the list, so the transport calls Begin when the body is closed. The caller of WithWork must end the work when
// the list is decoded.
func WithWork(ctx context.Context, work Work) context.Context {
	return context.WithValue(ctx, workKey{}, work)
}

// workOf returns the Work that WithWork added to the context of a request, or nil.
func workOf(ctx context.Context) Work {
	work, _ := ctx.Value(workKey{}).(Work)
	return work
}

// streamed is the body of a watch. The caller decodes the bytes of one read before the next read.
type streamed struct {
	io.ReadCloser
	work Work
}

// Read implements io.Reader.
func (s *streamed) Read(p []byte) (int, error) {
	s.work.End()

	n, err := s.ReadCloser.Read(p)
	if n > 0 {
		s.work.Begin()
	}
	return n, err
}

// Close implements io.Closer.
func (s *streamed) Close() error {
	s.work.Drop()
	return s.ReadCloser.Close()
}

// received is the body of a list, which the caller decodes after Close. If the client repeats the request, the
// transport ends the work of the previous attempt first.
type received struct {
	io.ReadCloser
	work Work
}

// Close implements io.Closer.
func (r *received) Close() error {
	r.work.Begin()
	return r.ReadCloser.Close()
}
