package session

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Options are the settings of the sessions.
type Options struct {
	// Idle ends a session without requests, Lifetime every session.
	Idle, Lifetime time.Duration
	// Secure marks the cookie for HTTPS only. Browsers also accept such a cookie of localhost.
	Secure bool
	// Cookie is the name of the cookie, without a prefix.
	Cookie string
	// Local is the only user, whom a one-time token signs in. If it is nil, users sign in with tokens of Kubernetes.
	Local *User
	// Cluster is the address of the API server. Its credentials, if it has any, are used only for users of the Proxy.
	Cluster *rest.Config
	// Proxy is the trusted proxy, which identifies users; nil: none.
	Proxy *Proxy
	// Now returns the present time.
	Now func() time.Time
}

// maxSessions bounds the sessions of all users in browsers, and those of all programs, which have a session for each
// token. maxOfUser bounds those of one holder in the same way. If there are more, the session ends that was not used
// for the longest time. So programs end no session of a browser, and a holder ends none of another one.
const (
	maxSessions = 2000
	maxOfUser   = 50
)

// ticketLifetime is for how long a one-time token is valid.
const ticketLifetime = 10 * time.Minute

// Session is a user who has signed in with one browser, or one API token.
type Session struct {
	*User
	// CSRF is the token that forms send back.
	CSRF string
	// Program is true if a program sends its token with each request. It needs no CSRF token, because no browser does so.
	Program bool

	created, used time.Time
	done          chan struct{}
	end           func()
}

// Done returns a channel that is closed when the session ends.
func (s *Session) Done() <-chan struct{} { return s.done }

// digest is the hash of a secret by which it is found. A comparison of hashes reveals nothing about the secret.
type digest [sha256.Size]byte

// Sessions are the sessions of a console.
type Sessions struct {
	Options

	mu      sync.Mutex
	found   map[digest]*Session
	tickets map[digest]time.Time // one-time tokens, until when they are valid
	reviews chan struct{}        // bounds the number of tokens that are verified at the same time
}

// New returns an empty list of sessions.
func New(o Options) *Sessions {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Sessions{Options: o, found: map[digest]*Session{}, tickets: map[digest]time.Time{}, reviews: make(chan struct{}, 8)}
}

// Ticket returns a new one-time token for the local user.
func (s *Sessions) Ticket() string {
	ticket := rand.Text() + rand.Text()

	s.mu.Lock()
	defer s.mu.Unlock()

	s.tickets[sha256.Sum256([]byte(ticket))] = s.Now().Add(ticketLifetime)
	return ticket
}

// Redeem starts a session of the local user, if the one-time token is valid, and sets its cookie.
func (s *Sessions) Redeem(w http.ResponseWriter, ticket string) bool {
	key := digest(sha256.Sum256([]byte(ticket)))

	s.mu.Lock()
	until, known := s.tickets[key]
	delete(s.tickets, key)
	s.mu.Unlock()

	if s.Local == nil || !known || !s.Now().Before(until) {
		return false
	}

	s.start(w, s.Local)
	return true
}

// SignIn starts a session of the user of a token of Kubernetes, and sets its cookie.
func (s *Sessions) SignIn(ctx context.Context, w http.ResponseWriter, token string) error {
	if s.Local != nil || s.Proxy != nil {
		return errors.New("this console has no sign-in with tokens")
	}

	user, err := s.verify(ctx, token)
	if err != nil {
		return err
	}

	s.start(w, user)
	return nil
}

// verify returns the user of a token. Sessions of one token share the user.
func (s *Sessions) verify(ctx context.Context, token string) (*User, error) {
	select {
	case s.reviews <- struct{}{}:
		defer func() { <-s.reviews }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}

	user, err := withToken(ctx, s.Cluster, token)
	if err != nil {
		return nil, err
	}

	if known := s.sharing(user.Key); known != nil {
		return known, nil
	}
	return user, nil
}

// sharing returns the user of a session with the given credentials, or nil.
func (s *Sessions) sharing(key string) *User {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, session := range s.found {
		if session.Key == key {
			return session.User
		}
	}
	return nil
}

// start starts a session, and sets its cookie.
func (s *Sessions) start(w http.ResponseWriter, user *User) *Session {
	id := rand.Text() + rand.Text() // 260 bits
	session := s.add(sha256.Sum256([]byte(id)), user, false)
	http.SetCookie(w, s.cookie(id, int(s.Lifetime.Seconds())))
	return session
}

