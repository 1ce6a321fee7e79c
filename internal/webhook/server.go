package webhook

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sparkoperator/spark-operator/internal/webhook/certs"
)

// NewServer returns a server that serves a handler at an address, also while another replica leads. NewServer binds the
// address at once. If the address is in use, the operator therefore does not start, instead of ending while it runs.
func NewServer(address string, handler http.Handler, serving *certs.Serving) (*manager.Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	secure := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: serving.Certificate}
	return &manager.Server{
		Name: "webhook", Listener: tls.NewListener(listener, secure),
		Server: &http.Server{Handler: handler, ReadTimeout: readTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: 1 << 20},
	}, nil
}
