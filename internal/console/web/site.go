// Package web answers the requests of the console: the routes that other packages register, as pages and as JSON, and
// what all routes have in common: the session, protection from other sites, headers, errors.
//
// A route is a function that reads the data of a page as the user of the request. The page is rendered from the data,
// and /api/v1 answers the same data as JSON, with a description that is generated from the data's type (openapi.go).
package web

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/a-h/templ"

	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/console/session"
	"github.com/sparkoperator/spark-operator/internal/ground/budget"
)

// Views render the pages that no route has.
type Views struct {
	SignIn  func(model.Page, model.SignIn) templ.Component
	Problem func(model.Page, model.Problem) templ.Component
}

// Options are the settings of a Site.
type Options struct {
	Sessions *session.Sessions
	// Hosts are the hosts, as HOST or HOST:PORT, that requests may name; empty: any.
	Hosts []string
	// Cluster names the cluster on each page.
	Cluster string
	Views   Views
	// Now returns the present time.
	Now func() time.Time
}

// Site is the console as a handler of HTTP.
type Site struct {
	Options
	mux     *http.ServeMux
	api     *document
	streams *Shares
	answers *Shares // bytes of answers that requests have read
}

// maxAnswers is the largest size of the answers of Spark's pods, and of kept logs, that all requests hold at the same
// time, in bytes, and maxAnswersOfUser that of the requests of one user.
const (
	maxAnswers       = 80 << 20
	maxAnswersOfUser = 40 << 20
)

// Request is a request of a user who has signed in.
type Request struct {
	*http.Request
	Session *session.Session
	Now     time.Time
	// Title replaces the title of the page, if a route sets it.
	Title string
}

// New returns a site with the routes of the sign-in and of /api/v1/openapi.json.
func New(o Options) *Site {
	if o.Now == nil {
		o.Now = time.Now
	}

	s := &Site{Options: o, mux: http.NewServeMux(), api: newDocument(), streams: NewShares(maxStreams, maxStreamsOfUser), answers: NewShares(maxAnswers, maxAnswersOfUser)}
	s.Open("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	s.Open("GET /sign-in", s.showSignIn)
	s.Open("POST /sign-in", s.signIn)
	s.Open("POST /sign-out", s.signOut)
	s.Open("GET /api/v1/openapi.json", func(w http.ResponseWriter, r *http.Request) { s.writeJSON(w, r, http.StatusOK, s.api) })
	s.Handle("/", func(w http.ResponseWriter, r *Request) error {
		return &Problem{Status: http.StatusNotFound, Title: "There is no such page", Why: "The address is wrong, or the page has moved."}
	})
	return s
}

// Route describes a page.
type Route struct {
	// Path is the pattern of the page, as http.ServeMux has it, such as /o/{kind}/{namespace}/{name}.
	Path string
	// API is the pattern of the JSON below /api/v1; empty: that of the page.
	API string
	// Title is the title of the page, and Section its entry of the navigation.
	Title, Section string
	// Summary says in one sentence what the JSON is.
	Summary string
	// Parameters are the parameters of the URL, each with its meaning.
	Parameters map[string]string
}

// Page registers a page and its JSON. The function read returns the data, as the user may see it, and the function show
// renders it.
func Page[T any](s *Site, route Route, read func(*Request) (T, error), show func(model.Page, T) templ.Component) {
	if route.API == "" {
		route.API = route.Path
	}

	pattern := route.Path
	if pattern == "/" {
		pattern = "/{$}"
	}

	s.Handle("GET "+pattern, func(w http.ResponseWriter, r *Request) error {
		data, err := read(r)
		if err != nil {
			return err
		}

		if r.Title == "" {
			r.Title = route.Title
		}
		return s.write(w, r.Request, http.StatusOK, show(s.page(r, route.Section), data))
	})
	s.Handle("GET /api/v1"+route.API, func(w http.ResponseWriter, r *Request) error {
		data, err := read(r)
		if err == nil {
			s.writeJSON(w, r.Request, http.StatusOK, data)
		}
		return err
	})
	add[T](s.api, route)
}

// Handle registers a handler for users who have signed in. An error becomes a page or, below /api/, JSON. Requests that
// can change something need the CSRF token of the session, and requests that other sites cause are refused.
func (s *Site) Handle(pattern string, handle func(http.ResponseWriter, *Request) error) {
	s.handle(pattern, true, handle)
}

// handle is Handle for requests that renew the session, or do not.
func (s *Site) handle(pattern string, renews bool, handle func(http.ResponseWriter, *Request) error) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		// A page that loads itself again, or until it has data, keeps no session alive.
		trigger := r.Header.Get("Hx-Trigger")

		request, err := s.request(w, r, renews && trigger != "refresh" && trigger != "loading")
		if err == nil {
			err = s.budgeted(w, request, handle)
		}

		if err != nil {
			s.fail(w, r, request, err)
		}
	})
}

