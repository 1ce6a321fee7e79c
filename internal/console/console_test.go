package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/console"
	"github.com/sparkoperator/spark-operator/internal/console/session"
	"github.com/sparkoperator/spark-operator/internal/console/table"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// TestTableIsLive follows an application on the page of all objects: it appears, changes its state, and disappears, by
// events and without another request.
func TestTableIsLive(t *testing.T) {
	t.Parallel()

	w := scene.New(t)
	w.Application("first")

	b := serve(t, alone(t, kit.Rest(t))).local()
	query := "?namespace=" + w.Namespace

	b.waitFor("/"+query, ">first<")

	events := b.events(query)
	await(t, events, "the first application", func(e event) bool { return e.name == "window" && strings.Contains(e.data, ">first<") })

	w.Application("second")
	await(t, events, "the second application", func(e event) bool { return strings.Contains(e.data, ">second<") })

	setState(w, "second", v1beta2.ApplicationStateRunning)
	await(t, events, "its state", func(e event) bool { return strings.Contains(e.data, ">RUNNING<") })

	w.Remove(w.Get("second"))
	await(t, events, "its end", func(e event) bool {
		return strings.Contains(e.data, ">first<") && !strings.Contains(e.data, ">second<")
	})
}

// TestSearchThatCannotBeRead checks that the page names a word of the search that it leaves out, also after its first
// event.
func TestSearchThatCannotBeRead(t *testing.T) {
	t.Parallel()

	w := scene.New(t)
	w.Application("first")

	b := serve(t, alone(t, kit.Rest(t))).local()
	query := "?q=memory%3E64GB+attempts%3C9&namespace=" + w.Namespace

	b.waitFor("/"+query, "Left out: the comparison &#34;memory&gt;64GB&#34;, which cannot be read.")
	await(t, b.events(query), "the note", func(e event) bool { return strings.Contains(e.data, "Left out") && strings.Contains(e.data, ">first<") })
}

// TestOneTimeToken checks that the address of sparkctl console works once, and that nothing is shown without it.
func TestOneTimeToken(t *testing.T) {
	t.Parallel()

	s := serve(t, alone(t, kit.Rest(t)))
	ticket := s.sessions.Ticket()

	for _, path := range []string{"/", "/?q=x"} {
		if got := s.browser().get(path); got.status != http.StatusSeeOther || !strings.HasPrefix(got.Header.Get("Location"), "/sign-in") {
			t.Errorf("GET %s without a session: %d to %s", path, got.status, got.Header.Get("Location"))
		}
	}

	for _, path := range []string{"/events", "/api/v1/objects"} {
		if got := s.browser().get(path); got.status != http.StatusUnauthorized {
			t.Errorf("GET %s without a session: %d", path, got.status)
		}
	}

	for i, want := range []string{"/", "/sign-in", "/sign-in"} {
		if got := s.browser().get("/open?token=" + ticket); got.Header.Get("Location") != want {
			t.Errorf("use %d of the one-time token leads to %s, want %s", i+1, got.Header.Get("Location"), want)
		}
	}

	if got := s.browser().post("/sign-in", url.Values{"token": {"x"}}); got.status != http.StatusUnauthorized {
		t.Errorf("sign-in with a token of Kubernetes: %d", got.status)
	}
}

