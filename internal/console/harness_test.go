package console_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/console"
	"github.com/sparkoperator/spark-operator/internal/console/session"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	kit.MainShared(m)
}

// clock is a clock that a test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.at = c.at.Add(d)
}

// site is a console that a test serves.
type site struct {
	t        *testing.T
	sessions *session.Sessions
	*httptest.Server
}

// serve serves a console.
func serve(t *testing.T, sessions *session.Sessions, change ...func(*console.Options)) *site {
	t.Helper()

	o := console.Options{Sessions: sessions}
	for _, c := range change {
		c(&o)
	}

	ctx, cancel := context.WithCancel(context.Background())
	server := httptest.NewUnstartedServer(console.New(ctx, o))
	server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	server.Start()
	t.Cleanup(func() { cancel(); server.Close() })
	return &site{t: t, sessions: sessions, Server: server}
}

// team returns the sessions of a console for a team. The cookies are not Secure, because tests use HTTP.
func team(t *testing.T, change ...func(*session.Options)) *session.Sessions {
	t.Helper()

	o := session.Options{Idle: time.Hour, Lifetime: 8 * time.Hour, Cookie: "spark-console", Cluster: rest.AnonymousClientConfig(kit.Rest(t))}
	for _, c := range change {
		c(&o)
	}
	return session.New(o)
}

// alone returns the sessions of sparkctl console, with the rights of an administrator.
func alone(t *testing.T, rc *rest.Config) *session.Sessions {
	t.Helper()

	c, err := kube.New(rc, "default")
	if err != nil {
		t.Fatal(err)
	}
	return session.New(session.Options{Idle: time.Hour, Lifetime: 8 * time.Hour, Cookie: "sparkctl-console", Local: session.Local(t.Context(), c)})
}

// browser is a client with cookies, which follows no redirects.
type browser struct {
	t *testing.T
	*site
	http.Client
}

func (s *site) browser() *browser {
	s.t.Helper()

	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return &browser{t: s.t, site: s, Client: http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// local returns a browser that has signed in with a one-time token.
func (s *site) local() *browser {
	s.t.Helper()

	b := s.browser()
	if got := b.get("/open?token=" + s.sessions.Ticket()); got.status != http.StatusSeeOther || got.Header.Get("Location") != "/" {
		s.t.Fatalf("the one-time token leads to %d %s", got.status, got.Header.Get("Location"))
	}
	return b
}

// user returns a browser that has signed in with a token.
func (s *site) user(token string) *browser {
	s.t.Helper()

	b := s.browser()
	if got := b.post("/sign-in", url.Values{"token": {token}}); got.status != http.StatusSeeOther {
		s.t.Fatalf("the sign-in has the status %d: %s", got.status, got.text)
	}
	return b
}

// answer is the response to a request.
type answer struct {
	http.Header
	status int
	text   string
}

func (b *browser) send(r *http.Request) answer {
	b.t.Helper()

	response, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()

	text, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer{response.Header, response.StatusCode, string(text)}
}

// request returns a request. Headers are given as pairs.
func (b *browser) request(method, path string, body io.Reader, headers ...string) *http.Request {
	b.t.Helper()

	r, err := http.NewRequestWithContext(b.t.Context(), method, b.URL+path, body)
	if err != nil {
		b.t.Fatal(err)
	}

	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}

		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func (b *browser) get(path string, headers ...string) answer {
	b.t.Helper()
	return b.send(b.request(http.MethodGet, path, nil, headers...))
}

func (b *browser) post(path string, form url.Values, headers ...string) answer {
	b.t.Helper()
	return b.send(b.request(http.MethodPost, path, strings.NewReader(form.Encode()), append(headers, "Content-Type", "application/x-www-form-urlencoded")...))
}

// waitFor waits until a page has a text.
func (b *browser) waitFor(path, text string) answer {
	b.t.Helper()

	var got answer
	kit.Wait(b.t, fmt.Sprintf("%q at %s", text, path), func(context.Context) error {
		if got = b.get(path); !strings.Contains(got.text, text) {
			return fmt.Errorf("the page has the status %d: %s", got.status, plain(got.text))
		}
		return nil
	})
	return got
}

// csrf returns the CSRF token of a page.
func (b *browser) csrf() string {
	b.t.Helper()

	match := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(b.get("/").text)
	if match == nil {
		b.t.Fatal("the page has no CSRF token")
	}
	return match[1]
}

// plain returns the text of a page without markup, cut to a length that a test's log can have.
func plain(page string) string {
	text := strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")), " ")
	return text[:min(len(text), 1500)]
}

// event is a server-sent event.
type event struct {
	at         time.Time
	name, data string
}

// events opens the events of a query. The channel is closed when they end.
func (b *browser) events(query string) <-chan event {
	b.t.Helper()

	response, err := b.Do(b.request(http.MethodGet, "/events"+query, nil))
	if err != nil {
		b.t.Fatal(err)
	}

	b.t.Cleanup(func() { _ = response.Body.Close() })

	if response.StatusCode != http.StatusOK {
		b.t.Fatalf("the events have the status %d", response.StatusCode)
	}

	out := make(chan event, 100)
	go func() {
		defer close(out)

		var next event

		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 4<<20)

		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch {
			case name == "event":
				next.name = value
			case name == "data":
				next.data += value + "\n"
			case lines.Text() == "" && next.name != "":
				next.at = time.Now()
				out <- next

				next = event{}
			}
		}
	}()
	return out
}

