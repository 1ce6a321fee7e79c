package session

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
)

// Proxy is an authenticating proxy in front of the console. Its headers name the user, whom the console impersonates.
type Proxy struct {
	// UserHeader is the header with the name of the user. GroupsHeader is the header with the user's groups, with commas;
	// empty: users have no groups.
	UserHeader, GroupsHeader string
	// Secret is what the proxy sends in SecretHeader; empty: nothing.
	SecretHeader, Secret string
	// From are the addresses of the proxy; empty: any.
	From []netip.Prefix
	// Groups are the groups that users may have; others are left out.
	Groups []string
}

// ErrProxy is the error for a request that did not come through the proxy.
var ErrProxy = errors.New("this console is reached through its authenticating proxy only")

// trusts reports whether a request comes from the proxy. Without a secret or an address, no request does.
func (p *Proxy) trusts(r *http.Request) bool {
	if p.Secret == "" && len(p.From) == 0 {
		return false
	}

	if p.Secret != "" && subtle.ConstantTimeCompare([]byte(r.Header.Get(p.SecretHeader)), []byte(p.Secret)) != 1 {
		return false
	}

	if len(p.From) == 0 {
		return true
	}

	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return false
	}

	address, err := netip.ParseAddr(host)
	return err == nil && slices.ContainsFunc(p.From, func(from netip.Prefix) bool { return from.Contains(address.Unmap().WithZone("")) })
}

// identify returns the user that the headers name. Users and groups of Kubernetes itself, such as system:masters, are
// refused, because no person has them.
func (p *Proxy) identify(r *http.Request) (name string, groups []string, err error) {
	names := r.Header.Values(p.UserHeader)
	switch {
	case !p.trusts(r):
		return "", nil, ErrProxy
	case len(names) != 1 || strings.TrimSpace(names[0]) == "":
		return "", nil, errors.New("the authenticating proxy names no user in the header " + p.UserHeader)
	}

	if name = strings.TrimSpace(names[0]); strings.HasPrefix(name, "system:") {
		return "", nil, errors.New("the authenticating proxy names a user of Kubernetes itself: " + bounds.Line(name))
	}

	if p.GroupsHeader == "" {
		return name, nil, nil
	}

	values := r.Header.Values(p.GroupsHeader)
	if len(values) > 1 { // a proxy that adds its header to that of the client would let the client choose
		return "", nil, errors.New("the request has the header " + p.GroupsHeader + " more than once; the proxy must replace it")
	}

	for group := range strings.SplitSeq(strings.Join(values, ""), ",") {
		group = strings.TrimSpace(group)
		if slices.Contains(p.Groups, group) && !strings.HasPrefix(group, "system:") {
			groups = append(groups, group)
		}
	}

	slices.Sort(groups)
	return name, slices.Compact(groups), nil
}

// user returns the user whom the headers of a request name. The function sharing returns a known user with the same
// credentials.
func (p *Proxy) user(r *http.Request, cluster *rest.Config, sharing func(key string) *User) (*User, error) {
	name, groups, err := p.identify(r)
	if err != nil {
		return nil, err
	}

	text, err := json.Marshal([]any{name, groups})
	if err != nil {
		return nil, err
	}

	sum := sha256.Sum256(text)

	key := "proxy:" + hex.EncodeToString(sum[:])
	if known := sharing(key); known != nil {
		return known, nil
	}

	rc := rest.CopyConfig(cluster)
	rc.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: groups}

	c, err := kube.New(rc, "")
	if err != nil {
		return nil, err
	}
	return &User{Name: bounds.Line(name), Key: key, Client: c}, nil
}