// budgeted handles a request whose context has a budget for large answers.
func (s *Site) budgeted(w http.ResponseWriter, r *Request, handle func(http.ResponseWriter, *Request) error) error {
	take, giveAll := s.answers.Borrow(r.Session.Holder())
	defer giveAll()

	r.Request = r.WithContext(budget.With(r.Context(), take))
	return handle(w, r)
}

// Open registers a handler for everybody.
func (s *Site) Open(pattern string, handle http.HandlerFunc) {
	s.mux.HandleFunc(pattern, handle)
}

// maxBody is the largest body of a request: a manifest or a command line. maxSignIn is that of a request to sign in,
// which anybody can send.
const (
	maxBody   = 2 << 20
	maxSignIn = 64 << 10
)

// bodyTimeout bounds the time in which the body of a request arrives.
const bodyTimeout = time.Minute

// ServeHTTP implements http.Handler.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", model.Policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "same-origin") // with no-referrer, the Origin of forms would be null
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")

	if !session.KnownHost(r, s.Hosts) && r.URL.Path != "/healthz" {
		http.Error(w, "The console does not serve this host name. Use the address that it printed, or add the name to console.hosts.", http.StatusMisdirectedRequest)
		return
	}

	foreign := session.Foreign(r)
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead

	isPage := reads && !strings.HasPrefix(r.URL.Path, "/api/") && r.URL.Path != "/events"
	// The pages of a Spark UI have an origin of their own, and the browser asks whether their scripts may read its data.
	asks := r.Method == http.MethodOptions && strings.HasPrefix(r.URL.Path, "/spark/")

	if foreign && !isPage && !asks {
		http.Error(w, "The request was caused by a page of another site.", http.StatusForbidden)
		return
	}

	if foreign && s.bounce(w, r) {
		return
	}

	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if !reads { // a deadline of the whole server would also end streams
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // every server of Go supports it
	}

	s.mux.ServeHTTP(w, r)
}

// Linked is the parameter of an address to which a page of another site has led.
const Linked = "linked"

// bounce answers a link of another site, with which the browser sends no cookie, because the cookie is strict. The page
// leads to itself, and the browser sends the cookie then. The parameter Linked prevents a circle.
func (s *Site) bounce(w http.ResponseWriter, r *http.Request) bool {
	address := *r.URL

	query := address.Query()
	if r.Header.Get("Sec-Fetch-Mode") != "navigate" || query.Has(Linked) || strings.HasPrefix(r.URL.Path, "/spark/") || r.URL.Path == "/open" || r.URL.Path == "/sign-in" {
		return false
	}

	query.Set(Linked, "")
	address.RawQuery = query.Encode()
	w.Header().Set("Refresh", "0; url="+local(address.RequestURI()))
	return true
}

