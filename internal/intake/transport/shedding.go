package transport

import (
	"net/http"

	"github.com/sparkoperator/spark-operator/internal/intake/shed"
)

// Shedding returns a transport that reduces the responses to requests with shed.With. It removes the fields that are
// not kept before the response is decoded. Otherwise a megabyte of an encoded pod could become fifty megabytes in
// memory.
func Shedding(next http.RoundTripper) http.RoundTripper { return shedding{next} }

type shedding struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (s shedding) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := s.next.RoundTrip(request)

	kept, wanted := shed.From(request.Context())
	if err == nil && wanted && response.StatusCode == http.StatusOK {
		objects := kept.Objects()
		(&router{objects: objects, event: objects.Event()}).shed(response)
	}
	return response, err
}
