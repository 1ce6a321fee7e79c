package pki

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func authority(t *testing.T, dir, name string) *CA {
	t.Helper()

	ca, err := LoadCA(dir, name)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func issue(t *testing.T, ca *CA, name string, leaf Leaf) {
	t.Helper()

	if err := ca.Issue(name, leaf); err != nil {
		t.Fatal(err)
	}
}

// handshake returns the error of a connection between a server and a client with certificates of one authority. The
// server requires a client certificate. The arguments are the directory of the certificates, the server name that the
// client expects, and the name of the certificate that the client presents.
func handshake(t *testing.T, dir, host, client string) error {
	t.Helper()

	server, err := ClientConfig(dir, "ca", "server")
	if err != nil {
		t.Fatal(err)
	}

	server.ClientCAs, server.ClientAuth = server.RootCAs, tls.RequireAndVerifyClientCert

	listener, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()

	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}

		_, _ = io.WriteString(conn, "hello")
		_ = conn.Close()
	}()

	config, err := ClientConfig(dir, "ca", client)
	if err != nil {
		t.Fatal(err)
	}

	config.ServerName = host

	conn, err := tls.Dial("tcp", listener.Addr().String(), config)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	// With TLS 1.3 the first read reports a rejected client certificate.
	_, err = io.ReadAll(conn)
	return err
}

func TestClientAndServerVerifyEachOther(t *testing.T) {
	dir := t.TempDir()
	ca := authority(t, dir, "ca")
	issue(t, ca, "server", Leaf{User: "server", Hosts: []string{"127.0.0.1", "kubernetes.default.svc"}})
	issue(t, ca, "client", Leaf{User: "somebody", Groups: []string{"system:masters"}})
	issue(t, authority(t, dir, "other"), "stranger", Leaf{User: "somebody"})

	for _, tt := range []struct {
		host, client string
		ok           bool
	}{
		{"127.0.0.1", "client", true},
		{"kubernetes.default.svc", "client", true},
		{"kubernetes.elsewhere", "client", false},
		{"127.0.0.2", "client", false},
		{"127.0.0.1", "stranger", false},
	} {
		if err := handshake(t, dir, tt.host, tt.client); (err == nil) != tt.ok {
			t.Errorf("%s calls %s: %v, want success: %v", tt.client, tt.host, err, tt.ok)
		}
	}
}

func TestCertificateHasSubjectAndUsage(t *testing.T) {
	dir := t.TempDir()
	issue(t, authority(t, dir, "ca"), "node", Leaf{User: "system:node:n", Groups: []string{"system:nodes"}})

	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "node.crt"), filepath.Join(dir, "node.key"))
	if err != nil {
		t.Fatal(err)
	}

	subject := pair.Leaf.Subject
	if subject.CommonName != "system:node:n" || len(subject.Organization) != 1 ||
		subject.Organization[0] != "system:nodes" {
		t.Errorf("subject is %v", subject)
	}

	for _, usage := range pair.Leaf.ExtKeyUsage {
		if usage == x509.ExtKeyUsageServerAuth {
			t.Error("a client's certificate may serve")
		}
	}

	if pair.Leaf.IsCA {
		t.Error("a leaf may sign")
	}
}

func TestLoadCAKeepsTheAuthority(t *testing.T) {
	dir := t.TempDir()

	first, again := authority(t, dir, "ca"), authority(t, dir, "ca")
	if !first.cert.Equal(again.cert) {
		t.Error("a second load made another authority")
	}

	if err := os.WriteFile(filepath.Join(dir, "ca.key"), []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}

	if authority(t, dir, "ca").cert.Equal(first.cert) {
		t.Error("an authority without its key was accepted")
	}
}

func TestKeysArePrivateToTheUser(t *testing.T) {
	dir := t.TempDir()
	issue(t, authority(t, dir, "ca"), "x", Leaf{User: "x"})

	if err := ServiceAccountKey(dir, "sa"); err != nil {
		t.Fatal(err)
	}

	if err := Kubeconfig(filepath.Join(dir, "config.key"), "https://h:1", dir, "ca", "x"); err != nil {
		t.Fatal(err)
	}

	keys, err := filepath.Glob(filepath.Join(dir, "*.key"))
	if err != nil || len(keys) != 4 {
		t.Fatalf("keys %v, %v; want 4", keys, err)
	}

	for _, path := range keys {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}

		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %v", path, mode)
		}
	}
}

func TestServiceAccountKeyIsKept(t *testing.T) {
	dir := t.TempDir()
	if err := ServiceAccountKey(dir, "sa"); err != nil {
		t.Fatal(err)
	}

	private, err := os.ReadFile(filepath.Join(dir, "sa.key"))
	if err != nil {
		t.Fatal(err)
	}

	public, err := os.ReadFile(filepath.Join(dir, "sa.pub"))
	if err != nil {
		t.Fatal(err)
	}

	keyBlock, _ := pem.Decode(private)

	pubBlock, _ := pem.Decode(public)
	if keyBlock == nil || pubBlock == nil {
		t.Fatal("not PEM")
	}

	key, err := x509.ParseECPrivateKey(keyBlock.Bytes)
	if err != nil {
		t.Fatal(err)
	}

	pub, err := x509.ParsePKIXPublicKey(pubBlock.Bytes)
	if err != nil {
		t.Fatal(err)
	}

	if !key.PublicKey.Equal(pub.(*ecdsa.PublicKey)) {
		t.Error("the public key is another key's")
	}

	if err := ServiceAccountKey(dir, "sa"); err != nil {
		t.Fatal(err)
	}

	if again, err := os.ReadFile(filepath.Join(dir, "sa.key")); err != nil || string(again) != string(private) {
		t.Errorf("a second call changed the key, which makes every token void: %v", err)
	}
}

func TestKubeconfigIsSelfContained(t *testing.T) {
	dir := t.TempDir()
	issue(t, authority(t, dir, "ca"), "admin", Leaf{User: "a"})

	path := filepath.Join(dir, "kubeconfig")
	if err := Kubeconfig(path, "https://"+net.JoinHostPort("198.18.0.6", "6443"), dir, "ca", "admin"); err != nil {
		t.Fatal(err)
	}

	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{
		"server: https://198.18.0.6:6443\n", "certificate-authority-data: ", "client-certificate-data: ",
		"client-key-data: ", "current-context: sparklocal\n",
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %q in\n%s", want, b)
		}
	}

	if strings.Contains(string(b), dir) || strings.Contains(string(b), "insecure") {
		t.Errorf("the file refers to other files, or skips verification:\n%s", b)
	}
}
