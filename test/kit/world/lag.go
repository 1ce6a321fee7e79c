package world

import (
	"context"
	"io"
	"net/http"
	"path"
	"sync"
)

// LaggingWatch is a transport from an operator to the API server. It can suppress the watch events of one resource, so
// that the operator's cache falls behind.
type LaggingWatch struct {
	next     http.RoundTripper
	Resource string

	mu   sync.Mutex
	hear chan struct{} // closed when events arrive again; nil while they do
}

// Over sets the transport that sends the requests, and returns the laggingWatch.
func (d *LaggingWatch) Over(next http.RoundTripper) http.RoundTripper {
	d.next = next
	return d
}

// RoundTrip is a function as a transport.
func (d *LaggingWatch) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := d.next.RoundTrip(request)
	if err == nil && path.Base(request.URL.Path) == d.Resource && request.URL.Query().Get("watch") != "" {
		response.Body = &behindBody{response.Body, request.Context(), d}
	}
	return response, err
}

// Begin suppresses all watch events until the returned function is called.
func (d *LaggingWatch) Begin() (end func()) {
	hear := make(chan struct{})

	d.mu.Lock()
	defer d.mu.Unlock()

	d.hear = hear
	return sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()

		d.hear = nil
		close(hear)
	})
}

type behindBody struct {
	io.ReadCloser
	Ctx    context.Context
	Client *LaggingWatch
}

func (b *behindBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.Client.mu.Lock()
	hear := b.Client.hear
	b.Client.mu.Unlock()

	if hear != nil {
		select {
		case <-hear:
		case <-b.Ctx.Done():
		}
	}
	return n, err
}
