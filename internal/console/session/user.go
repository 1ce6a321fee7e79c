// Package session identifies the users of the console. It signs them in, keeps their sessions in memory behind a random
// cookie, and refuses requests that another site or another host name has caused.
//
// There are three ways to a session: the one-time token in the address that sparkctl console opens, a bearer token of
// Kubernetes that the user enters, and headers of an authenticating proxy that the administrator trusts. In each of
// them, the session has a client with the user's rights, and the console has no other client.
package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedauthenticationv1 "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
)

// User is a person whose rights the requests to Kubernetes have.
type User struct {
	// Name is the name of the user in the API server.
	Name string
	// Key identifies the credentials. Users with equal keys have equal rights.
	Key    string
	Client *kube.Client

	done chan struct{} // closed when the last session of the user has ended; nil: the user has had no session
}

// serviceAccount is the beginning of the names of service accounts in the API server.
const serviceAccount = "system:serviceaccount:"

// Holder returns who holds what the console bounds for each user. The service accounts of a namespace are one holder:
// an editor of the namespace can create any number of them.
func (u *User) Holder() string {
	account, is := strings.CutPrefix(u.Name, serviceAccount)
	if namespace, _, found := strings.Cut(account, ":"); is && found {
		return serviceAccount + namespace
	}
	return u.Name
}

// Done returns a channel that is closed when the last session of the user has ended. Nothing may use the credentials of
// the user after that.
func (u *User) Done() <-chan struct{} { return u.done }

// Over reports whether the last session of the user has ended.
func (u *User) Over() bool {
	select {
	case <-u.done:
		return true
	default:
		return false
	}
}

// Until returns a context that also ends when done is closed: the Done of a session or of a user.
func Until(ctx context.Context, done <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)

	go func() {
		select {
		case <-done:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// began returns the user for a new session: a copy if the user's last session has ended meanwhile.
func (u *User) began() *User {
	if u.done == nil || u.Over() {
		u = &User{Name: u.Name, Key: u.Key, Client: u.Client, done: make(chan struct{})}
	}
	return u
}

// maxToken is the largest number of bytes of a token. Tokens with many groups have a few kB.
const maxToken = 16 << 10

// ErrToken is the error for a token that the cluster rejects.
var ErrToken = errors.New("the cluster rejects the token; it may have expired, or belong to another cluster")

// Local returns the user of a kubeconfig. The name is that which the API server reports, or empty if it cannot be
// reached: the console starts without a cluster, too.
func Local(ctx context.Context, c *kube.Client) *User {
	name, _ := nameOf(ctx, c)
	return &User{Name: name, Key: "local", Client: c}
}

// withToken returns the user of a bearer token. The configuration has the address of the API server, but no
// credentials.
func withToken(ctx context.Context, anonymous *rest.Config, token string) (*User, error) {
	token = strings.TrimSpace(token)
	if token == "" || len(token) > maxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("this is no token; kubectl create token prints one")
	}

	rc := rest.AnonymousClientConfig(anonymous)
	rc.BearerToken = token

	c, err := kube.New(rc, "")
	if err != nil {
		return nil, err
	}

	name, err := nameOf(ctx, c)
	switch {
	case apierrors.IsUnauthorized(err):
		return nil, ErrToken
	case err != nil:
		return nil, fmt.Errorf("the token could not be verified: %w", c.Explain(err))
	}
	return &User{Name: name, Key: keyOfToken(token), Client: c}, nil
}

func keyOfToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return "token:" + hex.EncodeToString(sum[:])
}

// nameOf returns the name that the API server has for the user of a client.
func nameOf(ctx context.Context, c *kube.Client) (string, error) {
	client, err := typedauthenticationv1.NewForConfig(c.Config())
	if err != nil {
		return "", err
	}

	review, err := client.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return bounds.Line(review.Status.UserInfo.Username), nil
}
