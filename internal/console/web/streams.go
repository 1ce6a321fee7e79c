package web

import (
	"net/http"
	"sync"
)

const (
	// maxStreams bounds the streams of events that are open at the same time, and maxStreamsOfUser those of one user, so
	// that nobody takes all of them.
	maxStreams       = 1000
	maxStreamsOfUser = 100
)

// streams counts the open streams of events by the credentials of the users.
type streams struct {
	mu     sync.Mutex
	all    int
	ofUser map[string]int
}

// begin counts one more stream of a user. It reports false if there are too many.
func (s *streams) begin(user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.all >= maxStreams || s.ofUser[user] >= maxStreamsOfUser {
		return false
	}

	s.all++
	s.ofUser[user]++
	return true
}

func (s *streams) end(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.all--
	if s.ofUser[user]--; s.ofUser[user] == 0 {
		delete(s.ofUser, user)
	}
}

// Stream registers a route that sends events (HTML Living Standard, server-sent events) until the page is closed. The
// browser repeats such requests by itself, so they do not renew the session.
func (s *Site) Stream(route Route, handler func(http.ResponseWriter, *Request) error) {
	s.api.read(route.Path, route, "text/event-stream", anyMap{"type": "string"})
	s.handle("GET "+route.Path, false, func(w http.ResponseWriter, r *Request) error {
		if !s.streams.begin(r.Session.Key) {
			return &Problem{
				Status: http.StatusServiceUnavailable, Title: "Too many pages are open", Why: "The console serves the events of a limited number of pages.",
				Do: "Close pages that you do not need, or load the page again later.",
			}
		}
		defer s.streams.end(r.Session.Key)

		return handler(w, r)
	})
}