// add adds a session under a key, and ends the one that it replaces. It first removes sessions that are over. If there
// are too many, it removes the one that was not used for the longest time.
func (s *Sessions) add(key digest, user *User, program bool) *Session {
	now, done := s.Now(), make(chan struct{})

	s.mu.Lock()
	defer s.mu.Unlock()

	session := &Session{User: user.began(), CSRF: rand.Text(), Program: program, created: now, used: now, done: done}
	session.end = sync.OnceFunc(func() { close(done) })

	replaced := s.found[key]
	s.found[key] = session
	s.ended(replaced)

	s.removeOver()

	if oldest, n := s.oldest(func(other *Session) bool {
		return other != session && other.Program == program && other.Holder() == user.Holder()
	}); n >= maxOfUser {
		s.remove(oldest)
	} else if oldest, n = s.oldest(func(other *Session) bool { return other != session && other.Program == program }); n >= maxSessions {
		s.remove(oldest)
	}
	return session
}

// oldest returns which of some sessions was not used for the longest time, and their number.
func (s *Sessions) oldest(is func(*Session) bool) (oldest digest, n int) {
	for key, session := range s.found {
		if !is(session) {
			continue
		}

		if n++; n == 1 || session.used.Before(s.found[oldest].used) {
			oldest = key
		}
	}
	return oldest, n
}

func (s *Sessions) remove(key digest) {
	session := s.found[key]
	delete(s.found, key)
	s.ended(session)
}

// ended ends a session that was removed, and its user if it was the user's last one. The caller holds the lock.
func (s *Sessions) ended(session *Session) {
	if session == nil {
		return
	}

	session.end()

	for _, other := range s.found {
		if other.User == session.User {
			return
		}
	}

	if !session.User.Over() {
		close(session.User.done)
	}
}

func (s *Sessions) over(session *Session) bool {
	now := s.Now()
	return now.Sub(session.used) >= s.Idle || now.Sub(session.created) >= s.Lifetime
}

// at returns the session under a key, or nil. With use, the session begins a new idle period.
func (s *Sessions) at(key digest, use bool) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()

	session := s.found[key]
	if session == nil {
		return nil
	}

	if s.over(session) {
		s.remove(key)
		return nil
	}

	if use {
		session.used = s.Now()
	}
	return session
}

// Of returns the session of a request, or nil if nobody is signed in. With use, the session begins a new idle period;
// a page that updates itself must not keep a session alive.
//
// The headers of a trusted proxy identify the user of each request. Their session only has the CSRF token, and begins
// with the first request that uses it. Programs send a token of Kubernetes in the header Authorization, which no
// browser sends by itself.
func (s *Sessions) Of(w http.ResponseWriter, r *http.Request, use bool) (*Session, error) {
	if token, given := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); given && s.Local == nil && s.Proxy == nil {
		return s.ofToken(r.Context(), token)
	}

	var session *Session
	if cookie, err := r.Cookie(s.cookieName()); err == nil {
		session = s.at(sha256.Sum256([]byte(cookie.Value)), use)
	}

	if s.Proxy == nil {
		return session, nil
	}

	user, err := s.Proxy.user(r, s.Cluster, s.sharing)
	switch {
	case err != nil:
		return nil, err
	case session != nil && session.Key == user.Key:
		return session, nil
	case !use: // a page that updates itself must not begin a session either
		return nil, nil
	}
	return s.start(w, user), nil
}

// ofToken returns the session of a program that sends a token. It lasts a minute, so that a revoked token ends soon.
func (s *Sessions) ofToken(ctx context.Context, token string) (*Session, error) {
	key := digest(sha256.Sum256([]byte("Bearer " + token)))
	if session := s.at(key, false); session != nil && s.Now().Sub(session.created) < time.Minute {
		return session, nil
	}

	user, err := s.verify(ctx, token)
	if err != nil {
		return nil, err
	}

	return s.add(key, user, true), nil
}

// End ends the sessions of a user, because the cluster rejects the user's credentials.
func (s *Sessions) End(user *User) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for key, session := range s.found {
		if session.Key == user.Key {
			s.remove(key)
		}
	}
}

// SignOut ends the session of a request, and deletes its cookie.
func (s *Sessions) SignOut(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(s.cookieName()); err == nil {
		s.mu.Lock()
		s.remove(sha256.Sum256([]byte(cookie.Value)))
		s.mu.Unlock()
	}

	http.SetCookie(w, s.cookie("", -1))
}

// Valid reports whether a form's CSRF token is that of the session.
func (s *Session) Valid(csrf string) bool {
	return subtle.ConstantTimeCompare([]byte(csrf), []byte(s.CSRF)) == 1
}

// cookieName returns the name of the cookie. Browsers accept a cookie with this prefix only from the host itself, not
// from a sister domain.
func (s *Sessions) cookieName() string {
	if s.Secure {
		return "__Host-" + s.Cookie
	}
	return s.Cookie
}

func (s *Sessions) cookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{Name: s.cookieName(), Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, Secure: s.Secure, SameSite: http.SameSiteStrictMode}
}
