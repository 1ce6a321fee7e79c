// Package nodecert requests serving certificates of kubelets, for the tests and the bench.
package nodecert

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// Request requests a serving certificate for a node at 127.0.0.1 from the API server, as kubelets do, and approves the
// request. The kube-controller-manager signs it, so the API server trusts a kubelet with this certificate.
func Request(ctx context.Context, core kubernetes.Interface, node string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}

	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject:     pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, key)
	if err != nil {
		return tls.Certificate{}, err
	}

	requests := core.CertificatesV1().CertificateSigningRequests()

	signed, err := requests.Create(ctx, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: node},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}),
			SignerName: certificatesv1.KubeletServingSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return tls.Certificate{}, err
	}

	signed.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Simulated",
	}}
	if _, err := requests.UpdateApproval(ctx, node, signed, metav1.UpdateOptions{}); err != nil {
		return tls.Certificate{}, err
	}

	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		signed, err = requests.Get(ctx, node, metav1.GetOptions{})
		return err == nil && len(signed.Status.Certificate) > 0, err
	})
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("wait for the serving certificate of %s: %w", node, err)
	}

	block, _ := pem.Decode(signed.Status.Certificate)
	if block == nil {
		return tls.Certificate{}, fmt.Errorf("the serving certificate of %s is not in PEM", node)
	}
	return tls.Certificate{Certificate: [][]byte{block.Bytes}, PrivateKey: key}, nil
}