// TestOtherSites checks the protection from pages of other sites: from names that are bound to this machine (DNS
// rebinding), from requests with the browser's cookies, and from frames.
func TestOtherSites(t *testing.T) {
	t.Parallel()

	var host string

	s := serve(t, alone(t, kit.Rest(t)), func(o *console.Options) { o.Hosts = []string{"placeholder"} })

	host = strings.TrimPrefix(s.URL, "http://")
	if got := s.browser().get("/sign-in"); got.status != http.StatusMisdirectedRequest {
		t.Errorf("a request for the unknown host %s: %d", host, got.status)
	}

	b := serve(t, alone(t, kit.Rest(t))).local()
	csrf := b.csrf()

	for name, test := range map[string]struct {
		got  answer
		want int
	}{
		"API from another site":     {b.get("/api/v1/objects", "Sec-Fetch-Site", "cross-site"), http.StatusForbidden},
		"API from a sister domain":  {b.get("/api/v1/objects", "Sec-Fetch-Site", "same-site"), http.StatusForbidden},
		"API with a foreign origin": {b.get("/api/v1/objects", "Origin", "null"), http.StatusForbidden},
		"events from another site":  {b.get("/events", "Sec-Fetch-Site", "cross-site"), http.StatusForbidden},
		"form of another site":      {b.post("/sign-out", url.Values{"csrf": {csrf}}, "Origin", "https://evil.example.com"), http.StatusForbidden},
		"form of the page":          {b.post("/sign-in", url.Values{"token": {"x"}}, "Sec-Fetch-Site", "same-origin", "Origin", "null"), http.StatusUnauthorized},
		"API from the page":         {b.get("/api/v1/objects?limit=1", "Sec-Fetch-Site", "same-origin"), http.StatusOK},
	} {
		if test.got.status != test.want {
			t.Errorf("%s: status %d, want %d", name, test.got.status, test.want)
		}
	}

	link := s.browser()
	if got := link.get("/?q=x", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Host", "placeholder"); got.Header.Get("Refresh") != "0; url=/?linked=&q=x" {
		t.Errorf("a link of another site: status %d, Refresh %q", got.status, got.Header.Get("Refresh"))
	}

	if got := link.get("//evil.example.com/", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"); strings.Contains(got.Header.Get("Refresh"), "evil") {
		t.Errorf("a link leads to another site: %q", got.Header.Get("Refresh"))
	}

	page := b.get("/")
	for header, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
			"frame-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": "no-store", "X-Frame-Options": "DENY",
	} {
		if got := page.Header.Values(header); !slices.Equal(got, []string{want}) {
			t.Errorf("the header %s is %q, want %q", header, got, want)
		}
	}

	b.post("/sign-out", url.Values{"csrf": {"wrong"}})

	if got := b.get("/"); got.status != http.StatusOK {
		t.Errorf("a sign-out with a wrong CSRF token has ended the session: %d", got.status)
	}

	b.post("/sign-out", url.Values{"csrf": {csrf}})

	if got := b.get("/"); got.status != http.StatusSeeOther {
		t.Errorf("the session lasts after the sign-out: %d", got.status)
	}
}

// TestSessionsEnd checks that a session ends without requests, and after its lifetime, and that a page that updates
// itself does not keep it alive.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()

	w := scene.New(t)
	token := account(w, "viewer", w.Namespace)
	c := &clock{at: time.Now()}

	s := serve(t, team(t, func(o *session.Options) { o.Now, o.Idle, o.Lifetime = c.now, time.Hour, 3*time.Hour }))
	b := s.user(token)
	events := b.events("?namespace=" + w.Namespace)

	for range 2 {
		c.advance(50 * time.Minute)

		if got := b.get("/"); got.status != http.StatusOK {
			t.Fatalf("the session has ended after %v: %d", c.now(), got.status)
		}
	}

	idle := s.user(token)

	for range 3 { // a page that loads itself again
		c.advance(21 * time.Minute)
		idle.get("/", "Hx-Trigger", "refresh")
	}

	if got := idle.get("/"); got.status != http.StatusSeeOther || !strings.Contains(got.Header.Get("Location"), "/sign-in?return=") {
		t.Errorf("an idle session: %d to %s", got.status, got.Header.Get("Location"))
	}

	w.Application("change") // wakes the events
	await(t, events, "the end of the session", func(e event) bool { return e.name == "ended" })

	b = s.user(token)
	for range 5 {
		c.advance(40 * time.Minute)
		b.get("/")
	}

	if got := b.get("/"); got.status != http.StatusSeeOther {
		t.Errorf("a session after its lifetime: %d", got.status)
	}
}

