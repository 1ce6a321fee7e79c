// Package proxy serves the web UI of a Spark driver, Connect server or master below a path of the console. The requests
// pass the API server, with the rights of the user, so that no Ingress is needed.
//
// The author of a job controls the UI's pages. Therefore the browser shows them in a sandbox, with an origin of their
// own: their scripts can neither read the console nor send it a request with the user's cookie. But then the browser
// sends no cookie with the scripts and pictures of a page either. Instead of a cookie, the path of the UI has a ticket:
// a secret that opens the UI of one pod, as one user, until the session of the user ends. Who controls the page can
// read the ticket, and gains nothing by it.
package proxy

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/podproxy"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/console/session"
	"github.com/sparkoperator/spark-operator/internal/console/view"
	"github.com/sparkoperator/spark-operator/internal/console/web"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
)

// prefix is the path of all UIs. The scripts of Spark's pages search their path for the words proxy and history, so the
// path must not have them. For this reason it has no names of namespaces and pods either.
const prefix = "/spark/"

// maxTickets bounds the memory of tickets.
const maxTickets = 10_000

// proxy has the tickets of the UIs that users have opened.
type proxy struct {
	site   *web.Site
	limits Limits
	held   *web.Shares // bytes of pages in memory

	mu      sync.Mutex
	tickets map[string]*ticket
}

// ticket is the right of a session to read the UI of a pod.
type ticket struct {
	session *session.Session
	pod     *corev1.Pod
	port    int
	// path is where the UI is in the console, and root the path that Spark assumes for itself (spark.ui.proxyBase),
	// both without a slash at the end.
	path string

	mu   sync.Mutex
	root string
}

// Routes adds the routes of the UIs to a site.
func Routes(site *web.Site, limits Limits) {
	p := &proxy{site: site, limits: limits.withDefaults(), tickets: map[string]*ticket{}}
	p.held = web.NewShares(p.limits.Pages, p.limits.Pages/2)

	site.Handle("GET /ui/{namespace}/{pod}", p.open)
	site.Handle("GET /ui/{namespace}/{pod}/{rest...}", p.open)
	site.Open(prefix, p.serve)
}

// open leads to the UI of a pod, with a new ticket.
func (p *proxy) open(w http.ResponseWriter, r *web.Request) error {
	var pod corev1.Pod

	key := client.ObjectKey{Namespace: r.PathValue("namespace"), Name: r.PathValue("pod")}
	if err := r.Session.Client.Get(r.Context(), key, &pod); err != nil {
		return err
	}

	main := identity.IsDriver(&pod) || pod.Labels[identity.RoleLabel] == identity.RoleMaster
	if !main || pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
		return &web.Problem{
			Status: http.StatusConflict, Title: "No Spark UI runs here", Why: "Only the pod of a running driver, Connect server or master serves a web UI.",
			Do: "If the application has ended, its pages may be in the History Server.",
		}
	}

	below := r.PathValue("rest")
	if session.Foreign(r.Request) || r.URL.Query().Has(web.Linked) { // another site does not choose a page of the UI
		below, r.URL.RawQuery = "", ""
	}

	if below == "" && identity.IsDriver(&pod) {
		below = "jobs/" // where the UI would redirect to
	}

	target := url.URL{Path: p.ticketOf(r.Session, &pod).path + "/" + below, RawQuery: r.URL.RawQuery}
	http.Redirect(w, r.Request, target.String(), http.StatusSeeOther)
	return nil
}

// ticketOf returns the ticket of a session for a pod.
func (p *proxy) ticketOf(s *session.Session, pod *corev1.Pod) *ticket {
	p.mu.Lock()
	defer p.mu.Unlock()

	for secret, t := range p.tickets {
		switch {
		case p.site.Sessions.Over(t.session), len(p.tickets) >= maxTickets:
			delete(p.tickets, secret)
		case t.session == s && t.pod.UID == pod.UID:
			return t
		}
	}

	secret := rand.Text() + rand.Text()
	small := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}}
	t := &ticket{session: s, pod: small, port: podproxy.UIPort(pod), path: prefix + secret}
	p.tickets[secret] = t
	return t
}

