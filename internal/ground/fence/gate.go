package fence

import (
	"context"
	"net/http"
)

// Unfenced returns a context for requests that a replica sends outside of its terms as well: those about the lease
// itself, and those for what replicas that do not lead serve too.
func Unfenced(ctx context.Context) context.Context {
	return context.WithValue(ctx, termKey{}, (*term)(nil))
}

// Gate returns a transport that sends no request of a pass whose term is over. The context of the pass ends with the
// term as well, but a process that wakes after a long stop may send a request before the context's timer fires.
//
// If lead is not nil, a request that belongs to no pass is sent only in these cases:
//
//   - a term lasts;
//   - the request only reads, and no term has begun yet: a replica that has never led keeps its caches;
//   - its context comes from Unfenced.
//
// A replica whose term is over either ends or leads again.
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
	if t != nil && !t.lasts() || !bound && g.lead != nil && !g.sends(req) {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, ErrOver
	}
	return g.next.RoundTrip(req)
}

// sends reports whether a request that belongs to no pass may leave now.
func (g gate) sends(req *http.Request) bool {
	reads := req.Method == http.MethodGet || req.Method == http.MethodHead
	return g.lead.Leads() || reads && g.lead.TermNumber() == 0
}
