package lease

import (
	"net/http"
	"strings"
)

// exempt are the resources that a replica may write outside of its terms: the lease itself, and what replicas that do
// not lead do as well. All other writes end with the term: those of passes, and Events.
// Requests that only read are not writes. They are fenced if they belong to a pass.
var exempt = map[string]string{
	"coordination.k8s.io/leases":                "the election itself",
	"authentication.k8s.io/tokenreviews":        "each replica serves metrics, and checks who reads them",
	"authorization.k8s.io/subjectaccessreviews": "as for tokenreviews",
	"/secrets": "the webhook's certificate; each replica serves the webhook",
	"admissionregistration.k8s.io/mutatingwebhookconfigurations":   "as for secrets: its CA bundle",
	"admissionregistration.k8s.io/validatingwebhookconfigurations": "as for secrets: its CA bundle",
}

// Gate returns a transport that sends no request of a pass whose term is over. The context of the pass ends with the
// term as well, but a process that wakes after a long stop may send a request before the context's timer fires.
//
// If lead is not nil, the transport sends writes that belong to no pass only during a term, except those of exempt.
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
	if bound && !t.lasts() || !bound && g.lead != nil && writes(req) && !g.lead.Leads() {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, ErrOver
	}
	return g.next.RoundTrip(req)
}

// writes reports whether a request changes something, other than the exempt resources.
func writes(req *http.Request) bool {
	if req.Method == http.MethodGet || req.Method == http.MethodHead {
		return false
	}
	_, exempted := exempt[resourceOf(req.URL.Path)]
	return !exempted
}

// resourceOf returns the group and the resource of a request, such as "apps/statefulsets". The core group has no name,
// as in "/pods".
func resourceOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	// The address of an API server may have a path of its own, which precedes api and apis.
	for len(parts) > 2 && parts[0] != "api" && parts[0] != "apis" {
		parts = parts[1:]
	}
	group := ""
	if parts[0] == "apis" && len(parts) > 1 {
		group, parts = parts[1], parts[1:]
	}
	if parts = parts[min(2, len(parts)):]; len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	if len(parts) == 0 {
		return ""
	}
	return group + "/" + parts[0]
}