// find returns the ticket in the path of a request and the rest of the path, or nil.
func (p *proxy) find(r *http.Request) (*ticket, string) {
	secret, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, prefix), "/")

	p.mu.Lock()
	defer p.mu.Unlock()

	t := p.tickets[secret]
	if t == nil || p.site.Sessions.Over(t.session) {
		return nil, ""
	}
	return t, rest
}

// endings are the words in the paths of a UI that end something: a stage or a job of Spark, an application of a master,
// an engine of Kyuubi.
var endings = map[string]bool{"kill": true, "stop": true, "gracefulstop": true}

// maxDecodings is how often a path may be encoded. No server behind the console decodes it more often.
const maxDecodings = 4

// ends reports whether a path of a UI may end something. Spark ends a job for GET too, and for each path below
// /jobs/job/kill. A server behind the console may decode the path again, and ignores what follows a semicolon.
func ends(at string) bool {
	for i := 0; ; i++ {
		decoded, err := url.PathUnescape(at)
		if err != nil || i == maxDecodings {
			return true
		}

		if decoded == at {
			break
		}

		at = decoded
	}

	// A name such as stop-loss is one word.
	words := strings.FieldsFunc(strings.ToLower(at), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r)
	})
	return slices.ContainsFunc(words, func(word string) bool { return endings[word] })
}

// serve answers a request for the UI of a ticket.
func (p *proxy) serve(w http.ResponseWriter, r *http.Request) {
	// A page of the console must never run a script of the UI, although it has the console's address.
	if r.Header.Get("Sec-Fetch-Site") == "same-origin" && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		http.Error(w, "Pages of the console do not read the Spark UI.", http.StatusForbidden)
		return
	}

	if r.Method == http.MethodOptions {
		preflight(w)
		return
	}

	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "The console shows the Spark UI, and changes nothing in it.", http.StatusMethodNotAllowed)
		return
	}

	t, rest := p.find(r)
	if t == nil {
		p.fail(w, r, &web.Problem{
			Status: http.StatusNotFound, Title: "This page has expired", Why: "The Spark UI belongs to a session of the console that has ended.", Do: "Open it again from the page of the application.",
		})
		return
	}

	if ends(rest) {
		p.fail(w, r, &web.Problem{
			Status: http.StatusForbidden, Title: "The console ends no job", Why: "The console shows the Spark UI, and changes nothing in it.",
			Do: "Suspend or delete the application on its page. To end a job or a stage, open the UI with kubectl port-forward.",
		})
		return
	}

	limited, end := context.WithTimeout(r.Context(), p.limits.Total)
	defer end()

	ctx, cancel := session.Until(limited, t.session.Done()) // an answer does not outlive its session
	defer cancel()

	// A browser that does not read must not hold the page in memory. Every server of Go supports the deadline.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(p.limits.Total))

	var answer *http.Response

	err := t.check(ctx)
	if err == nil {
		answer, err = p.ask(ctx, t, r, rest)
	}

	if err == nil {
		defer func() { _ = answer.Body.Close() }()

		err = p.pass(w, r, t, rest, answer)
	}

	if problem, ok := errors.AsType[*web.Problem](err); ok {
		p.fail(w, r, problem)
	} else if err != nil && r.Context().Err() == nil {
		p.fail(w, r, unreachable(err))
	}
}

// preflight allows the header that jQuery adds to requests. Without an answer, the browser does not send the requests
// of Spark's scripts for the executors. It reads no data of the UI.
func preflight(w http.ResponseWriter) {
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", "null")
	header.Set("Access-Control-Allow-Methods", "GET, HEAD")
	header.Set("Access-Control-Allow-Headers", "X-Requested-With")
	w.WriteHeader(http.StatusNoContent)
}

// fail answers with a page of the console. The page has no user: a request for the UI has no session.
func (p *proxy) fail(w http.ResponseWriter, r *http.Request, problem *web.Problem) {
	request := &web.Request{Request: r, Now: p.site.Now(), Title: problem.Title}
	data := model.Problem{Status: problem.Status, Title: problem.Title, Why: problem.Why, Do: problem.Do}
	// The answer fails only if the browser has gone.
	_ = p.site.Write(w, request, problem.Status, view.ProblemPage(p.site.Frame(request, ""), data))
}
