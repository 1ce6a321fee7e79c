// Package metricsauth has the metrics read by those alone who may.
package metricsauth

import (
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/sparkoperator/spark-operator/internal/config"
)

const (
	// admittedFor and deniedFor are how long an answer about a token holds. A scraper comes every few seconds, with the same token for an hour.
	admittedFor, deniedFor = time.Minute, 10 * time.Second
	// maxAdmissions bounds the answers that are kept: any caller may send any token.
	maxAdmissions = 256
)

// Options are the options of the metrics server.
func Options(cfg config.Metrics, scheme *runtime.Scheme) metricsserver.Options {
	options := metricsserver.Options{BindAddress: cfg.BindAddress}
	if cfg.Authentication {
		options.SecureServing = true // a bearer token is worth as much as what it opens
		options.FilterProvider = func(c *rest.Config, httpClient *http.Client) (metricsserver.Filter, error) {
			reviewer, err := client.New(c, client.Options{HTTPClient: httpClient, Scheme: scheme})
			if err != nil {
				return nil, err
			}
			return func(log logr.Logger, handler http.Handler) (http.Handler, error) {
				return &guard{reviewer: reviewer, log: log, handler: handler, now: time.Now, known: map[admissionKey]admission{}}, nil
			}, nil
		}
	}
	return options
}

// guard serves those alone whose bearer token may get the path, by the API server's answers (TokenReview, SubjectAccessReview).
type guard struct {
	reviewer client.Client
	log      logr.Logger
	handler  http.Handler
	now      func() time.Time

	mu    sync.Mutex
	known map[admissionKey]admission
}

// admissionKey is a token, by its digest, and what is asked for with it.
type admissionKey struct {
	token      [sha256.Size]byte
	verb, path string
}

// admission is an answer: a status of HTTP, which is OK for who is let in.
type admission struct {
	status int
	until  time.Time
}

// ServeHTTP serves or refuses a request.
func (g *guard) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	token, bearer := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	if token = strings.TrimSpace(token); !bearer || token == "" {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, http.StatusText(http.StatusUnauthorized), http.StatusUnauthorized)
		return
	}
	status := g.admit(req, token)
	if status != http.StatusOK {
		http.Error(w, http.StatusText(status), status)
		return
	}
	g.handler.ServeHTTP(w, req)
}

// admit asks about a token, unless the last answer still holds.
func (g *guard) admit(req *http.Request, token string) int {
	key := admissionKey{sha256.Sum256([]byte(token)), strings.ToLower(req.Method), req.URL.Path}
	g.mu.Lock()
	last, known := g.known[key]
	g.mu.Unlock()
	if known && g.now().Before(last.until) {
		return last.status
	}
	status, err := g.review(req, key, token)
	if err != nil {
		g.log.Error(err, "the right to read metrics cannot be reviewed")
		return http.StatusInternalServerError
	}
	holds := deniedFor
	if status == http.StatusOK {
		holds = admittedFor
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.known) >= maxAdmissions {
		clear(g.known)
	}
	g.known[key] = admission{status, g.now().Add(holds)}
	return status
}

// review asks the API server whose a token is, and whether that user may do what the request does.
func (g *guard) review(req *http.Request, key admissionKey, token string) (int, error) {
	who := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if err := g.reviewer.Create(req.Context(), who); err != nil {
		return 0, err
	}
	if !who.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	user := who.Status.User
	extra := map[string]authorizationv1.ExtraValue{}
	for name, values := range user.Extra {
		extra[name] = authorizationv1.ExtraValue(values)
	}
	may := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: key.path, Verb: key.verb},
	}}
	if err := g.reviewer.Create(req.Context(), may); err != nil {
		return 0, err
	}
	if !may.Status.Allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}