// await returns the first event that satisfies a condition.
func await(t *testing.T, events <-chan event, what string, holds func(event) bool) event {
	t.Helper()

	last := ""

	limit := time.After(3 * time.Minute)
	for {
		select {
		case e, open := <-events:
			if !open {
				t.Fatalf("the events end before %s; the last was %s", what, plain(last))
			}

			if holds(e) {
				return e
			}

			last = e.name + " " + e.data
		case <-limit:
			t.Fatalf("no event: %s; the last was %s", what, plain(last))
		}
	}
}

// account creates a service account, which may look in the given namespaces, and returns its token.
func account(w *scene.World, name string, namespaces ...string) string {
	w.T.Helper()

	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
	w.Create(sa)

	for _, namespace := range namespaces {
		grant(w, namespace, name)
	}

	request := &authenticationv1.TokenRequest{}
	if err := w.API.SubResource("token").Create(w.T.Context(), sa, request); err != nil {
		w.T.Fatal(err)
	}
	return request.Status.Token
}

// grant gives a service account of the world the rights of a viewer in a namespace.
func grant(w *scene.World, namespace, name string) {
	w.T.Helper()

	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1beta2.SchemeGroupVersion.Group, sparkv1.SchemeGroupVersion.Group}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"pods", "events"}, Verbs: []string{"get", "list", "watch"}},
	}}
	w.Create(role)
	w.Create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.Namespace, Name: name}},
	})
}

// setState writes the state of an application, as the operator does.
func setState(w *scene.World, name string, state v1beta2.ApplicationStateType) {
	w.T.Helper()

	app := w.Get(name)
	base := app.DeepCopy()
	app.Status.AppState.State = state

	if err := w.API.Status().Patch(w.T.Context(), app, client.MergeFrom(base)); err != nil {
		w.T.Fatal(err)
	}
}

// road is a connection to the API server that a test can cut.
type road struct {
	t      *testing.T
	target string
	local  string

	mu       sync.Mutex
	listener net.Listener
	open     []net.Conn
}

// newRoad returns a road, and the configuration of a client that uses it.
func newRoad(t *testing.T) (*road, *rest.Config) {
	t.Helper()

	rc := kit.Rest(t)

	parsed, err := url.Parse(rc.Host)
	if err != nil {
		t.Fatal(err)
	}

	r := &road{t: t, target: parsed.Host, local: "127.0.0.1:0"}
	r.mend()
	t.Cleanup(r.cut)

	rc.Host = "https://" + r.local
	return r, rc
}

// cut closes all connections, and refuses others.
func (r *road) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()

	_ = r.listener.Close()
	for _, c := range r.open {
		_ = c.Close()
	}

	r.open = nil
}

// mend opens the road.
func (r *road) mend() {
	r.t.Helper()

	listener, err := net.Listen("tcp", r.local) //nolint:noctx // ends with the road
	if err != nil {
		r.t.Fatal(err)
	}

	r.mu.Lock()
	r.listener, r.local = listener, listener.Addr().String()
	r.mu.Unlock()

	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}

			to, err := net.Dial("tcp", r.target) //nolint:noctx // ends with the road
			if err != nil {
				_ = from.Close()
				continue
			}

			r.mu.Lock()
			r.open = append(r.open, from, to)
			r.mu.Unlock()

			for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
				go func() {
					_, _ = io.Copy(pair[0], pair[1])
					_ = pair[0].Close()
				}()
			}
		}
	}()
}