// TestNamespacesOfOthers checks that a user learns nothing about a namespace in which the user has no rights: every
// answer about it is the answer about a namespace that does not exist.
func TestNamespacesOfOthers(t *testing.T) {
	t.Parallel()

	mine, theirs := scene.New(t), scene.New(t)
	mine.Application("mine")
	theirs.Application("theirs")

	s := serve(t, team(t), func(o *console.Options) { o.Namespaces = []string{mine.Namespace, theirs.Namespace} })
	b, other := s.user(account(mine, "viewer", mine.Namespace)), s.user(account(theirs, "viewer", theirs.Namespace))

	other.waitFor("/", ">theirs<") // so that the console has the rows of both
	b.waitFor("/", ">mine<")

	const absent = "test-absent"

	many := ""
	for i := range 60 { // more than a page may name
		many += fmt.Sprintf("none-%d,", i)
	}

	for _, path := range []string{
		"/", "/?q=theirs", "/?namespace=NAMESPACE", "/?namespace=NAMESPACE&kind=app", "/namespaces", "/namespaces?namespace=NAMESPACE", "/api/v1/namespaces?namespace=NAMESPACE", "/api/v1/objects", "/api/v1/objects?namespace=NAMESPACE",
		"/api/v1/objects?q=theirs", "/api/v1/objects?sort=namespace&namespace=NAMESPACE," + mine.Namespace, "/api/v1/objects?namespace=" + many + "NAMESPACE",
	} {
		existing, missing := b.get(strings.ReplaceAll(path, "NAMESPACE", theirs.Namespace)), b.get(strings.ReplaceAll(path, "NAMESPACE", absent))
		if got, want := normal(existing.text, theirs.Namespace), normal(missing.text, absent); existing.status != missing.status || got != want {
			t.Errorf("%s: status %d, page %s\nof an absent namespace: status %d, page %s", path, existing.status, plain(got), missing.status, plain(want))
		}

		if strings.Contains(existing.text, ">theirs<") || strings.Contains(existing.text, `"name":"theirs"`) {
			t.Errorf("%s shows the application of another namespace: %s", path, plain(existing.text))
		}
	}

	var window table.Window
	if err := json.Unmarshal([]byte(b.get("/api/v1/objects").text), &window); err != nil || window.All != 1 || window.Total != 1 || len(window.Namespaces) != 1 {
		t.Errorf("the user sees %d of %d objects in %v, want the own one: %v", window.Total, window.All, window.Namespaces, err)
	}
}

// TestUserWithoutRights checks that a user who may see nothing anywhere learns that, and that naming a namespace in
// which the user has no rights changes nothing.
func TestUserWithoutRights(t *testing.T) {
	t.Parallel()

	w := scene.New(t)
	w.Application("theirs")

	s := serve(t, team(t), func(o *console.Options) { o.Namespaces = []string{w.Namespace} })
	b := s.user(account(w, "stranger"))

	for _, path := range []string{"/", "/?namespace=" + w.Namespace, "/?namespace=test-absent"} {
		if got := b.get(path); got.status != http.StatusOK || !strings.Contains(got.text, "You may not see Spark applications") || strings.Contains(got.text, "No Spark application yet") {
			t.Errorf("%s answers %d: %s", path, got.status, plain(got.text))
		}
	}

	if got := s.user(account(w, "viewer", w.Namespace)).waitFor("/", ">theirs<"); strings.Contains(got.text, "You may not see") {
		t.Errorf("a user with rights reads %s", plain(got.text))
	}
}

// normal returns a text without what varies between two requests: times, and the name of a namespace in the request.
func normal(text, namespace string) string {
	text = times.ReplaceAllString(strings.ReplaceAll(text, namespace, "NAMESPACE"), "TIME")
	return text
}

