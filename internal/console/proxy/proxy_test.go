package proxy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/console/proxy"
	"github.com/sparkoperator/spark-operator/internal/console/session"
	"github.com/sparkoperator/spark-operator/internal/console/view"
	"github.com/sparkoperator/spark-operator/internal/console/web"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

func TestMain(m *testing.M) { kit.MainShared(m) }

// driver plays a driver's web UI, which its author controls.
type driver struct {
	mu   sync.Mutex
	seen []http.Header
	root string // what the UI assumes to be its path, if no header says it
}

func (d *driver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	d.seen = append(d.seen, r.Header.Clone())
	root := d.root
	d.mu.Unlock()

	if root == "" {
		root = r.Header.Get("X-Forwarded-Context")
	}

	http.SetCookie(w, &http.Cookie{Name: "spark-console", Value: "stolen"})

	switch r.URL.Path {
	case "/jobs/":
		w.Header().Set("Content-Type", "text/html;charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src *")
		fmt.Fprintf(w, `<!DOCTYPE html><html><head><script src="%s/static/webui.js"></script><script>setUIRoot('%s')</script></head><body><a href="%s/stages/?id=1">stages</a> <a href="/environment/">e</a></body></html>`, root, root, root)
	case "/static/webui.js":
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprint(w, "alert(1)")
	case "/old":
		http.Redirect(w, r, root+"/jobs/?x=1", http.StatusFound)
	case "/away":
		http.Redirect(w, r, "https://evil.example/", http.StatusFound)
	case "/up":
		http.Redirect(w, r, "/../../../../../../../sign-out", http.StatusFound)
	case "/unauthorized":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401}`)
	case "/hang":
		<-r.Context().Done()
	case "/inflated.html": // a page that a replacement of each call would make five times as large
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write(bytes.Repeat([]byte("setUIRoot('')"), 70_000))
	case "/large", "/large.html":
		parts := 1024
		if r.URL.Path == "/large.html" { // the API server reads a page as a whole
			w.Header().Set("Content-Type", "text/html")

			parts = 4
		} else {
			w.Header().Set("Content-Type", "application/octet-stream")
		}

		part := make([]byte, 1<<20)
		for range parts {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	default:
		http.NotFound(w, r)
	}
}

// headers returns all headers that the driver has received.
func (d *driver) headers() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.ToLower(fmt.Sprint(d.seen))
}

// address returns an address of this machine to which an API server sends requests for a pod, which is no loopback.
func address(t *testing.T) string {
	t.Helper()

	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}

	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() && !ip.IP.IsLinkLocalUnicast() {
			return ip.IP.String()
		}
	}

	t.Skip("this machine has only loopback addresses, and an API server refuses to send requests for pods there")
	return ""
}

// runs starts a pod that a handler serves; without a handler, nothing listens on its port.
func runs(t *testing.T, w *scene.World, name, role string, handler http.Handler) {
	t.Helper()

	ip := address(t)

	listener, err := net.Listen("tcp", ip+":0") //nolint:noctx // ends with the test
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewUnstartedServer(handler)
	server.Listener = listener

	if handler == nil {
		server.Close()
	} else {
		server.Start()
		t.Cleanup(server.Close)
	}

	port := int32(listener.Addr().(*net.TCPAddr).Port)
	pod := scene.ForeignPod(w.Namespace, name)
	pod.Labels = map[string]string{identity.RoleLabel: role}
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "spark-ui", ContainerPort: port}}
	w.Create(pod)

	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, ip, []corev1.PodIP{{IP: ip}}
	if err := w.API.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

// account creates a service account with rights in the world's namespace, and returns its token.
func account(w *scene.World, name string, resources ...string) string {
	w.T.Helper()

	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
	w.Create(sa)

	if len(resources) > 0 {
		role := &rbacv1.Role{ObjectMeta: sa.ObjectMeta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: resources, Verbs: []string{"get"}}}}
		role.ResourceVersion, role.UID = "", ""
		w.Create(role)
		w.Create(&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.Namespace, Name: name}},
		})
	}

	request := &authenticationv1.TokenRequest{}
	if err := w.API.SubResource("token").Create(w.T.Context(), sa, request); err != nil {
		w.T.Fatal(err)
	}
	return request.Status.Token
}

// site is a console with the UIs of drivers.
type site struct {
	t        *testing.T
	sessions *session.Sessions
	*httptest.Server
}

func serve(t *testing.T) *site {
	t.Helper()
	return serveWith(t, proxy.Limits{Answer: 2 * time.Second, Total: 20 * time.Second, Page: 1 << 20, Body: 4 << 20})
}

func serveWith(t *testing.T, limits proxy.Limits) *site {
	t.Helper()

	sessions := session.New(session.Options{Idle: time.Hour, Lifetime: time.Hour, Cookie: "spark-console", Cluster: rest.AnonymousClientConfig(kit.Rest(t))})
	s := web.New(web.Options{Sessions: sessions, Views: web.Views{SignIn: view.SignIn, Problem: view.ProblemPage}})
	proxy.Routes(s, limits)

	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return &site{t: t, sessions: sessions, Server: server}
}

// answer is the response to a request, without its body.
type answer struct {
	StatusCode int
	Header     http.Header
}

// get sends a request with a cookie of the console, and with a token if there is one.
func (s *site) get(method, path, token string, headers ...string) (answer, string, error) {
	s.t.Helper()

	r, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}

	r.Header.Set("Cookie", "spark-console=secret-cookie")
	r.Header.Set("X-Csrf-Token", "secret-csrf")

	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}

	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}

	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

	response, err := c.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()

	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header}, string(text), err
}

// opened returns the path of a pod's UI with a ticket.
func (s *site) opened(w *scene.World, pod, token string) string {
	s.t.Helper()

	response, text, _ := s.get(http.MethodGet, "/ui/"+w.Namespace+"/"+pod+"/", token)

	path, isUI := strings.CutSuffix(response.Header.Get("Location"), "/jobs/")
	if response.StatusCode != http.StatusSeeOther || !isUI {
		s.t.Fatalf("the UI leads to %d %q: %s", response.StatusCode, response.Header.Get("Location"), text)
	}
	return path
}

// TestSparkUI reads pages of a driver, whose links, redirects and headers must stay within the sandbox.
func TestSparkUI(t *testing.T) {
	w, s := scene.New(t), serve(t)
	ui := &driver{}
	runs(t, w, "pi-driver", identity.RoleDriver, ui)

	token := account(w, "ann", "pods", "pods/proxy")
	path := s.opened(w, "pi-driver", token)

	// A page in a sandbox sends no cookie and comes from another site.
	response, page, _ := s.get(http.MethodGet, path+"/jobs/", "", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate")
	for _, want := range []string{`src="` + path + `/static/webui.js"`, `href="` + path + `/stages/?id=1"`, `href="` + path + `/environment/"`, "setUIRoot('" + path + "')", "localStorage"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s:\n%s", want, page)
		}
	}

	header := response.Header
	if policy := header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "sandbox allow-scripts allow-forms;") || strings.Contains(policy, "same-origin") || len(header.Values("Content-Security-Policy")) != 1 {
		t.Errorf("the policy is %q", header.Values("Content-Security-Policy"))
	}

	if header.Get("Set-Cookie") != "" || header.Get("Cross-Origin-Opener-Policy") != "" {
		t.Errorf("the headers are %v", header)
	}

	if seen := ui.headers(); strings.Contains(seen, "secret") || strings.Contains(seen, "authorization") || strings.Contains(seen, "cookie") || strings.Contains(seen, token) {
		t.Errorf("the driver has received %s", seen)
	}

	if response, text, _ := s.get(http.MethodGet, path+"/static/webui.js", "", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"); text != "alert(1)" || response.Header.Get("Cross-Origin-Resource-Policy") != "cross-origin" {
		t.Errorf("the script of the UI is %q, %v", text, response.Header)
	}

	for at, want := range map[string]string{"/old": path + "/jobs/?x=1", "/up": path + "/sign-out"} {
		if response, text, _ := s.get(http.MethodGet, path+at, ""); response.Header.Get("Location") != want {
			t.Errorf("%s leads to %q, want %q: %s", at, response.Header.Get("Location"), want, text)
		}
	}

	for _, at := range []string{"/..%2f..%2f..%2fsecrets", "/%2e%2e/%2e%2e/api"} {
		if response, text, _ := s.get(http.MethodGet, path+at, ""); response.StatusCode == http.StatusOK {
			t.Errorf("%s answers %s", at, text)
		}
	}
}

// TestSparkUIWithItsOwnPath reads the page of a driver that assumes the path of an Ingress (spark.ui.proxyBase).
func TestSparkUIWithItsOwnPath(t *testing.T) {
	w, s := scene.New(t), serve(t)
	runs(t, w, "pi-driver", identity.RoleDriver, &driver{root: "/team/pi"})

	path := s.opened(w, "pi-driver", account(w, "ann", "pods", "pods/proxy"))

	_, page, _ := s.get(http.MethodGet, path+"/jobs/", "")
	if strings.Contains(page, "/team/pi") || !strings.Contains(page, `href="`+path+`/stages/?id=1"`) || !strings.Contains(page, "setUIRoot('"+path+"')") {
		t.Errorf("the page is\n%s", page)
	}

	if response, _, _ := s.get(http.MethodGet, path+"/old", ""); response.Header.Get("Location") != path+"/jobs/?x=1" {
		t.Errorf("the redirect leads to %q", response.Header.Get("Location"))
	}
}

// TestHostileDriver reads answers that are too slow, too large, or lead elsewhere.
func TestHostileDriver(t *testing.T) {
	w, s := scene.New(t), serve(t)
	runs(t, w, "pi-driver", identity.RoleDriver, &driver{})

	token := account(w, "ann", "pods", "pods/proxy")
	runs(t, w, "dead-driver", identity.RoleDriver, nil)

	dead := s.opened(w, "dead-driver", token)
	if response, text, _ := s.get(http.MethodGet, dead+"/jobs/", ""); response.StatusCode != http.StatusBadGateway || !strings.Contains(text, "does not answer") {
		t.Errorf("a driver that does not listen answers %d: %s", response.StatusCode, text)
	}

	path := s.opened(w, "pi-driver", token)
	for at, want := range map[string]struct {
		status int
		text   string
	}{
		"/hang":       {http.StatusGatewayTimeout, "takes too long"},
		"/away":       {http.StatusBadGateway, "leads elsewhere"},
		"/large.html": {http.StatusBadGateway, "too large"},
		// It does not sign the user out: the ticket belongs to the session.
		"/unauthorized": {http.StatusUnauthorized, "Sign in again"},
	} {
		response, text, _ := s.get(http.MethodGet, path+at, "")
		if response.StatusCode != want.status || !strings.Contains(text, want.text) || strings.Contains(response.Header.Get("Content-Security-Policy"), "unsafe") {
			t.Errorf("%s answers %d, %v, %s", at, response.StatusCode, response.Header, text)
		}
	}

	if response, text, err := s.get(http.MethodGet, path+"/jobs/", ""); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("after hostile answers, the UI answers %d: %s", response.StatusCode, text)
	}

	if response, text, err := s.get(http.MethodGet, path+"/inflated.html", ""); err != nil || response.StatusCode != http.StatusOK || len(text) > 1<<20 {
		t.Errorf("a page of %d bytes is answered with %d bytes, %v", 13*70_000, len(text), err)
	}

	if _, text, err := s.get(http.MethodGet, path+"/large", ""); err == nil || len(text) > 5<<20 {
		t.Errorf("a large file is answered with %d bytes, and the error is %v", len(text), err)
	}
}

// TestPagesInMemory checks that the pages that one user reads at the same time do not take all memory, and that a page
// is released after it was sent.
func TestPagesInMemory(t *testing.T) {
	w := scene.New(t)
	s := serveWith(t, proxy.Limits{Page: 2 << 20, Pages: 2 << 20})
	runs(t, w, "pi-driver", identity.RoleDriver, &driver{})

	path := s.opened(w, "pi-driver", account(w, "ann", "pods", "pods/proxy"))
	if response, text, _ := s.get(http.MethodGet, path+"/large.html", ""); response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, "is busy") {
		t.Errorf("a page that takes more than a user may hold is answered with %d", response.StatusCode)
	}

	for range 5 {
		if response, _, _ := s.get(http.MethodGet, path+"/inflated.html", ""); response.StatusCode != http.StatusOK {
			t.Errorf("a page is answered with %d", response.StatusCode)
		}
	}
}

// TestTickets checks who may open the UI of a driver, and until when.
func TestTickets(t *testing.T) {
	w, s := scene.New(t), serve(t)
	runs(t, w, "pi-driver", identity.RoleDriver, &driver{})
	runs(t, w, "pi-exec-1", identity.RoleExecutor, &driver{})

	path := "/ui/" + w.Namespace + "/pi-driver/"
	bob := account(w, "bob")

	hidden, text, _ := s.get(http.MethodGet, path, bob)

	absent, other, _ := s.get(http.MethodGet, "/ui/no-such-namespace/pi-driver/", bob)
	if hidden.StatusCode != http.StatusNotFound || absent.StatusCode != http.StatusNotFound || text != other {
		t.Errorf("a foreign pod is answered with %d and\n%s\nan absent one with %d and\n%s", hidden.StatusCode, text, absent.StatusCode, other)
	}

	looks := s.opened(w, "pi-driver", account(w, "looks", "pods"))
	if response, text, _ := s.get(http.MethodGet, looks+"/jobs/", ""); response.StatusCode != http.StatusForbidden || !strings.Contains(text, "pods/proxy") {
		t.Errorf("a user without the right gets %d: %s", response.StatusCode, text)
	}

	token := account(w, "ann", "pods", "pods/proxy")
	if response, text, _ := s.get(http.MethodGet, "/ui/"+w.Namespace+"/pi-exec-1/", token); response.StatusCode != http.StatusConflict {
		t.Errorf("an executor is answered with %d: %s", response.StatusCode, text)
	}

	ann := s.opened(w, "pi-driver", token)
	if again := s.opened(w, "pi-driver", token); again != ann {
		t.Errorf("the same session has the tickets %s and %s", ann, again)
	}

	for _, test := range []struct {
		method, path string
		headers      []string
		want         int
	}{
		{http.MethodGet, ann + "/jobs/", nil, http.StatusOK},
		{http.MethodHead, ann + "/jobs/", nil, http.StatusOK},
		{http.MethodPost, ann + "/jobs/", nil, http.StatusMethodNotAllowed},
		{http.MethodGet, ann + "/jobs/", []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script"}, http.StatusForbidden},
		{http.MethodGet, "/spark/guessed/jobs/", nil, http.StatusNotFound},
	} {
		if response, text, _ := s.get(test.method, test.path, "", test.headers...); response.StatusCode != test.want {
			t.Errorf("%s %s %v answers %d, want %d: %s", test.method, test.path, test.headers, response.StatusCode, test.want, text)
		}
	}

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "pi-driver"}}
	if err := w.API.Delete(context.Background(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}

	if response, text, _ := s.get(http.MethodGet, ann+"/jobs/", ""); response.StatusCode != http.StatusNotFound || !strings.Contains(text, "has ended") {
		t.Errorf("the UI of a pod that is gone answers %d: %s", response.StatusCode, text)
	}

	for _, t := range []string{token} {
		user, err := s.sessions.Of(httptest.NewRecorder(), bearer(t), false)
		if err != nil || user == nil {
			s.t.Fatal(err)
		}

		s.sessions.End(user.User)
	}

	if response, text, _ := s.get(http.MethodGet, ann+"/jobs/", ""); response.StatusCode != http.StatusNotFound || !strings.Contains(text, "expired") {
		t.Errorf("the ticket of a session that has ended answers %d: %s", response.StatusCode, text)
	}
}

// TestTicketIsOfOnePod checks that a ticket does not open the UI of a later pod with the same name, which may have
// another author.
func TestTicketIsOfOnePod(t *testing.T) {
	w, s := scene.New(t), serve(t)
	runs(t, w, "pi-driver", identity.RoleDriver, &driver{})

	token := account(w, "ann", "pods", "pods/proxy")
	path := s.opened(w, "pi-driver", token)

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "pi-driver"}}
	if err := w.API.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}

	later := &driver{}
	runs(t, w, "pi-driver", identity.RoleDriver, later)

	if response, text, _ := s.get(http.MethodGet, path+"/jobs/", ""); response.StatusCode != http.StatusNotFound || !strings.Contains(text, "has ended") || later.headers() != "[]" {
		t.Errorf("the ticket of a deleted pod answers %d, and the later pod has received %s: %s", response.StatusCode, later.headers(), text)
	}

	if response, text, _ := s.get(http.MethodGet, s.opened(w, "pi-driver", token)+"/jobs/", ""); response.StatusCode != http.StatusOK {
		t.Errorf("a new ticket answers %d: %s", response.StatusCode, text)
	}
}

// TestAnswerEndsWithTheSession checks that the end of a session also ends the requests that it has sent.
func TestAnswerEndsWithTheSession(t *testing.T) {
	w, s := scene.New(t), serveWith(t, proxy.Limits{Answer: time.Hour, Total: time.Hour})
	ui := &driver{}
	runs(t, w, "pi-driver", identity.RoleDriver, ui)

	token := account(w, "ann", "pods", "pods/proxy")
	path := s.opened(w, "pi-driver", token)

	status := make(chan int, 1)
	go func() {
		response, _, _ := s.get(http.MethodGet, path+"/hang", "")
		status <- response.StatusCode
	}()

	kit.Wait(t, "the request", func(context.Context) error {
		if ui.headers() == "[]" {
			return errors.New("the driver has received none")
		}
		return nil
	})

	found, err := s.sessions.Of(httptest.NewRecorder(), bearer(token), false)
	if err != nil {
		t.Fatal(err)
	}

	s.sessions.End(found.User)

	select {
	case got := <-status:
		if got != http.StatusBadGateway {
			t.Errorf("the request of a session that has ended is answered with %d", got)
		}
	case <-time.After(time.Minute):
		t.Error("the request outlives its session")
	}
}

// TestNothingEnds follows links that end a job, a stage, an application or an engine, in many spellings. A driver must
// not receive them, although Spark ends a job also for GET, and for each path below /jobs/job/kill.
func TestNothingEnds(t *testing.T) {
	w, s := scene.New(t), serve(t)

	var (
		mu   sync.Mutex
		seen []string
	)
	ui := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()

		seen = append(seen, r.Method+" "+r.RequestURI)
	})
	runs(t, w, "pi-driver", identity.RoleDriver, ui)
	runs(t, w, "pi-master", identity.RoleMaster, ui)

	token := account(w, "ann", "pods", "pods/proxy")
	paths := []string{
		"/jobs/job/kill/?id=0", "/stages/stage/kill/?id=0&terminate=true", "/jobs/job/kill?id=0", "/jobs/job/kill/x/y?id=0",
		"/app/kill/?id=app-1&terminate=true", "/driver/kill/?id=driver-1", "/workers/kill/?host=a", "/kyuubi/stop",
		"/kyuubi/gracefulstop", "/proxy/app-1/jobs/job/kill/?id=0", "/team/pi/jobs/job/kill/?id=0", "/Jobs/Job/KILL/?id=0",
		"/jobs/job/%6bill/?id=0", "/jobs/job/%256bill/?id=0", "/jobs/job/%25256bill/?id=0", "/jobs%2fjob%2fkill%2f?id=0",
		"/jobs/job%5ckill/?id=0", "//jobs//job//kill//?id=0", "/jobs/./job/x/../kill/?id=0",
		"/jobs/job/kill/../kill/?id=0", "/jobs/job/x%2f..%2fkill?id=0", "/jobs/job/kill/.?id=0",
		"/jobs/job/kill;a=b/?id=0", "/jobs;a/job;b/kill;c?id=0", "/jobs/job/kill%3bx/?id=0",
		"/jobs/job/kill%00/?id=0", "/jobs/job/kill%20?id=0", "/jobs/job/%6bill%25zz?id=0",
		"/jobs/job/%" + strings.Repeat("25", 5000) + "6bill/?id=0",
	}

	for _, pod := range []string{"pi-driver", "pi-master"} {
		opened, _, _ := s.get(http.MethodGet, "/ui/"+w.Namespace+"/"+pod+"/environment/", token)
		ticket := strings.TrimSuffix(opened.Header.Get("Location"), "/environment/")

		for _, before := range []string{ticket, "/ui/" + w.Namespace + "/" + pod} {
			for _, path := range paths {
				for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
					at := before + path
					for range 5 { // as a browser follows redirects
						response, _, _ := s.get(method, at, token)
						if at = response.Header.Get("Location"); at == "" {
							break
						}
					}
				}
			}
		}
	}

	// A link of another site leads to the first page.
	link := "/ui/" + w.Namespace + "/pi-driver/executors/heapHistogram/?executorId=1"
	bounced, _, _ := s.get(http.MethodGet, link, token, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate")
	_, again, _ := strings.Cut(bounced.Header.Get("Refresh"), "url=")

	for _, from := range [][]string{{again, "same-origin", "navigate"}, {link, "cross-site", "no-cors"}} {
		response, _, _ := s.get(http.MethodGet, from[0], token, "Sec-Fetch-Site", from[1], "Sec-Fetch-Mode", from[2])
		if at := response.Header.Get("Location"); !strings.HasSuffix(at, "/jobs/") {
			t.Errorf("%v leads to %d %q", from, response.StatusCode, at)
		}
	}

	received := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(seen)
	}
	if received() > 0 {
		t.Errorf("the driver has received %d requests: %q", len(seen), seen)
	}

	// The name of an application may contain such a word.
	opened, _, _ := s.get(http.MethodGet, "/ui/"+w.Namespace+"/pi-driver/jobs/", token)
	ticket := strings.TrimSuffix(opened.Header.Get("Location"), "/jobs/")

	response, _, _ := s.get(http.MethodGet, ticket+"/api/v1/applications/stop-loss-0/allexecutors", token)
	if response.StatusCode != http.StatusOK || received() != 1 {
		t.Errorf("the answer is %d, and the driver has received %q", response.StatusCode, seen)
	}
}

func bearer(token string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil) //nolint:noctx // is not sent
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}
