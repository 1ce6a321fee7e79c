package proxy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/podproxy"
	"github.com/sparkoperator/spark-operator/internal/console/web"
)

// Limits bound what a driver can cost the console.
type Limits struct {
	// Answer is the time until a driver begins to answer, and Total until its answer ends. Defaults 10 s and 1 minute.
	Answer, Total time.Duration
	// Page is the largest page in bytes, which the console holds in memory, and Body the largest other answer. Defaults
	// 8 MiB and 64 MiB.
	Page, Body int64
	// Pages is the largest size of all pages that are held at the same time, of which one user has half. An adapted
	// page takes up to three times its size. Default 32 MiB.
	Pages int64
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Answer: cmp.Or(l.Answer, 10*time.Second), Total: cmp.Or(l.Total, time.Minute), Page: cmp.Or(l.Page, 8<<20), Body: cmp.Or(l.Body, 64<<20), Pages: cmp.Or(l.Pages, 32<<20),
	}
}

// policy is the Content-Security-Policy of the UI. The sandbox gives a page an origin of its own. Spark's pages have
// scripts and styles in their text, and scripts that are made from texts; nothing is loaded from other hosts.
const policy = "sandbox allow-scripts allow-forms; default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; object-src 'none'"

// fromBrowser are the headers of requests that reach the driver, and fromDriver the headers of answers that reach the
// browser. All others stay out, such as cookies in both directions.
var (
	fromBrowser = []string{"Accept", "Accept-Language", "If-Modified-Since", "If-None-Match"}
	fromDriver  = []string{"Content-Type", "Content-Disposition", "Content-Language", "Etag", "Last-Modified"}
)

var errSlow = errors.New("the driver has not begun to answer")

// ask sends a request to the driver. It returns when the answer begins.
func (p *proxy) ask(ctx context.Context, t *ticket, r *http.Request, rest string) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)

	timer := time.AfterFunc(p.limits.Answer, func() { cancel(errSlow) })
	defer timer.Stop()

	header := http.Header{"X-Forwarded-Context": {t.path}} // the path of the UI, for Spark's links
	for _, name := range fromBrowser {
		header[name] = r.Header.Values(name)
	}

	answer, err := podproxy.Do(ctx, t.session.Client, r.Method, t.pod, t.port, &url.URL{Path: "/" + rest, RawQuery: r.URL.RawQuery}, header)
	if err != nil && errors.Is(context.Cause(ctx), errSlow) {
		err = errSlow
	}
	return answer, err
}

// check returns an error unless the pod of the ticket still exists. The API server passes requests on by the name of a
// pod, and by now another pod may have that name, with another author.
func (t *ticket) check(ctx context.Context) error {
	var pod corev1.Pod

	err := t.session.Client.Get(ctx, client.ObjectKeyFromObject(t.pod), &pod)
	if apierrors.IsNotFound(err) || err == nil && pod.UID != t.pod.UID {
		return t.problem(metav1.StatusReasonNotFound)
	}

	if problem := t.problem(apierrors.ReasonForError(err)); problem != nil {
		return problem
	}
	return err
}

// unreachable explains the error of a request that the driver has not answered.
func unreachable(err error) *web.Problem {
	p := &web.Problem{
		Status: http.StatusBadGateway, Title: "The Spark UI does not answer", Why: "The driver cannot be reached through the API server.",
		Do: "It may be starting or ending, its web UI may be off (spark.ui.enabled), or a NetworkPolicy may close its port.",
	}
	if errors.Is(err, errSlow) || errors.Is(err, context.DeadlineExceeded) {
		p.Status, p.Why = http.StatusGatewayTimeout, "The driver takes too long to answer."
	}
	return p
}

