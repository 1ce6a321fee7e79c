// Package certs provides the certificate of the webhook's server: from files that something else writes, such as
// cert-manager, or self-signed in a Secret, where it is rotated. Both are read again while the operator runs.
package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// Serving holds the certificate that is served at present.
type Serving struct {
	current atomic.Pointer[tls.Certificate]
}

// errNone is the state before the first certificate.
var errNone = errors.New("the webhook has no certificate yet")

// Certificate is the GetCertificate of a tls.Config.
func (s *Serving) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c := s.current.Load(); c != nil {
		return c, nil
	}
	return nil, errNone
}

// Ready returns an error unless a certificate is served that is valid now.
func (s *Serving) Ready(*http.Request) error {
	c := s.current.Load()
	if c == nil {
		return errNone
	}
	if now := time.Now(); now.After(c.Leaf.NotAfter) || now.Before(c.Leaf.NotBefore) {
		return fmt.Errorf("the webhook's certificate is valid only from %s to %s", c.Leaf.NotBefore.Format(time.RFC3339), c.Leaf.NotAfter.Format(time.RFC3339))
	}
	return nil
}

// set makes a certificate the current one. It reports whether the certificate differs from the previous one.
func (s *Serving) set(c *tls.Certificate) (changed bool) {
	previous := s.current.Swap(c)
	return previous == nil || !previous.Leaf.Equal(c.Leaf)
}

// parse returns the certificate of a chain and a key in PEM.
func parse(chain, key []byte) (*tls.Certificate, error) {
	c, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, err
	}
	if c.Leaf == nil {
		if c.Leaf, err = x509.ParseCertificate(c.Certificate[0]); err != nil {
			return nil, err
		}
	}
	return &c, nil
}
