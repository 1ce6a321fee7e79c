package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sparkoperator/spark-operator/internal/webhook/certs"
)

// shutdownTimeout limits how long Serve waits at its end for the reviews that are still running.
const shutdownTimeout = 10 * time.Second

// Server serves the webhook over TLS. Every replica has one, whether it leads or not.
type Server struct {
	listener net.Listener
	server   *http.Server
	delay    time.Duration
	stopping atomic.Bool

	bound       *bound   // of connections
	connections sync.Map // net.Conn -> *share
}

// connectionKey is the key of a connection's share in its context. While a request of the connection has a slot, the
// bound does not count the connection, so that it is not closed.
type connectionKey struct{}

// NewServer returns a server that serves a handler at an address. It opens the address at once, so that an operator
// whose address is in use does not even start. When the context of Serve ends, the server continues for the given
// delay.
func NewServer(address string, handler http.Handler, serving *certs.Serving, delay time.Duration) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	// API servers call the webhooks of Services over HTTP/1.1, so nothing needs the larger attack surface of HTTP/2.
	secure := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: serving.Certificate}
	s := &Server{listener: tls.NewListener(listener, secure), delay: delay, bound: &bound{limit: maxConnections}}
	s.server = &http.Server{
		Handler: s.closing(handler), ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: 16 << 10,
		ConnContext:    s.accept, ConnState: s.track,
	}
	return s, nil
}

// Serve serves reviews until ctx ends, and continues for the delay after that. The delay gives Kubernetes time to
// direct new requests of the API server to other replicas. Finally Serve waits for the reviews that are still running.
func (s *Server) Serve(ctx context.Context) error {
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		s.stopping.Store(true)
		time.Sleep(s.delay)

		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		stopped <- s.server.Shutdown(last)
	})

	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("webhook: %w", err)
	}
	return <-stopped
}

// accept stores a new connection in its context.
func (s *Server) accept(ctx context.Context, conn net.Conn) context.Context {
	c := &share{bound: s.bound, address: host(conn.RemoteAddr().String()), drop: func() {
		_ = conn.(*tls.Conn).NetConn().Close() // without a message of TLS, for which a client could let us wait
	}}
	s.connections.Store(conn, c)
	return context.WithValue(ctx, connectionKey{}, c)
}

// track counts a connection in the bound. A connection whose state changes becomes the youngest. So the bound closes
// those first whose client has sent nothing for the longest time.
func (s *Server) track(conn net.Conn, state http.ConnState) {
	found, _ := s.connections.Load(conn)
	c := found.(*share)
	c.release()

	if state == http.StateClosed {
		s.connections.Delete(conn)
		return
	}

	_ = c.grow(1) // a connection that is closed here ends by an error of its reads
}

// closing returns a handler that closes connections when the server is about to stop. The API server reuses its
// connections. Open connections would make it call this replica until the server stops.
func (s *Server) closing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, req *http.Request) {
		if s.stopping.Load() {
			out.Header().Set("Connection", "close")
		}

		next.ServeHTTP(out, req)
	})
}
