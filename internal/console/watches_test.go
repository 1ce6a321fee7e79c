package console_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/sparkoperator/spark-operator/internal/console"
	"github.com/sparkoperator/spark-operator/internal/console/session"
	"github.com/sparkoperator/spark-operator/internal/console/table"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// gate is an API server that counts the open watches of each token, and passes all requests on, except during an
// outage.
type gate struct {
	pass   *httputil.ReverseProxy
	mu     sync.Mutex
	open   map[string]int
	tokens map[string]bool                          // of all requests
	outage func(http.ResponseWriter, *http.Request) // how it answers meanwhile
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	outage := g.outage
	g.tokens[r.Header.Get("Authorization")] = true
	g.mu.Unlock()

	if outage != nil {
		outage(w, r)
		return
	}

	if token := r.Header.Get("Authorization"); r.URL.Query().Has("watch") {
		g.count(token, 1)
		defer g.count(token, -1)
	}

	g.pass.ServeHTTP(w, r)
}

func (g *gate) count(token string, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.open[token] += n
}

// only fails unless each request since the last call had the token of one of the users. It returns the numbers of their
// watches.
func (g *gate) only(t *testing.T, users ...string) (watches []int) {
	t.Helper()

	g.mu.Lock()
	defer g.mu.Unlock()

	for _, user := range users {
		watches = append(watches, g.open["Bearer "+user])
		delete(g.tokens, "Bearer "+user)
	}

	if len(g.tokens) > 0 {
		t.Errorf("requests have the credentials %v", slices.Collect(maps.Keys(g.tokens)))
	}

	clear(g.tokens)
	return watches
}

// wait waits until a user has watches, or has none.
func (g *gate) wait(t *testing.T, what, token string, some bool) {
	t.Helper()

	kit.Wait(t, what, func(context.Context) error {
		g.mu.Lock()
		defer g.mu.Unlock()

		if n := g.open["Bearer "+token]; some != (n > 0) {
			return fmt.Errorf("the user has %d watches", n)
		}
		return nil
	})
}

// answer sets how the gate answers from now on. If outage is nil, it passes requests on.
func (g *gate) answer(outage func(http.ResponseWriter, *http.Request)) {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.outage = outage
}

// fail sets how the gate answers from now on, as answer does, and ends all connections.
func (g *gate) fail(server *httptest.Server, outage func(http.ResponseWriter, *http.Request)) {
	g.answer(outage)
	server.CloseClientConnections()
}

// newGate returns a gate before the API server of the tests, its server and its address.
func newGate(t *testing.T) (*gate, *httptest.Server, *rest.Config) {
	t.Helper()

	rc := rest.AnonymousClientConfig(kit.Rest(t))

	target, err := url.Parse(rc.Host)
	if err != nil {
		t.Fatal(err)
	}

	transport, err := rest.TransportFor(rc)
	if err != nil {
		t.Fatal(err)
	}

	g := &gate{open: map[string]int{}, tokens: map[string]bool{}, pass: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport, FlushInterval: -1,
	}}
	server := httptest.NewServer(g)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return g, server, &rest.Config{Host: server.URL}
}

// TestWatchesEndWithTheSession checks that no watch runs with the credentials of a user whose last session has ended.
// Another user who looks at the same objects continues the watch, without another list.
func TestWatchesEndWithTheSession(t *testing.T) {
	t.Parallel()

	w := scene.New(t)
	w.Application("first")

	gate, _, cluster := newGate(t)
	s := serve(t, team(t, func(o *session.Options) { o.Cluster = cluster }), func(o *console.Options) { o.Namespaces, o.Linger = []string{w.Namespace}, time.Hour })

	annToken, bobToken := account(w, "ann", w.Namespace), account(w, "bob", w.Namespace)
	sees := func(name string) func(event) bool {
		return func(e event) bool { return strings.Contains(e.data, ">"+name+"<") }
	}

	ann, again := s.user(annToken), s.user(annToken)
	await(t, ann.events(""), "the application", sees("first"))
	gate.wait(t, "the watches of ann", annToken, true)

	for _, path := range []string{"/", "/namespaces", "/doctor?run=true", "/submit", table.ObjectPath("sparkapplications.sparkoperator.k8s.io", w.Namespace, "first")} {
		if got := ann.get(path); got.status != http.StatusOK {
			t.Errorf("%s answers %d", path, got.status)
		}
	}

	gate.only(t, annToken)

	bob := s.user(bobToken)
	events := bob.events("")
	await(t, events, "the application", sees("first"))

	if watches := gate.only(t, annToken, bobToken); watches[0] == 0 || watches[0] > len(kinds.All) || watches[1] != 0 {
		t.Errorf("ann and bob, who have the same rights, have %v watches", watches)
	}

	ann.post("/sign-out", url.Values{"csrf": {ann.csrf()}})

	if got := again.get("/"); got.status != http.StatusOK {
		t.Fatalf("the other session of ann answers %d", got.status)
	}

	again.post("/sign-out", url.Values{"csrf": {again.csrf()}})
	gate.wait(t, "the end of the watches of ann", annToken, false)
	gate.wait(t, "the watches of bob", bobToken, true)

	w.Application("second")
	await(t, events, "the second application", sees("second"))

	bob.post("/sign-out", url.Values{"csrf": {bob.csrf()}})
	gate.wait(t, "the end of the watches of bob", bobToken, false)

	// The same token signs in again, and its watches begin again.
	await(t, s.user(bobToken).events(""), "both applications", func(e event) bool { return sees("first")(e) && sees("second")(e) })
	gate.wait(t, "the watches of bob", bobToken, true)
	gate.only(t, annToken, bobToken)
}

