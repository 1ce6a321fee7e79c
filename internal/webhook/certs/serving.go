// Package certs provides the certificate of the webhook's server. There are two kinds: a certificate in files that
// another program writes, such as cert-manager, and a self-signed certificate that the operator stores in a Secret and
// rotates. In both cases the operator reads the certificate repeatedly, so that a new one is used without a restart.
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

// Serving contains the certificate that the webhook's server uses now.
type Serving struct {
	current atomic.Pointer[tls.Certificate]
}

// errNone is the error that is returned before the first certificate is set.
var errNone = errors.New("the webhook has no certificate yet")

// Certificate returns the current certificate. It is used as GetCertificate of a tls.Config.
func (s *Serving) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c := s.current.Load(); c != nil {
		return c, nil
	}
	return nil, errNone
}

// Ready returns an error if there is no current certificate, or if it is not valid now.
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

// parse returns the certificate that consists of a chain and a key in PEM.
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
