package session

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
)

// behindProxy returns sessions of a console behind a proxy, and a function that advances their clock.
func behindProxy() (s *Sessions, advance func(time.Duration)) {
	now := time.Now()
	s = New(Options{
		Idle: 30 * time.Minute, Lifetime: 12 * time.Hour, Cookie: "console", Now: func() time.Time { return now },
		Cluster: &rest.Config{Host: "https://127.0.0.1:1"}, Proxy: &Proxy{UserHeader: "X-User", SecretHeader: "X-Secret", Secret: "secret"},
	})
	return s, func(d time.Duration) { now = now.Add(d) }
}

func (s *Sessions) request(user string, cookies ...*http.Cookie) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.Header.Set("X-User", user)
	r.Header.Set("X-Secret", s.Proxy.Secret)

	for _, c := range cookies {
		r.AddCookie(c)
	}
	return r
}

// TestPagesBeginNoSession checks behind a proxy, which identifies the user in each request, that a page which updates
// itself neither continues nor begins a session.
func TestPagesBeginNoSession(t *testing.T) {
	s, advance := behindProxy()
	first := httptest.NewRecorder()

	session, err := s.Of(first, s.request("ann"), true)
	if err != nil || session == nil {
		t.Fatal(session, err)
	}

	cookies := first.Result().Cookies()
	if again, err := s.Of(first, s.request("ann", cookies...), false); err != nil || again != session {
		t.Errorf("the open page has the session %v, want %v; %v", again, session, err)
	}

	advance(31 * time.Minute)

	later := httptest.NewRecorder()
	for range 3 {
		if again, err := s.Of(later, s.request("ann", cookies...), false); err != nil || again != nil {
			t.Errorf("after the idle time, the open page has the session %v, %v", again, err)
		}
	}

	select {
	case <-session.Done():
	default:
		t.Error("the session has not ended")
	}

	if len(s.found) != 0 || len(later.Result().Cookies()) != 0 {
		t.Errorf("%d sessions began, and the cookies %v", len(s.found), later.Result().Cookies())
	}

	if again, err := s.Of(later, s.request("ann", cookies...), true); err != nil || again == nil {
		t.Errorf("a new page has no session: %v", err)
	}
}

// TestCookies checks the attributes of the cookie, of a console for a team and of sparkctl console.
func TestCookies(t *testing.T) {
	for secure, want := range map[bool]string{
		true:  "__Host-console=VALUE; Path=/; Max-Age=3600; HttpOnly; Secure; SameSite=Strict",
		false: "console=VALUE; Path=/; Max-Age=3600; HttpOnly; SameSite=Strict",
	} {
		s := New(Options{Idle: time.Hour, Lifetime: time.Hour, Cookie: "console", Secure: secure})
		begin, end := httptest.NewRecorder(), httptest.NewRecorder()
		s.start(begin, &User{})

		r := httptest.NewRequest(http.MethodPost, "/sign-out", http.NoBody)
		for _, c := range begin.Result().Cookies() {
			r.AddCookie(c)
			want = strings.Replace(want, "VALUE", c.Value, 1)

			if len(c.Value) < 50 {
				t.Errorf("the cookie has the value %q", c.Value)
			}
		}

		if got := begin.Header().Values("Set-Cookie"); !slices.Equal(got, []string{want}) {
			t.Errorf("secure: %t: the cookies are %q, want %q", secure, got, want)
		}

		if s.SignOut(end, r); !strings.Contains(end.Header().Get("Set-Cookie"), "Max-Age=0") || len(s.found) > 0 {
			t.Errorf("secure: %t: after the sign-out, the cookie is %q", secure, end.Header().Values("Set-Cookie"))
		}
	}
}

