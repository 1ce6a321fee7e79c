package live

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	typedauthorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/sparkoperator/spark-operator/internal/console/session"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

const (
	// answerLifetime is for how long an answer about a right counts.
	answerLifetime = time.Minute
	// errorLifetime is for how long an error counts as the answer, so that pages do not repeat requests that fail.
	errorLifetime = time.Second
	// requestTimeout bounds the requests of one answer.
	requestTimeout = 10 * time.Second
	// maxNamespaces bounds the namespaces in which a user without rights on all namespaces looks.
	maxNamespaces = 50
	// maxQuestions bounds the questions about rights that are sent at the same time for one page.
	maxQuestions = 10
)

// access is what a user may see.
type access struct {
	keys []key
	// everywhere is true if the user may see the objects of some kind in all namespaces.
	everywhere bool
	// namespaces are the namespaces with objects that the user may see, as far as they are known.
	namespaces []string
	notes      []string
}

// rights keeps the answers of the API server about the rights of users.
type rights struct {
	mu      *sync.Mutex
	answers map[question]*answer
	swept   *time.Time // when answers that no longer count were removed
}

// question is about a right of a user: to list and watch the objects of a key, or with a key without a kind, the names
// of all namespaces.
type question struct {
	user string
	key
}

type answer struct {
	ready   chan struct{} // closed when the other fields are set
	until   time.Time
	allowed bool
	names   []string
	err     error
}

func (a *answer) isReady() bool {
	select {
	case <-a.ready:
		return true
	default:
		return false
	}
}

func newRights() rights {
	return rights{mu: &sync.Mutex{}, answers: map[question]*answer{}, swept: &time.Time{}}
}

// forget removes the answers about a user.
func (r rights) forget(user *session.User) {
	r.mu.Lock()
	defer r.mu.Unlock()

	for q := range r.answers {
		if q.user == user.Key {
			delete(r.answers, q)
		}
	}
}

// known returns an answer that still counts, or nil. Its fields are set when it is ready.
func (r rights) known(q question) *answer {
	r.mu.Lock()
	defer r.mu.Unlock()

	a := r.answers[q]
	if a == nil {
		return nil
	}

	if a.isReady() && !time.Now().Before(a.until) {
		return nil
	}
	return a
}

// add adds an answer that is not ready, and removes those that no longer count.
func (r rights) add(q question) *answer {
	r.mu.Lock()
	defer r.mu.Unlock()

	now := time.Now()
	if now.Sub(*r.swept) > time.Second { // each sweep reads all answers
		*r.swept = now
		maps.DeleteFunc(r.answers, func(_ question, a *answer) bool { return a.isReady() && !now.Before(a.until) })
	}

	a := &answer{ready: make(chan struct{}), until: now.Add(answerLifetime)}
	r.answers[q] = a
	return a
}

// ask returns the answer to a question. Pages with the same question at the same time share the answer, so the request
// does not end with the page.
func (r rights) ask(ctx context.Context, q question, fetch func(context.Context, *answer)) *answer {
	if a := r.known(q); a != nil {
		select {
		case <-a.ready:
			return a
		case <-ctx.Done():
			return &answer{err: ctx.Err()}
		}
	}

	a := r.add(q)

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()

	fetch(ctx, a)

	if a.err != nil {
		a.until = time.Now().Add(errorLifetime)
	}

	close(a.ready)
	return a
}

// access returns what a user may see: in the namespaces that the page names, in those that the user may list, and in
// those of the console's configuration, in which the user may have rights.
//
// A namespace in which the user has no rights is treated as one that does not exist, so that nothing reveals whether it
// exists. The configured namespaces therefore do not count in the note.
func (r rights) access(ctx context.Context, user *session.User, named, configured []string) (found access, _ error) {
	var everywhere []key
	for _, k := range kinds.All {
		everywhere = append(everywhere, key{kind: k})
	}

	allowed, err := r.allowed(ctx, user, everywhere)
	if err != nil {
		return access{}, err
	}

	listed, err := r.listable(ctx, user)
	if err != nil {
		return access{}, err
	}

	if len(allowed) == len(everywhere) {
		return access{keys: allowed, everywhere: true, namespaces: listed}, nil
	}

	candidates := unique(named, []string{user.Client.Namespace}, listed)
	if len(candidates) > maxNamespaces {
		found.notes = []string{fmt.Sprintf("Your rights differ by namespace, and only %d of %d namespaces are searched. Filter by a namespace to see its objects.", maxNamespaces, len(candidates))}
		candidates = candidates[:maxNamespaces]
	}

	candidates = unique(candidates, configured)

	var single []key
	for _, name := range candidates {
		for _, k := range everywhere {
			if !slices.Contains(allowed, k) {
				single = append(single, key{k.kind, name})
			}
		}
	}

	inNamespaces, err := r.allowed(ctx, user, single)
	if err != nil {
		return access{}, err
	}

	found.everywhere, found.keys = len(allowed) > 0, append(allowed, inNamespaces...)
	for _, k := range inNamespaces {
		if !slices.Contains(found.namespaces, k.namespace) {
			found.namespaces = append(found.namespaces, k.namespace)
		}
	}

	if found.everywhere {
		found.namespaces = listed
	}
	return found, nil
}

// unique returns the namespaces in lists, each once and in the same order. It leaves out what cannot be one.
func unique(lists ...[]string) (all []string) {
	known := map[string]bool{}
	for _, name := range slices.Concat(lists...) {
		if !known[name] && len(validation.IsDNS1123Label(name)) == 0 {
			known[name] = true
			all = append(all, name)
		}
	}
	return all
}

// allowed returns those of the keys whose objects a user may list and watch, in the same order.
func (r rights) allowed(ctx context.Context, user *session.User, keys []key) ([]key, error) {
	client, err := typedauthorizationv1.NewForConfig(user.Client.Config())
	if err != nil {
		return nil, err
	}

	answers := make([]bool, len(keys))

	var group errgroup.Group
	group.SetLimit(maxQuestions)

	for i, k := range keys {
		if a := r.known(question{user.Key, k}); a != nil && a.isReady() && a.err == nil {
			answers[i] = a.allowed
			continue
		}

		group.Go(func() error {
			a := r.ask(ctx, question{user.Key, k}, func(ctx context.Context, a *answer) {
				for _, verb := range []string{"list", "watch"} {
					review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
						ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: k.namespace, Verb: verb, Group: k.kind.Group, Resource: k.kind.Resource},
					}}

					got, err := client.SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
					if err != nil {
						a.err = err
						return
					}

					if a.allowed = got.Status.Allowed; !a.allowed {
						return
					}
				}
			})
			answers[i] = a.allowed
			return a.err
		})
	}

	if err := group.Wait(); err != nil {
		return nil, err
	}

	var allowed []key
	for i, k := range keys {
		if answers[i] {
			allowed = append(allowed, k)
		}
	}
	return allowed, nil
}

// listable returns the names of all namespaces, or none if the user may not list namespaces.
func (r rights) listable(ctx context.Context, user *session.User) ([]string, error) {
	a := r.ask(ctx, question{user: user.Key}, func(ctx context.Context, a *answer) {
		if a.names, a.err = user.Client.Namespaces(ctx); apierrors.IsForbidden(a.err) {
			a.err = nil
		}
	})
	return a.names, a.err
}
