package pki

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
)

// Kubeconfig writes a kubeconfig to a file with mode 0600. It contains the server's address, the certificate of an
// authority, and a client certificate with its key. The last three arguments are the directory of the certificates and
// the names of the authority and of the client certificate. The kubeconfig refers to no other files, so a copy of it
// also works. Every copy grants the permissions of the certificate's user.
func Kubeconfig(path, server, dir, caName, name string) error {
	var parts [3]string
	for i, file := range []string{caName + ".crt", name + ".crt", name + ".key"} {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return fmt.Errorf("kubeconfig: %w", err)
		}

		parts[i] = base64.StdEncoding.EncodeToString(b)
	}

	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: sparklocal
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: %s
  user:
    client-certificate-data: %s
    client-key-data: %s
contexts:
- name: sparklocal
  context:
    cluster: sparklocal
    user: %s
current-context: sparklocal
`, server, parts[0], name, parts[1], parts[2], name)
	// Another process may be reading the file. The rename ensures that it reads the old file or the new one.
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}

	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	return nil
}
