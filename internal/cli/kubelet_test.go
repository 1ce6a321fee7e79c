package cli

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/sparkoperator/spark-operator/test/kit"
)

// kubelet is a fake kubelet. A real API server sends it the requests for logs and for port-forwards of pods. The fake
// serves only these requests.
type kubelet struct {
	node string
	mu   sync.Mutex
	// texts has the text of each log by the name of its pod. queries has the query options of each request.
	texts   map[string]string
	queries []string
	behind  string // the address of the server to which ports are forwarded
}

// startKubelet creates a node and starts its fake kubelet, with a certificate that Kubernetes itself signs.
func startKubelet(t *testing.T, name string) *kubelet {
	t.Helper()
	kit.NeedsControllers(t, "a certificate of a kubelet")
	kit.NeedsLoopback(t)

	core, err := kubernetes.NewForConfig(kit.Rest(t))
	if err != nil {
		t.Fatal(err)
	}

	k := &kubelet{node: name, texts: map[string]string{}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(k.serve))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{servingCertificate(t, core, name)}}
	server.StartTLS()
	t.Cleanup(server.Close)

	_, err = core.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Unschedulable: true}}, metav1.CreateOptions{})
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

// servingCertificate requests a serving certificate for a node from the API server, as kubelets do.
func servingCertificate(t *testing.T, core kubernetes.Interface, node string) tls.Certificate {
	t.Helper()

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, key)
	if err != nil {
		t.Fatal(err)
	}

	requests := core.CertificatesV1().CertificateSigningRequests()

	signed, err := requests.Create(t.Context(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: node},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}), SignerName: certificatesv1.KubeletServingSignerName,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}

	signed.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"}}
	if _, err := requests.UpdateApproval(t.Context(), node, signed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "the certificate of "+node, func(ctx context.Context) error {
		if signed, err = requests.Get(ctx, node, metav1.GetOptions{}); err == nil && len(signed.Status.Certificate) == 0 {
			err = errors.New("it is not signed")
		}
		return err
	})

	block, _ := pem.Decode(signed.Status.Certificate)
	return tls.Certificate{Certificate: [][]byte{block.Bytes}, PrivateKey: key}
}

// serve answers requests for /containerLogs/NAMESPACE/POD/CONTAINER with the log of the pod.
func (k *kubelet) serve(w http.ResponseWriter, request *http.Request) {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	if parts[0] == "portForward" {
		k.portForward(w, request)
		return
	}

	if len(parts) != 4 || parts[0] != "containerLogs" {
		http.NotFound(w, request)
		return
	}

	k.mu.Lock()
	defer k.mu.Unlock()

	k.queries = append(k.queries, parts[3]+"?"+request.URL.RawQuery)
	fmt.Fprint(w, k.texts[parts[2]])
}

// logs sets the text that the kubelet serves as the log of a pod.
func (k *kubelet) logs(pod, text string) {
	k.mu.Lock()
	defer k.mu.Unlock()

	k.texts[pod] = text
}

// asked reports whether the kubelet received a request with the given query option.
func (k *kubelet) asked(option string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return strings.Contains(strings.Join(k.queries, "\n"), option)
}
