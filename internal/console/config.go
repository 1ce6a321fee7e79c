package console

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	utiljson "sigs.k8s.io/json"

	"github.com/sparkoperator/spark-operator/internal/console/session"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// Config is the configuration of a console for a team, as a file. docs/console.md describes it.
type Config struct {
	// Listen is the address at which the console serves. Default ":8443" with TLS, else ":8080".
	Listen string `json:"listen,omitempty"`
	// TLS has the files with the certificate and the key. They are read again when they change. Without them, a proxy in
	// front of the console must serve HTTPS.
	TLS struct {
		CertFile string `json:"certFile,omitempty"`
		KeyFile  string `json:"keyFile,omitempty"`
	} `json:"tls,omitzero"`
	// Hosts are the hosts, as HOST or HOST:PORT, by which users reach the console. *.HOST stands for all names below a
	// host. Default: any.
	Hosts []string `json:"hosts,omitempty"`
	// Server is the address of the API server, and CAFile the file with its certificate authority. Default: those of the
	// pod's service account. A console without a proxy needs no service account.
	Server string `json:"server,omitempty"`
	CAFile string `json:"caFile,omitempty"`
	// Cluster is the name of the cluster on each page.
	Cluster string `json:"cluster,omitempty"`
	// Namespaces are those in which users look who can neither see all namespaces nor list them.
	Namespaces []string `json:"namespaces,omitempty"`
	Sessions   struct {
		// Idle ends a session without requests. Default 30 minutes.
		Idle metav1.Duration `json:"idle,omitzero"`
		// Lifetime ends every session. Default 8 hours.
		Lifetime metav1.Duration `json:"lifetime,omitzero"`
	} `json:"sessions,omitzero"`
	// Operator is the operator's configuration file, from which explanations follow. It is read again
	// while the console runs. Default: all settings have their defaults.
	Operator string `json:"operator,omitempty"`
	// Proxy is an authenticating proxy that users pass; nil: users sign in with tokens.
	Proxy *ProxyConfig `json:"proxy,omitempty"`
}

// ProxyConfig is the authenticating proxy in a configuration file.
type ProxyConfig struct {
	// UserHeader and GroupsHeader are the headers with the user and, with commas, the user's groups. Defaults
	// X-Forwarded-User and X-Forwarded-Groups.
	UserHeader   string `json:"userHeader,omitempty"`
	GroupsHeader string `json:"groupsHeader,omitempty"`
	// SecretFile is the file with the text that the proxy sends in SecretHeader. Default header X-Proxy-Secret.
	SecretHeader string `json:"secretHeader,omitempty"`
	SecretFile   string `json:"secretFile,omitempty"`
	// From are the proxy's addresses, such as 10.1.2.0/24.
	From []string `json:"from,omitempty"`
	// Groups are the groups that users may have; others are left out.
	Groups []string `json:"groups,omitempty"`
}

// LoadConfig reads a configuration file. The message of an error names the field.
func LoadConfig(file string) (*Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}

	_, asJSON, err := podtemplate.ReadYAML(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}

	c := &Config{}
	if unknown, err := utiljson.UnmarshalStrict(asJSON, c); err != nil || len(unknown) > 0 {
		return nil, fmt.Errorf("%s: %w", file, errors.Join(append(unknown, err)...))
	}

	if (c.TLS.CertFile == "") != (c.TLS.KeyFile == "") {
		return nil, fmt.Errorf("%s: tls: set both certFile and keyFile, or none", file)
	}

	defaultTo(&c.Listen, ":8080")

	if c.TLS.CertFile != "" && c.Listen == ":8080" {
		c.Listen = ":8443"
	}

	defaultTo(&c.Sessions.Idle.Duration, 30*time.Minute)
	defaultTo(&c.Sessions.Lifetime.Duration, 8*time.Hour)

	if c.Sessions.Idle.Duration < 0 || c.Sessions.Lifetime.Duration < 0 {
		return nil, fmt.Errorf("%s: sessions: idle and lifetime must be positive, such as 30m", file)
	}
	return c, nil
}

func defaultTo[T comparable](value *T, otherwise T) {
	var none T
	if *value == none {
		*value = otherwise
	}
}

