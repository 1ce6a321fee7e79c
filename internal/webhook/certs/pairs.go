package certs

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// These are keys of the Secret's data. The keys chainName and keyName contain the current certificate and its key. The
// Secret does not contain the key of the previous certificate.
const (
	nextChainName = "next.crt"
	nextKeyName   = "next.key"
	previousName  = "previous.crt"
)

// pair is a certificate with its key. For the previous certificate the key is missing.
type pair struct {
	*x509.Certificate
	certificate *tls.Certificate
	chain, key  []byte // in PEM
}

// encoded returns the certificate alone in PEM.
func (p *pair) encoded() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Raw})
}

func readPair(chain, key []byte) (*pair, error) {
	certificate, err := parse(chain, key)
	if err != nil {
		return nil, err
	}
	return &pair{certificate.Leaf, certificate, chain, key}, nil
}

// pairs contains the certificates of a Secret. A certificate that the Secret does not contain is nil.
type pairs struct{ current, next, previous *pair }

// read returns the usable certificates in a Secret's data. The current and the next certificate are usable if they have
// a key, are valid at the time now and cover all s.Names. The previous certificate is usable if it has not expired. The
// result does not contain unusable certificates.
func (s *SelfSigned) read(data map[string][]byte, now time.Time) (held pairs) {
	usable := func(chain, key string) *pair {
		p, err := readPair(data[chain], data[key])
		if err != nil || now.After(p.NotAfter) || now.Before(p.NotBefore) {
			return nil
		}

		for _, name := range s.Names {
			if p.VerifyHostname(name) != nil {
				return nil
			}
		}
		return p
	}

	held.current, held.next = usable(chainName, keyName), usable(nextChainName, nextKeyName)
	if previous, err := readCertificate(data[previousName]); err == nil && now.Before(previous.NotAfter) {
		held.previous = &pair{Certificate: previous}
	}
	return held
}

func readCertificate(text []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("is no certificate in PEM")
	}
	return x509.ParseCertificate(block.Bytes)
}

// write puts the certificates into a Secret.
func (held pairs) write(secret *corev1.Secret) {
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}

	for _, name := range []string{nextChainName, nextKeyName, previousName} {
		delete(secret.Data, name)
	}

	secret.Data[chainName], secret.Data[keyName] = held.current.chain, held.current.key
	if held.next != nil {
		secret.Data[nextChainName], secret.Data[nextKeyName] = held.next.chain, held.next.key
	}

	if held.previous != nil {
		secret.Data[previousName] = held.previous.encoded()
	}
}

// bundle returns all certificates that may be served, in PEM.
func (held pairs) bundle() (out []byte) {
	for _, p := range []*pair{held.current, held.next, held.previous} {
		if p != nil {
			out = append(out, p.encoded()...)
		}
	}
	return out
}
