package certs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
)

// chainName and keyName are the names of the files in a mounted Secret of the type kubernetes.io/tls, and the keys of
// the Secret's data.
const (
	chainName = "tls.crt"
	keyName   = "tls.key"
)

// filesInterval is the time between two reads of the files. It is short compared with the minute that a kubelet may
// take to update a mounted Secret.
const filesInterval = 5 * time.Second

// Files serves the certificate in a directory. If the directory contains no valid certificate, Files keeps the previous
// certificate.
type Files struct {
	Dir     string
	Serving *Serving
	Log     logr.Logger

	logged string // the last error
}

// NeedLeaderElection returns false, because every replica serves the webhook.
func (*Files) NeedLeaderElection() bool { return false }

// Start reads the files every filesInterval until ctx ends.
func (f *Files) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(context.Context) { f.read() }, filesInterval)
	return nil
}

func (f *Files) read() {
	if err := f.load(); err == nil {
		f.logged = ""
	} else if text := err.Error(); text != f.logged {
		f.logged = text
		f.Log.Error(err, "Could not load the webhook certificate; retrying")
	}
}

func (f *Files) load() error {
	chain, err := os.ReadFile(filepath.Join(f.Dir, chainName))
	if err != nil {
		return err
	}

	key, err := os.ReadFile(filepath.Join(f.Dir, keyName))
	if err != nil {
		return err
	}

	certificate, err := parse(chain, key)
	if err != nil { // harmless for a moment, if one of the two files is replaced before the other
		return fmt.Errorf("%s: %w", f.Dir, err)
	}

	if f.Serving.set(certificate) {
		f.Log.Info("Webhook certificate loaded", "notAfter", certificate.Leaf.NotAfter)
	}
	return nil
}