// times matches times, durations and random texts on a page.
var times = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( ?UTC|Z)?|\b\d+(\.\d+)?(ms|s|m|h)( ago)?|[A-Z2-7]{26}|just now`)

// TestRightsEnd checks that a page loses the objects of a user whose rights were removed.
func TestRightsEnd(t *testing.T) {
	t.Parallel()

	w := scene.New(t)
	w.Application("secret")

	token := account(w, "viewer", w.Namespace)
	admin := serve(t, alone(t, kit.Rest(t))).local()
	admin.waitFor("/?namespace="+w.Namespace, ">secret<")

	b := serve(t, team(t), func(o *console.Options) { o.Namespaces = []string{w.Namespace} }).user(token)
	b.waitFor("/", ">secret<")

	events := b.events("")
	await(t, events, "the application", func(e event) bool { return strings.Contains(e.data, ">secret<") })

	w.Remove(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "viewer"}})
	// Answers about rights count for a minute.
	await(t, events, "the loss of the application", func(e event) bool { return !strings.Contains(e.data, ">secret<") })
}

// TestRevokedToken checks that the sessions of a token that the cluster rejects end.
func TestRevokedToken(t *testing.T) {
	t.Parallel()

	w := scene.New(t)
	token := account(w, "viewer", w.Namespace)
	s := serve(t, team(t), func(o *console.Options) { o.Namespaces = []string{w.Namespace} })
	b := s.user(token)

	w.Application("app")
	b.waitFor("/", ">app<")

	events := b.events("")
	await(t, events, "the application", func(e event) bool { return strings.Contains(e.data, ">app<") })

	w.Remove(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "viewer"}})
	await(t, events, "the end of the session", func(e event) bool { return e.name == "ended" })

	if got := b.get("/"); got.status != http.StatusSeeOther {
		t.Errorf("the session of a revoked token: %d", got.status)
	}

	if got := s.browser().post("/sign-in", url.Values{"token": {token}}); got.status != http.StatusUnauthorized || !strings.Contains(got.text, "rejects the token") {
		t.Errorf("a sign-in with a revoked token: %d %s", got.status, plain(got.text))
	}
}

// TestOutage checks that a page reports that the API server is away, keeps what it shows, and recovers by itself.
func TestOutage(t *testing.T) {
	t.Parallel()

	w := scene.New(t)
	w.Application("app")

	road, rc := newRoad(t)
	b := serve(t, alone(t, rc)).local()
	query := "?namespace=" + w.Namespace
	b.waitFor("/"+query, ">app<")

	events := b.events(query)
	await(t, events, "the application", func(e event) bool { return strings.Contains(e.data, ">app<") && !strings.Contains(e.data, "Not live") })

	road.cut()
	await(t, events, "the outage", func(e event) bool {
		return strings.Contains(e.data, ">app<") && strings.Contains(e.data, "Not live since")
	})

	w.Application("meanwhile")
	road.mend()
	await(t, events, "the recovery", func(e event) bool {
		return strings.Contains(e.data, ">meanwhile<") && !strings.Contains(e.data, "Not live")
	})
}

// TestNamespaceDisappears checks that a page loses the objects of a namespace that is deleted, and still answers.
func TestNamespaceDisappears(t *testing.T) {
	t.Parallel()
	kit.NeedsControllers(t, "the deletion of a namespace")

	w, rest := scene.New(t), scene.New(t)
	w.Application("gone")
	rest.Application("stays")

	b := serve(t, team(t), func(o *console.Options) { o.Namespaces = []string{w.Namespace, rest.Namespace} }).user(account(rest, "viewer", w.Namespace, rest.Namespace))
	b.waitFor("/", ">gone<")

	events := b.events("")

	w.Remove(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}})
	await(t, events, "the loss of the namespace", func(e event) bool { return strings.Contains(e.data, ">stays<") && !strings.Contains(e.data, ">gone<") })

	if got := b.get("/?namespace=" + w.Namespace); got.status != http.StatusOK || strings.Contains(got.text, ">gone<") {
		t.Errorf("the page of a deleted namespace: %d %s", got.status, plain(got.text))
	}
}

// TestProxy checks the users of an authenticating proxy: their rights are those of the user and of the allowed groups,
// and only the proxy may name them.
func TestProxy(t *testing.T) {
	t.Parallel()

	w := scene.New(t)
	w.Application("app")

	group := w.Namespace + "-viewers"
	grant(w, w.Namespace, "viewers")

	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "group"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "viewers"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: group}},
	}
	w.Create(binding)

	const secret = "0123456789abcdef"
	sessions := team(t, func(o *session.Options) {
		o.Cluster = kit.Rest(t)
		o.Proxy = &session.Proxy{UserHeader: "X-User", GroupsHeader: "X-Groups", SecretHeader: "X-Secret", Secret: secret, Groups: []string{group, "system:masters"}}
	})
	s := serve(t, sessions, func(o *console.Options) { o.Namespaces = []string{w.Namespace} })

	shows := func(headers ...string) (int, bool) {
		got := s.browser().get("/api/v1/objects?namespace="+w.Namespace, headers...)
		return got.status, strings.Contains(got.text, `"app"`)
	}

	elsewhere := serve(t, team(t, func(o *session.Options) {
		proxy := *sessions.Proxy
		proxy.From = []netip.Prefix{netip.MustParsePrefix("10.9.9.0/24")}
		o.Cluster, o.Proxy = kit.Rest(t), &proxy
	}))
	if got := elsewhere.browser().get("/api/v1/objects", "X-Secret", secret, "X-User", "jane"); got.status != http.StatusUnauthorized {
		t.Errorf("a request from another address than the proxy's: %d", got.status)
	}

	for name, test := range map[string]struct {
		headers []string
		status  int
		shown   bool
	}{
		"with the group":    {[]string{"X-Secret", secret, "X-User", "jane", "X-Groups", "other, " + group}, http.StatusOK, true},
		"without a group":   {[]string{"X-Secret", secret, "X-User", "jane"}, http.StatusOK, false},
		"with a strong one": {[]string{"X-Secret", secret, "X-User", "jane", "X-Groups", "system:masters"}, http.StatusOK, false},
		"without a secret":  {[]string{"X-User", "jane", "X-Groups", group}, http.StatusUnauthorized, false},
		"wrong secret":      {[]string{"X-Secret", "x" + secret, "X-User", "jane", "X-Groups", group}, http.StatusUnauthorized, false},
		"two users":         {[]string{"X-Secret", secret, "X-User", "jane", "X-User", "joe", "X-Groups", group}, http.StatusUnauthorized, false},
		"two groups headers": {
			[]string{"X-Secret", secret, "X-User", "jane", "X-Groups", group, "X-Groups", "other"}, http.StatusUnauthorized, false,
		},
		"system user": {[]string{"X-Secret", secret, "X-User", "system:admin", "X-Groups", group}, http.StatusUnauthorized, false},
	} {
		if status, shown := shows(test.headers...); status != test.status || shown != test.shown {
			t.Errorf("%s: status %d, application shown: %t; want %d, %t", name, status, shown, test.status, test.shown)
		}
	}
}

// TestPrograms checks that programs read JSON with a token, and that the description of the API names what they get.
func TestPrograms(t *testing.T) {
	t.Parallel()

	w := scene.New(t)
	w.Application("app")

	b := serve(t, team(t)).browser()
	token := "Bearer " + account(w, "viewer", w.Namespace)

	var window table.Window

	got := b.get("/api/v1/objects?namespace="+w.Namespace, "Authorization", token)
	if err := json.Unmarshal([]byte(got.text), &window); err != nil || len(window.Rows) != 1 || window.Rows[0].Name != "app" {
		t.Errorf("the objects are %s: %v", got.text, err)
	}

	if got := b.get("/api/v1/objects", "Authorization", "Bearer nonsense"); got.status != http.StatusUnauthorized {
		t.Errorf("a wrong token: %d", got.status)
	}

	var api struct {
		Paths      map[string]any
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal([]byte(b.get("/api/v1/openapi.json").text), &api); err != nil {
		t.Fatal(err)
	}

	const object = "/objects/{kind}/{namespace}/{name}"

	for _, path := range []string{
		"/api/v1/objects", "/api/v1/namespaces", "/api/v1/doctor", "/api/v1/submissions", "/api/v1" + object, "/api/v1" + object + "/logs",
		"/api/v1" + object + "/stages", "/api/v1" + object + "/manifest", "/api/v1" + object + "/usage", "/api/v1" + object + "/{action}",
		"/events", "/o/{kind}/{namespace}/{name}/logs/stream",
	} {
		if api.Paths[path] == nil {
			t.Errorf("openapi.json lacks %s", path)
		}
	}

	if text := fmt.Sprint(api.Components.Schemas["Stage"].Properties["duration"]); !strings.Contains(text, "nanoseconds") {
		t.Errorf("openapi.json describes the duration of a stage as %s", text)
	}

	for _, field := range []string{"kind", "namespace", "name", "result", "cpuMillis", "labels"} {
		if api.Components.Schemas["Row"].Properties[field] == nil {
			t.Errorf("openapi.json lacks the field %s of a row", field)
		}
	}
}
