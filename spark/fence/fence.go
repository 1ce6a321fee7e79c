// Package fence builds rules of NetworkPolicies that close a few ports of a pod and leave all other ports open. Several
// packages below spark use it.
package fence

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// maxPort is the highest port number.
const maxPort = 65535

// PortsExcept returns entries for all ports of all protocols, except for the TCP ports in the list `closed`. Most of
// these entries are ranges of ports (endPort). Network plugins that do not support ranges read only the first port of a
// range. Each port in the list `singles` therefore also gets an entry of its own, unless the port is closed.
func PortsExcept(closed, singles []int32) []networkingv1.NetworkPolicyPort {
	closed = slices.Compact(slices.Sorted(slices.Values(closed)))

	var ports []networkingv1.NetworkPolicyPort
	for _, number := range slices.Compact(slices.Sorted(slices.Values(singles))) {
		if !slices.Contains(closed, number) {
			ports = append(ports, portRange(number, number))
		}
	}

	from := int32(1)
	for _, number := range append(slices.Clone(closed), maxPort+1) {
		if number > from {
			ports = append(ports, portRange(from, number-1))
		}

		from = number + 1
	}

	for _, protocol := range []corev1.Protocol{corev1.ProtocolUDP, corev1.ProtocolSCTP} {
		ports = append(ports, networkingv1.NetworkPolicyPort{Protocol: new(protocol)})
	}
	return ports
}

// Ports returns the TCP ports with the given numbers, as the ports of a NetworkPolicy's rule.
func Ports(numbers ...int32) []networkingv1.NetworkPolicyPort {
	var ports []networkingv1.NetworkPolicyPort
	for _, number := range numbers {
		ports = append(ports, portRange(number, number))
	}
	return ports
}

func portRange(from, to int32) networkingv1.NetworkPolicyPort {
	port := networkingv1.NetworkPolicyPort{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(from))}
	if to > from {
		port.EndPort = new(to)
	}
	return port
}

// From returns the peer of a rule that selects the pods with these labels in the policy's own namespace. If labels is
// empty, the peer selects all pods of that namespace.
func From(labels map[string]string) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: labels}}
}