// refused explains an error of the API server, or returns nil for an answer of the driver.
func (t *ticket) refused(answer *http.Response) error {
	if answer.StatusCode < http.StatusBadRequest || !strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json") {
		return nil
	}

	var status metav1.Status

	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err != nil {
		return err
	}

	answer.Body = io.NopCloser(io.MultiReader(bytes.NewReader(text), answer.Body))
	if utiljson.Unmarshal(text, &status) != nil || status.Kind != "Status" {
		return nil //nolint:nilerr // it is an answer of the driver
	}

	if problem := t.problem(status.Reason); problem != nil {
		return problem
	}
	return unreachable(nil)
}

// problem explains an error of the API server, or returns nil if it has no explanation.
func (t *ticket) problem(reason metav1.StatusReason) error {
	switch reason {
	case metav1.StatusReasonForbidden:
		return &web.Problem{
			Status: http.StatusForbidden, Title: "You may not open the Spark UI", Why: "It needs the right to get pods and pods/proxy in the namespace " + t.pod.Namespace + ".",
			Do: "Request it from an administrator.",
		}
	case metav1.StatusReasonUnauthorized:
		// The driver may have written this answer, so it does not end the session.
		return &web.Problem{Status: http.StatusUnauthorized, Title: "Sign in again", Why: "The cluster rejects your credentials; they may have expired or been revoked."}
	case metav1.StatusReasonNotFound:
		return &web.Problem{Status: http.StatusNotFound, Title: "The Spark UI has ended", Why: "The pod is gone.", Do: "The pages of the application may be in the History Server."}
	}
	return nil
}

