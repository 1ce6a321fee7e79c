package transport

import (
	"context"
	"net/http"
)

// keptKey is the key of a context's Kinds.
type keptKey struct{}

// WithKept returns a context for requests whose responses are decoded only as far as kept specifies. The transport of
// the client must come from Shedding.
func WithKept(ctx context.Context, kept Kinds) context.Context {
	return context.WithValue(ctx, keptKey{}, kept)
}

// Shedding returns a transport that removes the fields that WithKept does not name before a response is decoded. A
// megabyte of a pod can become fifty in memory.
func Shedding(next http.RoundTripper) http.RoundTripper { return shedding{next} }

type shedding struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (s shedding) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := s.next.RoundTrip(request)
	kept, wanted := request.Context().Value(keptKey{}).(Kinds)
	if err == nil && wanted && response.StatusCode == http.StatusOK {
		objects := kept.objects()
		(&router{objects: objects, event: objects.event()}).shed(request, response)
	}
	return response, err
}
