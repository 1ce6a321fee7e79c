package certs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
)

// write writes a new certificate into the files of a directory. It simulates a kubelet that updates a mounted Secret.
func write(t *testing.T, dir string, lifetime time.Duration) {
	t.Helper()

	chain, key, err := Issue([]string{"hook.ns.svc"}, time.Now(), lifetime)
	if err != nil {
		t.Fatal(err)
	}

	for name, text := range map[string][]byte{chainName: chain, keyName: key} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFiles checks that the server is not ready without a certificate, and that it serves a new certificate without a
// restart. If the files are invalid, the server keeps the old certificate and logs each error once.
func TestFiles(t *testing.T) {
	var log strings.Builder
	f := &Files{Dir: t.TempDir(), Serving: &Serving{},
		Log: funcr.New(func(_, args string) { log.WriteString(args + "\n") }, funcr.Options{})}
	served := func() string {
		t.Helper()

		c, err := f.Serving.Certificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		return c.Leaf.SerialNumber.String()
	}

	for range 3 {
		f.read()
	}

	if _, err := f.Serving.Certificate(nil); err == nil || f.Serving.Ready(nil) == nil {
		t.Error("it is ready without a certificate")
	}

	if n := strings.Count(log.String(), "no such file"); n != 1 {
		t.Errorf("the missing file is logged %d times:\n%s", n, &log)
	}

	write(t, f.Dir, time.Hour)
	f.read()

	if err := f.Serving.Ready(nil); err != nil {
		t.Error(err)
	}

	first := served()

	if err := os.WriteFile(filepath.Join(f.Dir, keyName), []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}

	f.read()

	if served() != first || f.Serving.Ready(nil) != nil {
		t.Error("a broken file takes the certificate away")
	}

	write(t, f.Dir, -time.Minute)
	f.read()

	if served() == first {
		t.Error("the new files are not served")
	}

	if err := f.Serving.Ready(nil); err == nil || !strings.Contains(err.Error(), "valid only") {
		t.Errorf("an expired certificate: %v", err)
	}
}