// TestSessionsOfOthersStay checks that many sessions of one user end none of another user.
func TestSessionsOfOthersStay(t *testing.T) {
	s, advance := behindProxy()

	session, err := s.Of(httptest.NewRecorder(), s.request("bob"), true)
	if err != nil {
		t.Fatal(err)
	}

	for range maxSessions + 1 {
		advance(time.Millisecond)

		if _, err := s.Of(httptest.NewRecorder(), s.request("ann"), true); err != nil {
			t.Fatal(err)
		}
	}

	if s.Over(session) || len(s.found) != 1+maxOfUser {
		t.Errorf("the session is over: %t; there are %d sessions", s.Over(session), len(s.found))
	}

	viewer := s.add(sha256.Sum256([]byte("viewer")), &User{Name: "system:serviceaccount:ci:viewer", Key: "viewer"}, false)

	for i := range 2 * maxOfUser { // programs with many tokens of many accounts
		advance(time.Millisecond)
		s.add(sha256.Sum256([]byte{byte(i)}), &User{Name: fmt.Sprint("system:serviceaccount:ci:", i), Key: fmt.Sprint(i)}, true)
	}

	if s.Over(session) || s.Over(viewer) || len(s.found) != 2+2*maxOfUser {
		t.Errorf("after many tokens, the session is over: %t; there are %d sessions", s.Over(session), len(s.found))
	}

	for i := range 2 * maxSessions { // programs of many namespaces
		advance(time.Millisecond)
		s.add(sha256.Sum256(fmt.Append(nil, "n", i)), &User{Name: fmt.Sprintf("system:serviceaccount:n%d:ci", i), Key: fmt.Sprint("n", i)}, true)
	}

	if s.Over(session) || s.Over(viewer) || len(s.found) != 2+maxOfUser+maxSessions {
		t.Errorf("after many namespaces, the session is over: %t; there are %d sessions", s.Over(session), len(s.found))
	}
}

// TestSweep checks that a session ends after its idle time although nobody sends a request.
func TestSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Idle: 30 * time.Minute, Lifetime: 12 * time.Hour, Cookie: "console"})

		ctx, cancel := context.WithCancel(t.Context())
		go s.Sweep(ctx)

		session := s.start(httptest.NewRecorder(), &User{Name: "ann"})

		time.Sleep(30*time.Minute - time.Second)
		synctest.Wait()

		if session.User.Over() {
			t.Error("the session has ended too early")
		}

		time.Sleep(sweepPause + time.Second)
		synctest.Wait()

		if !session.User.Over() || len(s.found) > 0 {
			t.Error("the session has not ended")
		}

		cancel()
	})
}

// TestKnownHost checks which names of the console a request may have.
func TestKnownHost(t *testing.T) {
	hosts := []string{"console.example.com", "console.example.com:8443", "*.spark.example.com"}
	for host, want := range map[string]bool{
		"console.example.com": true, "console.example.com:8443": true, "console.example.com:80": false, "a.spark.example.com": true, "a.b.spark.example.com": true,
		"spark.example.com": false, ".spark.example.com": false, "aspark.example.com": false, "a.spark.example.com:80": false, "a.spark.example.com.evil.example": false,
	} {
		if got := KnownHost(&http.Request{Host: host}, hosts); got != want {
			t.Errorf("%s is known: %t, want %t", host, got, want)
		}
	}

	if !KnownHost(&http.Request{Host: "any"}, nil) {
		t.Error("without hosts, a host is unknown")
	}
}

// TestReplacedSessionEnds checks that streams of a program's session end or change to the new session when the token
// was verified again.
func TestReplacedSessionEnds(t *testing.T) {
	s, _ := behindProxy()
	key := digest(sha256.Sum256([]byte("token")))
	first := s.add(key, &User{Key: "program"}, true)
	second := s.add(key, &User{Key: "program"}, true)

	select {
	case <-first.Done():
	default:
		t.Error("the replaced session has not ended")
	}

	if s.at(key, false) != second || !second.Program {
		t.Error("the new session is not that of the token")
	}
}
