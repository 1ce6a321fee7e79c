package transport

import (
	"context"
	"net/http"
)

// keptKey is the context key of the Kinds that WithKept adds.
type keptKey struct{}

// WithKept returns a context for requests. Responses to these requests are reduced to the parts that kept specifies, if
// their client uses the transport that Shedding returns.
func WithKept(ctx context.Context, kept Kinds) context.Context {
	return context.WithValue(ctx, keptKey{}, kept)
}

// Shedding returns a transport that reduces the responses to requests with WithKept. It removes the fields that are not
// kept before the response is decoded. Otherwise a megabyte of an encoded pod could become fifty megabytes in memory.
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
