// Package netpolicy evaluates NetworkPolicies in tests as a network that enforces them would do. Tests cannot observe
// enforcement, because the network of the embedded cluster does not enforce NetworkPolicies.
package netpolicy

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Party is one end of a connection: a pod, reduced to the properties by which a NetworkPolicy selects it.
type Party struct {
	Namespace string
	Labels    map[string]string
}

// opens reports whether a port entry of a rule covers a TCP port.
func opens(entry networkingv1.NetworkPolicyPort, port int32) bool {
	switch {
	case entry.Protocol != nil && *entry.Protocol != corev1.ProtocolTCP:
		return false
	case entry.Port == nil:
		return true
	case entry.EndPort != nil:
		return entry.Port.IntVal <= port && port <= *entry.EndPort
	}
	return entry.Port.IntVal == port
}

// Admits reports whether a policy allows a connection from the pod client to a TCP port of the pod server. If the
// policy does not select the server's pod, it allows every connection. Admits supports peers that are selected by
// labels in the policy's own namespace, and ports by number. Any other rule fails the test.
func Admits(t testing.TB, p *networkingv1.NetworkPolicy, client, server Party, port int32) bool {
	t.Helper()

	if server.Namespace != p.Namespace || !selects(t, &p.Spec.PodSelector, server) {
		return true
	}

	for _, rule := range p.Spec.Ingress {
		open := len(rule.Ports) == 0
		for _, entry := range rule.Ports {
			open = open || opens(entry, port)
		}

		if open && len(rule.From) == 0 {
			return true
		}

		for _, peer := range rule.From {
			if peer.IPBlock != nil || peer.NamespaceSelector != nil {
				t.Fatal("the rule is of a kind that this evaluation does not know")
			}

			if open && client.Namespace == p.Namespace && selects(t, peer.PodSelector, client) {
				return true
			}
		}
	}
	return false
}

func selects(t testing.TB, s *metav1.LabelSelector, pod Party) bool {
	t.Helper()

	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		t.Fatal(err)
	}
	return selector.Matches(labels.Set(pod.Labels))
}
