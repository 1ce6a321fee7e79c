// Package pki creates a cluster's certificate authorities, certificates and service-account key. Connections between
// the cluster's components use TLS, and both ends verify each other's certificate.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	// caLife is longer than any cluster lives. The authority is kept as long as the cluster's data.
	caLife = 10 * 365 * 24 * time.Hour
	// leafLife is longer than a cluster runs without a new `up`, which reissues every certificate.
	leafLife = 365 * 24 * time.Hour
	// skew is the tolerated difference between the clocks of a pod and the host.
	skew = time.Hour
)

// CA is a certificate authority. Its certificate and its key are two files in a directory.
type CA struct {
	dir  string
	name string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Leaf describes the holder of a certificate that an authority issues.
type Leaf struct {
	// User and Groups are the identity that the API server reads from the certificate's common name and organizations.
	User   string
	Groups []string
	// Hosts are the names and addresses of a server; none for a client.
	Hosts []string
}

// LoadCA returns the authority whose certificate and key are the files NAME.crt and NAME.key of a directory. If the
// files are missing or unreadable, or if the authority expires soon, LoadCA creates a new authority.
func LoadCA(dir, name string) (*CA, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("certificate directory: %w", err)
	}

	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key"))
	if err == nil {
		key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
		if ok && time.Until(pair.Leaf.NotAfter) > leafLife {
			return &CA{dir: dir, name: name, cert: pair.Leaf, key: key}, nil
		}
	}
	return newCA(dir, name)
}

func newCA(dir, name string) (*CA, error) {
	ca := &CA{dir: dir, name: name}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "sparklocal " + name},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}

	der, key, err := sign(template, nil, nil, caLife)
	if err != nil {
		return nil, fmt.Errorf("certificate authority %s: %w", name, err)
	}

	if ca.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("certificate authority %s: %w", name, err)
	}

	ca.key = key
	return ca, write(dir, name, der, key)
}

// Issue writes a new certificate to NAME.crt and its key to NAME.key in the authority's directory.
func (ca *CA) Issue(name string, leaf Leaf) error {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: leaf.User, Organization: leaf.Groups},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if len(leaf.Hosts) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}

	for _, h := range leaf.Hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}

	der, key, err := sign(template, ca.cert, ca.key, leafLife)
	if err != nil {
		return fmt.Errorf("certificate %s: %w", name, err)
	}
	return write(ca.dir, name, der, key)
}

// sign creates a key and a certificate for this key. The parent's key signs the certificate. Without a parent, the
// certificate is self-signed.
func sign(template, parent *x509.Certificate, parentKey *ecdsa.PrivateKey, life time.Duration) ([]byte, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}

	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, nil, err
	}

	template.NotBefore = time.Now().Add(-skew)

	template.NotAfter = time.Now().Add(life + skew)
	if parent == nil {
		parent, parentKey = template, key
	}

	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	return der, key, err
}

func write(dir, name string, der []byte, key *ecdsa.PrivateKey) error {
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("key %s: %w", name, err)
	}

	if err := writePEM(filepath.Join(dir, name+".key"), "EC PRIVATE KEY", keyDER, 0o600); err != nil {
		return err
	}
	return writePEM(filepath.Join(dir, name+".crt"), "CERTIFICATE", der, 0o644)
}

func writePEM(path, kind string, der []byte, mode fs.FileMode) error {
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode); err != nil {
		return fmt.Errorf("certificate file: %w", err)
	}
	return nil
}

// ServiceAccountKey creates the key pair that signs and verifies service-account tokens (ES256), unless both files of
// the pair exist. These are NAME.key and NAME.pub in the directory.
func ServiceAccountKey(dir, name string) error {
	private, public := filepath.Join(dir, name+".key"), filepath.Join(dir, name+".pub")

	_, errKey := os.Stat(private)
	if _, errPub := os.Stat(public); errKey == nil && errPub == nil {
		return nil
	}

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("service-account key: %w", err)
	}

	keyDER, errKey := x509.MarshalECPrivateKey(key)

	pubDER, errPub := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err := errors.Join(errKey, errPub); err != nil {
		return fmt.Errorf("service-account key: %w", err)
	}

	if err := writePEM(private, "EC PRIVATE KEY", keyDER, 0o600); err != nil {
		return err
	}
	return writePEM(public, "PUBLIC KEY", pubDER, 0o644)
}

// ClientConfig returns a TLS configuration for a client. The arguments are the directory of the certificates, and the
// names of the only authority that the client trusts and of the certificate that the client presents.
func ClientConfig(dir, caName, name string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key"))
	if err != nil {
		return nil, fmt.Errorf("client certificate: %w", err)
	}

	caPEM, err := os.ReadFile(filepath.Join(dir, caName+".crt"))
	if err != nil {
		return nil, fmt.Errorf("read the certificate of the authority: %w", err)
	}

	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(caPEM) {
		return nil, fmt.Errorf("the file of the certificate authority %s contains no certificate: start the cluster again, which creates a new authority", caName)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}
