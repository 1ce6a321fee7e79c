package session

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
