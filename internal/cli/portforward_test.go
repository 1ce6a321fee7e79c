package cli

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"      //nolint:staticcheck // what a kubelet answers to client-go
	"k8s.io/apimachinery/pkg/util/httpstream/spdy" //nolint:staticcheck // the same
)

// serves makes the kubelet forward each port of each pod to a server that answers every request with a text.
func (k *kubelet) serves(t *testing.T, text string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }))
	t.Cleanup(server.Close)
	k.mu.Lock()
	defer k.mu.Unlock()

	k.behind = server.Listener.Addr().String()
}

// portForward answers a request for /portForward/NAMESPACE/POD as a kubelet does: each connection has a stream for
// errors and a stream for data.
func (k *kubelet) portForward(w http.ResponseWriter, request *http.Request) {
	k.mu.Lock()
	behind := k.behind
	k.mu.Unlock()

	if _, err := httpstream.Handshake(request, w, []string{"portforward.k8s.io"}); err != nil {
		return
	}

	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, request,
		func(stream httpstream.Stream, replied <-chan struct{}) error {
			go func() {
				<-replied

				if stream.Headers().Get(corev1.StreamType) == corev1.StreamTypeData {
					bridge(stream, behind)
				} else {
					_ = stream.Close() // no errors
				}
			}()
			return nil
		})
	if connection != nil {
		<-connection.CloseChan()
	}
}

// bridge copies data between a stream and a server in both directions, until one of them ends.
func bridge(stream httpstream.Stream, address string) {
	server, err := net.Dial("tcp", address)
	if err != nil {
		_ = stream.Reset() // the client sees a closed connection
		return
	}

	go func() {
		_, _ = io.Copy(server, stream) // ends with the connection
		_ = server.Close()
	}()

	_, _ = io.Copy(stream, server)
	_ = stream.Close()
}
