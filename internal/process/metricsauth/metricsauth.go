// Package metricsauth restricts the metrics to authorized clients.
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

	"github.com/sparkoperator/spark-operator/internal/ground/fence"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

const (
	// admittedFor and deniedFor are how long a review of a token is cached. A scraper sends a request every few
	// seconds, and uses the same token for an hour.
	admittedFor, deniedFor = time.Minute, 10 * time.Second
	// maxAdmissions bounds the cached reviews, because any caller may send any token.
	maxAdmissions = 256
)

// Options returns the options of the metrics server.
func Options(cfg config.Metrics, scheme *runtime.Scheme) metricsserver.Options {
	options := metricsserver.Options{BindAddress: cfg.BindAddress}
	if cfg.Authentication {
		options.SecureServing = true // a bearer token must not be sent in plain text
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

// guard is a handler that serves only authorized requests. The API server decides whether the user of a request's
// bearer token is authorized for the verb and path (TokenReview, SubjectAccessReview).
type guard struct {
	reviewer client.Client
	log      logr.Logger
	handler  http.Handler
	now      func() time.Time

	mu    sync.Mutex
	known map[admissionKey]admission
}

// admissionKey identifies a cached review: the digest of a token, and the requested verb and path.
type admissionKey struct {
	token      [sha256.Size]byte
	verb, path string
}

// admission is a cached review: an HTTP status, which is OK for an admitted request.
type admission struct {
	status int
	until  time.Time
}

// ServeHTTP serves an authorized request and rejects any other.
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

// admit returns the HTTP status for a request with the given token: OK if the request is authorized. It queries the API
// server unless a cached review is still valid.
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
		g.log.Error(err, "Could not review whether a client may read metrics")
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

// review queries the API server twice: which user a token belongs to, and whether this user may make the request. It
// returns the HTTP status for the request.
func (g *guard) review(req *http.Request, key admissionKey, token string) (int, error) {
	ctx := fence.Unfenced(req.Context()) // each replica serves its metrics

	who := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if err := g.reviewer.Create(ctx, who); err != nil {
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
	if err := g.reviewer.Create(ctx, may); err != nil {
		return 0, err
	}

	if !may.Status.Allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}
