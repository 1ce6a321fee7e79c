package lease

import "net/http"

// Gate returns a transport that sends no request of a pass whose term is over. The context of the pass ends with the
// term as well, but a process that wakes after a long stop may send a request before the context's timer fires.
func Gate(next http.RoundTripper) http.RoundTripper { return gate{next} }

type gate struct{ next http.RoundTripper }

// RoundTrip returns ErrOver if the request belongs to a term that is over, and sends the request otherwise.
func (g gate) RoundTrip(req *http.Request) (*http.Response, error) {
	if t, bound := req.Context().Value(termKey{}).(*term); bound && !t.lasts() {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, ErrOver
	}
	return g.next.RoundTrip(req)
}