// request returns the request of a signed-in user. Its error is a Problem if nobody is signed in, or if the CSRF token
// is wrong.
func (s *Site) request(w http.ResponseWriter, r *http.Request, renews bool) (*Request, error) {
	found, err := s.Sessions.Of(w, r, renews)
	if err != nil || found == nil {
		return nil, &Problem{Status: http.StatusUnauthorized, Title: "Sign in", Why: "You are not signed in, or your session has ended.", err: err}
	}

	request := &Request{Request: r, Session: found, Now: s.Now()}
	if err := r.ParseForm(); r.Method == http.MethodPost && err != nil { // such as a body that is too large
		return request, err
	}

	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if token := r.Header.Get("X-Csrf-Token"); !reads && !found.Program && !found.Valid(token) && !found.Valid(r.FormValue("csrf")) {
		return request, &Problem{Status: http.StatusForbidden, Title: "The form is outdated", Why: "The page was opened in an earlier session.", Do: "Load the page again, and repeat the action."}
	}
	return request, nil
}

// page returns the frame of a page.
func (s *Site) page(r *Request, section string) model.Page {
	p := model.Page{Title: r.Title, Section: section, Cluster: s.Cluster, Now: r.Now}
	if r.Session != nil {
		p.User, p.CSRF, p.SignOut = r.Session.Name, r.Session.CSRF, s.Sessions.Proxy == nil
	}
	return p
}

func (s *Site) showSignIn(w http.ResponseWriter, r *http.Request) {
	s.writeSignIn(w, r, http.StatusOK, "")
}

func (s *Site) writeSignIn(w http.ResponseWriter, r *http.Request, status int, problem string) {
	data := model.SignIn{Problem: problem, Return: local(r.FormValue("return")), Local: s.Sessions.Local != nil, Proxy: s.Sessions.Proxy != nil}
	_ = s.write(w, r, status, s.Views.SignIn(model.Page{Title: "Sign in", Cluster: s.Cluster, Now: s.Now()}, data))
}

func (s *Site) signIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxSignIn)

	if err := s.Sessions.SignIn(r.Context(), w, r.PostFormValue("token")); err != nil {
		s.writeSignIn(w, r, http.StatusUnauthorized, err.Error())
		return
	}

	http.Redirect(w, r, local(r.PostFormValue("return")), http.StatusSeeOther)
}

func (s *Site) signOut(w http.ResponseWriter, r *http.Request) {
	if _, err := s.request(w, r, true); err == nil {
		s.Sessions.SignOut(w, r)
	}

	http.Redirect(w, r, "/sign-in", http.StatusSeeOther)
}

// local returns a path of this site, or "/" for an address that leads elsewhere.
func local(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "" || parsed.Host != "" || !strings.HasPrefix(address, "/") || strings.HasPrefix(address, "//") || strings.ContainsAny(address, "\\\r\n") {
		return "/"
	}
	return address
}

var compressors = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // the level is valid
	return w
}}

// body returns a writer for the body of a response, compressed if the client can read that, and a function that ends
// it.
func body(w http.ResponseWriter, r *http.Request) (io.Writer, func()) {
	w.Header().Add("Vary", "Accept-Encoding")

	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		return w, func() {}
	}

	w.Header().Set("Content-Encoding", "gzip")

	out := compressors.Get().(*gzip.Writer)
	out.Reset(w)
	return out, func() {
		_ = out.Close() // the client may have gone
		compressors.Put(out)
	}
}

// write renders a component as the answer to a request.
func (s *Site) write(w http.ResponseWriter, r *http.Request, status int, c templ.Component) error {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")

	out, end := body(w, r)
	defer end()

	w.WriteHeader(status)

	_ = c.Render(r.Context(), out) // fails only if the client has gone
	return nil
}

// writeJSON answers a request with a value.
func (s *Site) writeJSON(w http.ResponseWriter, r *http.Request, status int, value any) {
	w.Header().Set("Content-Type", "application/json")

	out, end := body(w, r)
	defer end()

	w.WriteHeader(status)

	_ = json.NewEncoder(out).Encode(value) //nolint:errchkjson // fails only if the client has gone
}

// Write renders a component as the answer to a request of Handle.
func (s *Site) Write(w http.ResponseWriter, r *Request, status int, c templ.Component) error {
	return s.write(w, r.Request, status, c)
}

// Frame returns the frame of a page for a handler of Handle, which renders the page itself.
func (s *Site) Frame(r *Request, section string) model.Page { return s.page(r, section) }
