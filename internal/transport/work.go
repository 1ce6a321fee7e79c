package transport

import (
	"context"
	"io"
)

// Work is the decoding of a body. It begins when bytes were read and ends at the next read or if there are no more.
type Work interface {
	Begin()
	End()
	Drop() // the work never begins again
}

// workKey is the key of a context's Work.
type workKey struct{}

// WithWork returns a context for a list. The work begins when the body of the list has been read. The caller decodes
// the list after that and ends the work.
func WithWork(ctx context.Context, work Work) context.Context {
	return context.WithValue(ctx, workKey{}, work)
}

// workOf returns the work that WithWork added to the context of a request, or nil.
func workOf(ctx context.Context) Work {
	work, _ := ctx.Value(workKey{}).(Work)
	return work
}

// streamed is the body of a watch. The bytes of one read are decoded before the next read.
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

// received is the body of a list, which is decoded after Close. A retried request ends the work.
type received struct {
	io.ReadCloser
	work Work
}

// Close implements io.Closer.
func (r *received) Close() error {
	r.work.Begin()
	return r.ReadCloser.Close()
}
