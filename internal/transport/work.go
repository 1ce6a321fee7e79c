package transport

import (
	"context"
	"io"
)

// Work is what is done with the bytes of a body: they are decoded. It begins when bytes are handed out and ends when more are asked for, or none.
type Work interface {
	Begin()
	End()
	Drop() // the work is over for good
}

// workKey is the key of a context's Work.
type workKey struct{}

// WithWork returns a context for a list. The work begins when the list's body was read: it is decoded after that, by a
// caller that ends the work itself.
func WithWork(ctx context.Context, work Work) context.Context {
	return context.WithValue(ctx, workKey{}, work)
}

// workOf returns the work that waits for the body of a request.
func workOf(ctx context.Context) Work {
	work, _ := ctx.Value(workKey{}).(Work)
	return work
}

// streamed is the body of a watch. Between two reads the bytes of the first are decoded.
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

// received is the body of a list, which is decoded after it was closed. A request that is sent once more ends the work.
type received struct {
	io.ReadCloser
	work Work
}

// Close implements io.Closer.
func (r *received) Close() error {
	r.work.Begin()
	return r.ReadCloser.Close()
}
