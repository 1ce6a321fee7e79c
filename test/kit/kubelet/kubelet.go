// Package kubelet plays the kubelet of a node for tests.
package kubelet

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/nodecert"
)

// Node is a node with a kubelet. A real API server sends it the requests for the logs of pods.
type Node struct {
	Name string
	// Other serves all other requests, such as port-forwards; nil for none. It must be set before the first of them.
	Other http.HandlerFunc

	mu      sync.Mutex
	logs    map[string]http.HandlerFunc // by the name of the pod
	queries []string                    // the containers and options of all requests for logs
}

// Start creates a node and starts its kubelet, with a certificate that Kubernetes itself signs.
func Start(t *testing.T, name string) *Node {
	t.Helper()
	kit.NeedsControllers(t, "a certificate of a kubelet")
	kit.NeedsLoopback(t)

	core, err := kubernetes.NewForConfig(kit.Rest(t))
	if err != nil {
		t.Fatal(err)
	}

	certificate, err := nodecert.Request(t.Context(), core, name)
	if err != nil {
		t.Fatal(err)
	}

	k := &Node{Name: name, logs: map[string]http.HandlerFunc{}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(k.serve))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	t.Cleanup(server.Close)

	_, err = core.CoreV1().Nodes().Create(t.Context(),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Unschedulable: true}},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := core.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	kit.Wait(t, "the status of "+name, func(ctx context.Context) error {
		node, err := core.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}

		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
		node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(server.Listener.Addr().(*net.TCPAddr).Port)
		_, err = core.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
		return err
	})
	return k
}

// serve answers requests for /containerLogs/NAMESPACE/POD/CONTAINER with the log of the pod.
func (k *Node) serve(w http.ResponseWriter, request *http.Request) {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	if len(parts) != 4 || parts[0] != "containerLogs" {
		if k.Other != nil {
			k.Other(w, request)
			return
		}

		http.NotFound(w, request)
		return
	}

	k.mu.Lock()
	k.queries = append(k.queries, parts[3]+"?"+request.URL.RawQuery)
	log := k.logs[parts[2]]
	k.mu.Unlock()

	if log != nil {
		log(w, request)
	}
}

// Log sets the text that the kubelet serves as the log of a pod.
func (k *Node) Log(pod, text string) {
	k.Serve(pod, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
}

// Serve sets the handler of the requests for the log of a pod.
func (k *Node) Serve(pod string, handler http.HandlerFunc) {
	k.mu.Lock()
	defer k.mu.Unlock()

	k.logs[pod] = handler
}

// Queries returns the containers and the options of all requests for logs, one a line.
func (k *Node) Queries() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return strings.Join(k.queries, "\n")
}
