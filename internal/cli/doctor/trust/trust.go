// Package trust reads the certificates with which an API server verifies a webhook.
package trust

import (
	"crypto/x509"
	"encoding/pem"
	"time"
)

// Bundle is what a caBundle says.
type Bundle struct {
	// Roots is the number of certificates, and Until the end of the one that is valid the longest.
	Roots int
	Until time.Time

	pool *x509.CertPool
}

// Read reads a caBundle, a list of certificates in PEM. It skips blocks that are no certificates.
func Read(bundle []byte) Bundle {
	b := Bundle{pool: x509.NewCertPool()}
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue
		}

		b.Roots++
		b.pool.AddCert(certificate)

		if certificate.NotAfter.After(b.Until) {
			b.Until = certificate.NotAfter
		}
	}
	return b
}

// Verify returns an error if the bundle does not verify the first certificate of a file in PEM. A file without a
// certificate is not verified.
func (b Bundle) Verify(file []byte) error {
	block, _ := pem.Decode(file)
	if block == nil {
		return nil
	}

	serving, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil //nolint:nilerr // the server would not start with it
	}

	_, err = serving.Verify(x509.VerifyOptions{Roots: b.pool})
	return err
}
