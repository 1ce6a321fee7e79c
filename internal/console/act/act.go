// Package act has the actions of the console: changes of one object (object.go, perform.go), and submissions from a
// form, a manifest or a command line (submit.go, check.go).
//
// Each action first shows the command that does the same. It runs with the code of sparkctl's verbs and the rights of
// the user, so the API server refuses what the user may not do. An action of a dialog takes effect only on the object
// and the spec that the dialog has shown, and a request that is sent twice takes effect once (once.go).
package act

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/console/web"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

const (
	// maxLints bounds the submissions that are read and checked at the same time. The largest ones take seconds of CPU
	// time and tens of megabytes.
	maxLints = 4
	// maxLinting is the number of checks that run or wait at the same time, and maxLintingOfUser those of one user.
	maxLinting, maxLintingOfUser = 200, 20
	// requestTimeout bounds an action and the requests of a check.
	requestTimeout = 30 * time.Second
	// idempotencyKey is the header by which programs mark the repetition of a request.
	idempotencyKey = "Idempotency-Key"
)

// service has what the routes share.
type service struct {
	*web.Site
	namespaces func(*web.Request) ([]string, error)
	lints      chan struct{}
	linting    *web.Shares // checks that run or wait
	done       once[Done]
	submitted  once[Submitted]
}

// Register adds the routes of the actions to the console. The function returns the namespaces from which the user of a
// request can choose; the user may name others.
func Register(site *web.Site, namespaces func(*web.Request) ([]string, error)) {
	s := &service{
		Site: site, namespaces: namespaces, lints: make(chan struct{}, maxLints), linting: web.NewShares(maxLinting, maxLintingOfUser),
		done: once[Done]{calls: map[string]*call[Done]{}}, submitted: once[Submitted]{calls: map[string]*call[Submitted]{}},
	}
	s.Handle("GET /a/{action}/{kind}/{namespace}/{name}", s.showDialog)
	s.Handle("POST /a/{action}/{kind}/{namespace}/{name}", s.postDialog)
	s.Handle("GET /submit", s.showSubmit)
	s.Handle("POST /submit/check", s.postCheck)
	s.Handle("POST /submit", s.postSubmit)

	key := map[string]string{idempotencyKey: "a random text; a request that is repeated with it within 10 minutes takes effect once"}
	web.Post(site, web.Route{
		API: "/objects/{kind}/{namespace}/{name}/{action}", Title: "What was done", Parameters: key,
		Summary: "Does an action with an object, as the user: suspend, resume, restart, trigger, scale or delete.",
	}, s.postAction)
	web.Post(site, web.Route{
		API: "/submissions", Title: "What was found and created", Parameters: key,
		Summary: "Checks a manifest, a command line of spark-submit or a form as sparkctl lint and a dry run do, and creates its objects as the user.",
	}, s.postSubmission)
}

// explained returns the error of a request about objects of a kind as a problem. The rejection of the user's
// credentials stays as it is.
func explained(c *kube.Client, err error, k *kinds.Kind) error {
	shown := c.ExplainFor(err, k)
	p := &web.Problem{Status: http.StatusBadGateway, Title: "The cluster does not do this", Why: bounds.Line(shown.Error())}

	switch code := exit.CodeOf(shown); {
	case apierrors.IsUnauthorized(err):
		return err
	case apierrors.IsForbidden(err):
		p.Status, p.Title = http.StatusForbidden, "The cluster refuses this"
	case code == exit.Usage, code == exit.Invalid:
		p.Status, p.Title = http.StatusUnprocessableEntity, "This is not possible"
	}
	return p
}

// do does what a user requests with a key; a repetition of the request does nothing. Requests with another path or
// content are no repetitions. It continues if the browser has gone, because a second click waits for the first.
func do[T any](o *once[T], r *web.Request, key string, content any, act func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), requestTimeout)
	defer cancel()

	text, err := json.Marshal(content)
	if err != nil {
		key = ""
	}

	if key != "" {
		sum := sha256.Sum256(fmt.Appendf(text, "\x00%s\x00%s\x00%s", r.Session.User.Key, r.URL.Path, key))
		key = hex.EncodeToString(sum[:])
	}
	return o.do(key, func() (T, error) { return act(ctx) })
}

// doneHeader is the header that says what was done. The script shows it on the page to which the answer leads.
const doneHeader = "X-Done"

// redirect leads a browser to another page after something was done.
func redirect(w http.ResponseWriter, r *web.Request, path, done string) {
	if r.Header.Get("Hx-Request") == "" {
		http.Redirect(w, r.Request, path, http.StatusSeeOther)
		return
	}

	w.Header().Set(doneHeader, done)
	w.Header().Set("Hx-Redirect", path)
	w.WriteHeader(http.StatusNoContent)
}
