package act_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/console/act"
	"github.com/sparkoperator/spark-operator/internal/console/session"
	"github.com/sparkoperator/spark-operator/internal/console/view"
	"github.com/sparkoperator/spark-operator/internal/console/web"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

func TestMain(m *testing.M) { kit.MainShared(m) }

// site is a console that has only the actions.
type site struct {
	*scene.World
	*httptest.Server
	sessions *session.Sessions
}

// serve serves the actions for users with tokens or, if a configuration is given, for its only user.
func serve(t *testing.T, alone *rest.Config) *site {
	t.Helper()

	w := scene.New(t)
	o := session.Options{Idle: time.Hour, Lifetime: time.Hour, Cookie: "console", Cluster: rest.AnonymousClientConfig(kit.Rest(t))}

	if alone != nil {
		c, err := kube.New(alone, "default")
		if err != nil {
			t.Fatal(err)
		}

		o.Local = session.Local(t.Context(), c)
	}

	s := &site{World: w, sessions: session.New(o)}
	pages := web.New(web.Options{Sessions: s.sessions, Views: web.Views{SignIn: view.SignIn, Problem: view.ProblemPage}})
	act.Register(pages, func(*web.Request) ([]string, error) { return []string{w.Namespace}, nil })
	s.Server = httptest.NewServer(pages)
	t.Cleanup(s.Close)
	return s
}

// token returns the token of a new account with the given verbs for the operator's kinds in a namespace.
func (s *site) token(name, namespace string, verbs ...string) string {
	s.T.Helper()

	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
	s.Create(sa)

	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	s.Create(&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1beta2.SchemeGroupVersion.Group, sparkv1.SchemeGroupVersion.Group}, Resources: []string{"*"}, Verbs: verbs},
	}})
	s.Create(&rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.Namespace, Name: name}},
	})

	request := &authenticationv1.TokenRequest{}
	if err := s.API.SubResource("token").Create(s.T.Context(), sa, request); err != nil {
		s.T.Fatal(err)
	}
	return request.Status.Token
}

var everything = []string{"get", "list", "watch", "create", "patch", "delete"}

// browser is a user who has signed in.
type browser struct {
	*site
	http.Client
	csrf string
}

// user signs in with a token, or with a one-time token if there is only one user.
func (s *site) user(token string) *browser {
	s.T.Helper()

	jar, err := cookiejar.New(nil)
	if err != nil {
		s.T.Fatal(err)
	}

	b := &browser{site: s, Client: http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if token == "" {
		recorder := httptest.NewRecorder()
		s.sessions.Redeem(recorder, s.sessions.Ticket())

		address, _ := url.Parse(s.URL)
		jar.SetCookies(address, recorder.Result().Cookies())
	} else {
		b.post("/sign-in", url.Values{"token": {token}})
	}

	if b.csrf = hidden(b.get("/submit").text, "csrf"); b.csrf == "" {
		s.T.Fatal("the page has no CSRF token")
	}
	return b
}

// hidden returns the value of a hidden input.
func hidden(page, name string) string {
	match := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(page)
	if match == nil {
		return ""
	}
	return match[1]
}

// answer is the response to a request.
type answer struct {
	http.Header
	status int
	text   string
}

func (b *browser) send(method, path, kind string, body io.Reader, headers ...string) answer {
	b.T.Helper()

	r, err := http.NewRequestWithContext(b.T.Context(), method, b.URL+path, body)
	if err != nil {
		b.T.Fatal(err)
	}

	r.Header.Set("Content-Type", kind)
	r.Header.Set("X-Csrf-Token", b.csrf)

	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}

	response, err := b.Do(r)
	if err != nil {
		b.T.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()

	text, err := io.ReadAll(response.Body)
	if err != nil {
		b.T.Fatal(err)
	}
	return answer{response.Header, response.StatusCode, string(text)}
}

func (b *browser) get(path string) answer { b.T.Helper(); return b.send(http.MethodGet, path, "", nil) }

func (b *browser) post(path string, form url.Values, headers ...string) answer {
	b.T.Helper()
	return b.send(http.MethodPost, path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()), headers...)
}

// call sends JSON to /api/v1, and decodes the answer.
func (b *browser) call(path string, body, into any, headers ...string) answer {
	b.T.Helper()

	text, err := json.Marshal(body)
	if err != nil {
		b.T.Fatal(err)
	}

	got := b.send(http.MethodPost, "/api/v1"+path, "application/json", strings.NewReader(string(text)), headers...)
	if into != nil {
		if err := json.Unmarshal([]byte(got.text), into); err != nil {
			b.T.Fatalf("%s answers %d %s", path, got.status, got.text)
		}
	}
	return got
}

// confirm opens the dialog of an action, changes the form, and sends it.
func (b *browser) confirm(path string, change ...string) answer {
	b.T.Helper()

	dialog := b.get(path)
	if dialog.status != http.StatusOK {
		b.T.Fatalf("%s answers %d: %s", path, dialog.status, plain(dialog.text))
	}
	return b.post(path, filled(dialog.text, change...))
}

// filled returns the form of a dialog with changed values, given as pairs.
func filled(dialog string, change ...string) url.Values {
	form := url.Values{}
	for _, name := range []string{"uid", "generation", "request"} {
		form.Set(name, hidden(dialog, name))
	}

	for i := 0; i+1 < len(change); i += 2 {
		form.Set(change[i], change[i+1])
	}
	return form
}

// plain returns the text of a page without markup.
func plain(page string) string {
	text := strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")), " ")
	return text[:min(len(text), 1500)]
}

// path returns the path of an action's dialog.
func path(action string, object client.Object) string {
	return "/a/" + action + "/" + kinds.Of(object).FullName() + "/" + object.GetNamespace() + "/" + object.GetName()
}

// live returns the object as it is in the API server, or nil.
func (s *site) live(object client.Object) client.Object {
	s.T.Helper()

	found := kinds.Of(object).New()

	err := s.API.Get(s.T.Context(), client.ObjectKeyFromObject(object), found)
	if client.IgnoreNotFound(err) != nil {
		s.T.Fatal(err)
	}

	if err != nil {
		return nil
	}
	return found
}

// example returns an example of the repository in the namespace of the test.
func (s *site) example(name string) string {
	s.T.Helper()

	text, err := os.ReadFile("../../../examples/" + name)
	if err != nil {
		s.T.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^  namespace: .*\n`).ReplaceAllString(string(text), "")
}

// named returns an application with only a name.
func (s *site) named(name string) client.Object {
	app := kinds.SparkApplication.New()
	app.SetNamespace(s.Namespace)
	app.SetName(name)
	return app
}
