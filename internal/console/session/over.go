package session

import (
	"context"
	"time"
)

// sweepPause is the time between two searches for sessions that are over.
const sweepPause = time.Minute

// Sweep removes the sessions that are over, until the context ends. The credentials of users would otherwise stay in
// memory, and their watches open, until somebody else signs in.
func (s *Sessions) Sweep(ctx context.Context) {
	tick := time.NewTicker(sweepPause)
	defer tick.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.mu.Lock()
			s.removeOver()
			s.mu.Unlock()
		}
	}
}

// removeOver removes the sessions that are over. The caller holds the lock.
func (s *Sessions) removeOver() {
	for key, session := range s.found {
		if s.over(session) {
			s.remove(key)
		}
	}
}

// Over reports whether a session has ended. It is for requests without a cookie that a session has allowed, and does
// not begin a new idle period.
func (s *Sessions) Over(session *Session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	select {
	case <-session.done:
		return true
	default:
		return s.over(session)
	}
}
