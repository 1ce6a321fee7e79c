package transport

import (
	"context"
	"net/http"
)

// keptKey is the key under which a context holds Kinds.
type keptKey struct{}

// WithKept returns a context for requests whose responses are reduced to the parts that the argument kept specifies.
// The client that sends the requests must use a transport of Shedding.
func WithKept(ctx context.Context, kept Kinds) context.Context {
	return context.WithValue(ctx, keptKey{}, kept)
}

// Shedding returns a transport that removes the fields that the Kinds of WithKept do not keep, before a response is
// decoded. That matters because a megabyte of a pod can become fifty megabytes in memory.
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