// pass sends the driver's answer to the browser.
func (p *proxy) pass(w http.ResponseWriter, r *http.Request, t *ticket, rest string, answer *http.Response) error {
	if err := t.refused(answer); err != nil {
		return err
	}

	if answer.ContentLength > p.limits.Body && r.Method == http.MethodGet {
		return &web.Problem{Status: http.StatusBadGateway, Title: "The page is too large", Why: fmt.Sprintf("The driver answers with more than %d MiB.", p.limits.Body>>20)}
	}

	isPage := strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html")

	var page []byte
	if isPage && r.Method == http.MethodGet {
		text, free, err := p.readPage(t.session.Holder(), answer.Body)
		if err != nil {
			return err
		}
		defer free()

		page = t.adapted(text)
	}

	location, err := t.location(answer)
	if err != nil {
		return err
	}

	setHeaders(w.Header(), answer, location)

	if answer.StatusCode == http.StatusOK && strings.HasPrefix(rest, "static/") {
		w.Header().Set("Cache-Control", "private, max-age=300")
	}

	w.WriteHeader(answer.StatusCode)

	if r.Method == http.MethodHead {
		return nil
	}

	if isPage {
		_, _ = w.Write(page) // fails only if the browser has gone
		return nil
	}

	// The status is sent. A body that is too large or does not end can only be cut, so that the browser sees that.
	if n, err := io.Copy(w, io.LimitReader(answer.Body, p.limits.Body+1)); err != nil || n > p.limits.Body {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// pieceSize is the number of bytes of a page that are counted at once.
const pieceSize = 256 << 10

// readPage reads a page in pieces, each of which counts before it is read. The caller calls free after the page is
// sent.
func (p *proxy) readPage(user string, body io.Reader) (page []byte, free func(), err error) {
	var text bytes.Buffer

	take, free := p.held.Borrow(user)
	for err == nil {
		if !take(pieceSize) {
			free()

			return nil, nil, &web.Problem{
				Status: http.StatusServiceUnavailable, Title: "The console is busy", Why: "It passes on many or large pages of Spark UIs at this moment.", Do: "Load the page again.",
			}
		}

		if _, err = io.CopyN(&text, body, pieceSize); err == nil && int64(text.Len()) > p.limits.Page {
			err = &web.Problem{Status: http.StatusBadGateway, Title: "The page is too large", Why: fmt.Sprintf("The driver answers with a page of more than %d MiB.", p.limits.Page>>20)}
		}
	}

	if !errors.Is(err, io.EOF) {
		free()

		return nil, nil, err
	}
	return text.Bytes(), free, nil
}

// setHeaders sets the headers of an answer. They replace those of the console.
func setHeaders(header http.Header, answer *http.Response, location string) {
	for _, name := range fromDriver {
		if values := answer.Header.Values(name); len(values) > 0 {
			header[name] = values
		}
	}

	if header.Get("Content-Type") == "" {
		header.Set("Content-Type", "text/plain; charset=utf-8")
	}

	if location != "" {
		header.Set("Location", location)
	}

	header.Set("Content-Security-Policy", policy)
	header.Del("Cross-Origin-Opener-Policy")
	// The page and its parts are of another origin than the console, and of another one than each other.
	header.Set("Cross-Origin-Resource-Policy", "cross-origin")
	header.Set("Access-Control-Allow-Origin", "null")
}

// location returns where a redirect of the driver leads in the console; empty if the answer is no redirect.
func (t *ticket) location(answer *http.Response) (string, error) {
	text := answer.Header.Get("Location")
	if text == "" {
		return "", nil
	}

	target, err := url.Parse(text)
	if err != nil || target.Host != "" && target.Host != answer.Request.URL.Host {
		return "", &web.Problem{Status: http.StatusBadGateway, Title: "The link leads elsewhere", Why: "The driver redirects to an address outside of the Spark UI."}
	}

	if target.Path == "" || !strings.HasPrefix(target.Path, "/") {
		target.Path = path.Join(path.Dir(answer.Request.URL.Path), target.Path)
	}

	within := path.Clean("/" + t.below(target.Path))
	if strings.HasSuffix(target.Path, "/") && within != "/" {
		within += "/"
	}
	return (&url.URL{Path: t.path + within, RawQuery: target.RawQuery, Fragment: target.Fragment}).String(), nil
}

// below returns a path of the UI without what the API server, the console or the driver itself have put before it.
func (t *ticket) below(at string) string {
	t.mu.Lock()
	root := t.root
	t.mu.Unlock()

	if _, rest, found := strings.Cut(at, podproxy.Path(t.pod, t.port)); found {
		at = rest
	}

	for _, before := range []string{t.path, root} {
		if rest, found := strings.CutPrefix(at, before+"/"); found && before != "" {
			at = "/" + rest
		}
	}
	return at
}

var (
	// rootCall is the call by which a page tells its scripts the path that Spark assumes for itself.
	rootCall = regexp.MustCompile(`setUIRoot\('([^'\\<>]{0,200})'\)`)
	head     = regexp.MustCompile(`(?i)<head(?:\s[^>]*)?>`)
)

// memory replaces the storage of the browser, which a page in a sandbox does not have, but Spark's scripts need.
const memory = `<script>for (const name of ["localStorage", "sessionStorage"]) { const kept = new Map(); Object.defineProperty(window, name, {value: {
getItem: key => kept.has(key) ? kept.get(key) : null, setItem: (key, value) => { kept.set(key, String(value)) }, removeItem: key => { kept.delete(key) }, clear: () => { kept.clear() }}}) }</script>`

// adapted returns a page whose links lead to the console. The API server has put its own path before them. The page is
// at most twice as large, because only the first call of setUIRoot is replaced, and the other paths are as long.
func (t *ticket) adapted(page []byte) []byte {
	through := []byte(podproxy.Path(t.pod, t.port))
	if m := rootCall.FindSubmatch(page); m != nil && string(m[1]) != t.path {
		root := strings.TrimSuffix(string(m[1]), "/")

		t.mu.Lock()
		t.root = root
		t.mu.Unlock()

		page = bytes.Replace(page, m[0], []byte("setUIRoot('"+t.path+"')"), 1)
		if root != "" {
			page = bytes.ReplaceAll(page, append(bytes.Clone(through), root+"/"...), []byte(t.path+"/"))
		}
	}

	page = bytes.ReplaceAll(page, append(bytes.Clone(through), t.path...), []byte(t.path))

	page = bytes.ReplaceAll(page, through, []byte(t.path))
	if at := head.FindIndex(page); at != nil {
		page = bytes.Join([][]byte{page[:at[1]], []byte(memory), page[at[1]:]}, nil)
	}
	return page
}
