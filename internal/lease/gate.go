package lease

import (
	"context"
	"net/http"
)

// Unfenced returns a context for what a replica writes outside of its terms as well: the lease itself, and what
// replicas that do not lead do too.
func Unfenced(ctx context.Context) context.Context {
	return context.WithValue(ctx, termKey{}, (*term)(nil))
}

// Gate returns a transport that sends no request of a pass whose term is over. The context of the pass ends with the
// term as well, but a process that wakes after a long stop may send a request before the context's timer fires.
//
// If lead is not nil, the transport sends writes that belong to no pass, such as Events, only during a term, unless
// their context comes from Unfenced. Requests that only read are fenced only if they belong to a pass.
func Gate(lead *Leadership) func(next http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper { return gate{lead, next} }
}

type gate struct {
	lead *Leadership
	next http.RoundTripper
}

// RoundTrip returns ErrOver if the request belongs to a term that is over, and sends the request otherwise.
func (g gate) RoundTrip(req *http.Request) (*http.Response, error) {
	t, bound := req.Context().Value(termKey{}).(*term)
	reads := req.Method == http.MethodGet || req.Method == http.MethodHead
	if t != nil && !t.lasts() || !bound && !reads && g.lead != nil && !g.lead.Leads() {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, ErrOver
	}
	return g.next.RoundTrip(req)
}