// TestOutages checks that a page reports an API server that does not answer, although client-go returns no error of a
// watch whose connection is closed or times out. Afterwards the page is live again, with what it has missed.
func TestOutages(t *testing.T) {
	t.Parallel()

	for name, outage := range map[string]func(http.ResponseWriter, *http.Request){
		"closes": func(w http.ResponseWriter, _ *http.Request) {
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_ = conn.Close()
			}
		},
		"hangs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := scene.New(t)
			w.Application("first")

			gate, server, cluster := newGate(t)
			s := serve(t, team(t, func(o *session.Options) { o.Cluster = cluster }), func(o *console.Options) { o.Namespaces = []string{w.Namespace} })

			events := s.user(account(w, "ann", w.Namespace)).events("")
			shows := func(name, fresh string) func(event) bool {
				return func(e event) bool {
					return strings.Contains(e.data, ">"+name+"<") && strings.Contains(e.data, `class="fresh `+fresh)
				}
			}

			await(t, events, "a live table", shows("first", "live"))

			gate.fail(server, outage)
			await(t, events, "the outage", shows("first", "stale"))

			w.Application("missed")
			gate.fail(server, nil)
			await(t, events, "the missed application", shows("missed", "live"))
		})
	}
}

// TestWatchesEndWithoutPages checks that watches end when the last page is closed, and that nobody opens any number of
// event streams.
func TestWatchesEndWithoutPages(t *testing.T) {
	t.Parallel()

	w := scene.New(t)
	gate, _, cluster := newGate(t)
	s := serve(t, team(t, func(o *session.Options) { o.Cluster = cluster }), func(o *console.Options) {
		o.Namespaces, o.Linger = []string{w.Namespace}, 100*time.Millisecond
	})
	token := account(w, "ann", w.Namespace)
	b := s.user(token)

	ctx, closePages := context.WithCancel(t.Context())
	defer closePages()

	statuses := map[int]int{}
	for range 101 {
		response, err := b.Do(b.request(http.MethodGet, "/events", nil).WithContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()

		statuses[response.StatusCode]++
	}

	if statuses[http.StatusOK] != 100 || statuses[http.StatusServiceUnavailable] != 1 {
		t.Errorf("101 streams of one user are answered with %v", statuses)
	}

	gate.wait(t, "the watches of ann", token, true)
	closePages()
	gate.wait(t, "the end of the watches", token, false)
}

// TestFirstListHangs checks that a page reports a list that does not come, and that the page is live when it has come.
func TestFirstListHangs(t *testing.T) {
	t.Parallel()

	w := scene.New(t)
	w.Application("first")

	gate, server, cluster := newGate(t)
	s := serve(t, team(t, func(o *session.Options) { o.Cluster = cluster }), func(o *console.Options) { o.Namespaces = []string{w.Namespace} })
	user := s.user(account(w, "ann", w.Namespace))

	gate.answer(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/sparkapplications") {
			<-r.Context().Done()
			return
		}

		gate.pass.ServeHTTP(w, r)
	})

	if got := user.get("/namespaces"); !strings.Contains(got.text, `aria-busy="true"`) || strings.Contains(got.text, "No namespace has") {
		t.Errorf("before the list has come, the page of the namespaces is %s", plain(got.text))
	}

	events := user.events("")
	await(t, events, "the list that hangs", func(e event) bool {
		return strings.Contains(e.data, `class="fresh stale"`) && strings.Contains(e.data, "Not read yet: the API server does not answer")
	})

	gate.fail(server, nil)
	await(t, events, "a live table", func(e event) bool {
		return strings.Contains(e.data, ">first<") && strings.Contains(e.data, `class="fresh live`)
	})

	// The page of the namespaces has no events.
	if got := user.waitFor("/namespaces", ">"+w.Namespace+"<"); !strings.Contains(got.text, "Read again") {
		t.Errorf("the page of the namespaces is %s", plain(got.text))
	}
}
