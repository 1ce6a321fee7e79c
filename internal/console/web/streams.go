package web

import (
	"net/http"

	"github.com/sparkoperator/spark-operator/internal/console/session"
)

// maxStreams bounds the streams of events that are open at the same time, and maxStreamsOfUser those of one user.
const (
	maxStreams       = 1000
	maxStreamsOfUser = 100
)

// Stream registers a route that sends events (HTML Living Standard, server-sent events) until the page is closed. The
// browser repeats such requests by itself, so they do not renew the session.
func (s *Site) Stream(route Route, handler func(http.ResponseWriter, *Request) error) {
	s.api.read(route.Path, route, "text/event-stream", anyMap{"type": "string"})
	s.handle("GET "+route.Path, false, func(w http.ResponseWriter, r *Request) error {
		user := r.Session.Holder()
		if !s.streams.Take(user, 1) {
			return &Problem{
				Status: http.StatusServiceUnavailable, Title: "Too many pages are open", Why: "The console serves the events of a limited number of pages.",
				Do: "Close pages that you do not need, or load the page again later.",
			}
		}
		defer s.streams.Give(user, 1)

		return handler(w, r)
	})
}

// Lasting returns the present session of an open stream, or nil if its user is signed out. The session of a program is
// replaced every minute by another one with the same credentials.
func (s *Site) Lasting(w http.ResponseWriter, r *Request) *session.Session {
	found, err := s.Sessions.Of(w, r.Request, false)
	if err != nil || found == nil || found.Key != r.Session.Key {
		return nil
	}
	return found
}
