package world

import (
	"net/http"
	"path"
	"strings"
	"sync"
)

// RoundTrip is a function as a transport.
type RoundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f RoundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Requests is a transport that counts an operator's requests to the API server and records the content types of their
// bodies.
type Requests struct {
	Next http.RoundTripper

	mu       sync.Mutex
	counts   map[string]int
	Contents map[string]string
}

// Over sets the transport that sends the requests, and returns the counter.
func (r *Requests) Over(next http.RoundTripper) http.RoundTripper {
	r.Next = next
	return r
}

// RoundTrip is a function as a transport.
func (r *Requests) RoundTrip(request *http.Request) (*http.Response, error) {
	resource := path.Base(request.URL.Path)

	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	for i, part := range parts { // .../namespaces/<namespace>/<resource>[/<name>[/status]]
		if part == "namespaces" && i+2 < len(parts) {
			resource = parts[i+2]
			if parts[len(parts)-1] == "status" {
				resource += "/status"
			}
		}
	}

	r.mu.Lock()
	if r.counts == nil {
		r.counts, r.Contents = map[string]int{}, map[string]string{}
	}

	if request.URL.Query().Get("watch") == "" && !discovers(parts) {
		r.counts[request.Method+" "+resource]++
	}

	if content := request.Header.Get("Content-Type"); content != "" {
		r.Contents[resource] = content
	}
	r.mu.Unlock()
	return r.Next.RoundTrip(request)
}

// discovers reports whether a path belongs to discovery: /api, /api/v1, /apis, /apis/GROUP or /apis/GROUP/VERSION. The
// operator sends such requests from time to time, for kinds that a cluster may lack.
func discovers(path []string) bool {
	return path[0] == "api" && len(path) <= 2 || path[0] == "apis" && len(path) <= 3
}

// Since returns the number of requests by method and resource, less the given earlier counts. It leaves out discovery
// requests.
func (r *Requests) Since(before map[string]int) map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()

	made := map[string]int{}
	for what, n := range r.counts {
		if n -= before[what]; n > 0 {
			made[what] = n
		}
	}
	return made
}