// proxy returns the proxy of the configuration.
func (c *ProxyConfig) proxy() (*session.Proxy, error) {
	if c == nil {
		return nil, nil //nolint:nilnil // there is no proxy
	}

	p := &session.Proxy{UserHeader: c.UserHeader, GroupsHeader: c.GroupsHeader, SecretHeader: c.SecretHeader, Groups: c.Groups}
	defaultTo(&p.UserHeader, "X-Forwarded-User")
	defaultTo(&p.GroupsHeader, "X-Forwarded-Groups")
	defaultTo(&p.SecretHeader, "X-Proxy-Secret")

	if c.SecretFile == "" && len(c.From) == 0 {
		return nil, errors.New("proxy: set secretFile or from; otherwise everybody who reaches the console could be any user")
	}

	if c.SecretFile != "" {
		text, err := os.ReadFile(c.SecretFile)
		if err != nil {
			return nil, fmt.Errorf("proxy.secretFile: %w", err)
		}

		if p.Secret = strings.TrimSpace(string(text)); len(p.Secret) < 16 {
			return nil, fmt.Errorf("proxy.secretFile: the secret in %s has less than 16 characters", c.SecretFile)
		}
	}

	for _, text := range c.From {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("proxy.from: %w; write an address with the length of its prefix, such as 10.1.2.3/32", err)
		}

		p.From = append(p.From, prefix)
	}
	return p, nil
}

// Serve serves a console for a team until the context ends. It uses the credentials of the pod, if there are any, only
// with a proxy, to impersonate users.
func Serve(ctx context.Context, c *Config) error {
	proxy, err := c.Proxy.proxy()
	if err != nil {
		return err
	}

	cluster, err := c.connection()
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}

	if proxy == nil {
		cluster = rest.AnonymousClientConfig(cluster)
	}

	sessions := session.New(session.Options{
		Idle: c.Sessions.Idle.Duration, Lifetime: c.Sessions.Lifetime.Duration, Secure: true, Cookie: "spark-console", Cluster: cluster, Proxy: proxy,
	})

	options := Options{Sessions: sessions, Hosts: c.Hosts, Cluster: c.Cluster, Namespaces: c.Namespaces}
	if c.Operator != "" {
		if _, err := config.Load(c.Operator); err != nil {
			return fmt.Errorf("operator: %w", err)
		}

		options.Operator = func(context.Context) (config.Configuration, error) { return config.Load(c.Operator) }
	}

	server := NewServer(ctx, New(ctx, options))
	server.Addr = c.Listen

	if c.TLS.CertFile == "" {
		return Run(ctx, server, server.ListenAndServe)
	}

	files := &certificate{certFile: c.TLS.CertFile, keyFile: c.TLS.KeyFile}
	if _, err := files.get(nil); err != nil {
		return fmt.Errorf("tls: %w", err)
	}

	server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: files.get}
	return Run(ctx, server, func() error { return server.ListenAndServeTLS("", "") })
}

// connection returns the connection to the API server.
func (c *Config) connection() (*rest.Config, error) {
	if c.Server == "" {
		return rest.InClusterConfig()
	}
	return &rest.Config{Host: c.Server, TLSClientConfig: rest.TLSClientConfig{CAFile: c.CAFile}}, nil
}

// NewServer returns a server whose connections end with the context.
func NewServer(ctx context.Context, handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
}

// Run runs a server until the context ends.
func Run(ctx context.Context, server *http.Server, serve func() error) error {
	stopped := context.AfterFunc(ctx, func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()

		_ = server.Shutdown(end) // connections that do not end are closed with the process
	})
	defer stopped()

	if err := serve(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// certificate is a certificate in files, such as those of a Secret. It is read again when the file has changed.
type certificate struct {
	certFile, keyFile string

	mu      sync.Mutex
	changed time.Time
	found   *tls.Certificate
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	info, err := os.Stat(c.certFile)
	if err == nil && c.found != nil && info.ModTime().Equal(c.changed) {
		return c.found, nil
	}

	if err == nil {
		var found tls.Certificate
		if found, err = tls.LoadX509KeyPair(c.certFile, c.keyFile); err == nil {
			c.found, c.changed = &found, info.ModTime()
		}
	}

	if c.found != nil {
		return c.found, nil // while the files change, the last certificate serves
	}
	return nil, err
}
