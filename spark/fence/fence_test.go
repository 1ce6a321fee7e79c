package fence

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func text(ports []networkingv1.NetworkPolicyPort) string {
	var all []string
	for _, p := range ports {
		switch {
		case p.Port == nil:
			all = append(all, string(*p.Protocol))
		case p.EndPort != nil:
			all = append(all, fmt.Sprintf("%d-%d", p.Port.IntVal, *p.EndPort))
		default:
			all = append(all, p.Port.String())
		}
	}
	return strings.Join(all, " ")
}

func TestPortsExcept(t *testing.T) {
	for want, c := range map[string]struct{ closed, singles []int32 }{
		"1-65535 UDP SCTP":                          {},
		"4040 15002 1-7077 7080-65535 UDP SCTP":     {[]int32{7079, 7078, 7079}, []int32{15002, 4040, 15002}},
		"2-65534 UDP SCTP":                          {[]int32{65535, 1}, []int32{1}},
		"1-5 7 9-65535 UDP SCTP":                    {[]int32{6, 8}, nil},
		"8080 1-6065 6067-7076 7078-65535 UDP SCTP": {[]int32{7077, 6066}, []int32{8080, 7077}},
		"65535 1-65533 65535 UDP SCTP":              {[]int32{65534}, []int32{65535}},
		"1 3-65535 UDP SCTP":                        {[]int32{2}, nil},
		"1 1 3-65535 UDP SCTP":                      {[]int32{2}, []int32{1, 2}},
		"4-65535 UDP SCTP":                          {[]int32{3, 1, 2}, []int32{2, 2}},
	} {
		if got := text(PortsExcept(c.closed, c.singles)); got != want {
			t.Errorf("all but %v, with %v: %q, want %q", c.closed, c.singles, got, want)
		}
	}
}

// TestExactlyTheClosedPortsAreClosed checks for each TCP port whether an entry contains it. No two ranges may contain
// the same port, the order of the arguments must not matter, and the arguments must not change.
func TestExactlyTheClosedPortsAreClosed(t *testing.T) {
	for _, closed := range [][]int32{nil, {7078}, {7079, 7078, 7079}, {1, 65535}, {65535, 65534, 2, 1},
		{6066, 7077, 8080, 4040, 15002, 6067}} {
		singles := []int32{8080, 4040, 4040, 65535, 7078}
		given := [2][]int32{slices.Clone(closed), slices.Clone(singles)}

		ports := PortsExcept(closed, singles)
		if diff := cmp.Diff(given, [2][]int32{closed, singles}); diff != "" {
			t.Errorf("the arguments changed (-want +got):\n%s", diff)
		}

		var entries [65536]int
		for _, p := range ports {
			if *p.Protocol != corev1.ProtocolTCP {
				continue
			}

			if p.EndPort == nil {
				entries[p.Port.IntVal]++
				continue
			}

			if *p.EndPort <= p.Port.IntVal {
				t.Errorf("without %v: the range %d-%d is empty or has one port", closed, p.Port.IntVal, *p.EndPort)
			}

			for n := p.Port.IntVal; n <= *p.EndPort; n++ {
				entries[n]++
			}
		}

		for n := range int32(65536) {
			want := 1
			switch {
			case n == 0 || slices.Contains(closed, n):
				want = 0
			case slices.Contains(singles, n):
				want = 2 // its own, and the range
			}

			if entries[n] != want {
				t.Errorf("without %v: port %d has %d entries, want %d", closed, n, entries[n], want)
			}
		}

		backwards := slices.Clone(closed)
		slices.Reverse(backwards)
		slices.Reverse(singles)

		if diff := cmp.Diff(ports, PortsExcept(backwards, singles)); diff != "" {
			t.Errorf("in another order, without %v (-want +got):\n%s", closed, diff)
		}
	}
}

// TestEntriesOfPorts checks the fields of the entries. Other protocols have no ports, so that their entries contain all
// ports, and an entry with one port has no endPort, so that every network plugin can read it.
func TestEntriesOfPorts(t *testing.T) {
	tcp, udp, sctp := corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP
	number := func(n int) *intstr.IntOrString { return &intstr.IntOrString{Type: intstr.Int, IntVal: int32(n)} }

	want := []networkingv1.NetworkPolicyPort{
		{Protocol: &tcp, Port: number(80)}, {Protocol: &tcp, Port: number(1), EndPort: new(int32(7076))},
		{Protocol: &tcp, Port: number(7078), EndPort: new(int32(65535))}, {Protocol: &udp}, {Protocol: &sctp},
	}
	if diff := cmp.Diff(want, PortsExcept([]int32{7077}, []int32{80})); diff != "" {
		t.Errorf("all but 7077 (-want +got):\n%s", diff)
	}

	want = []networkingv1.NetworkPolicyPort{{Protocol: &tcp, Port: number(7077)}, {Protocol: &tcp, Port: number(6066)},
		{Protocol: &tcp, Port: number(7077)}}
	if diff := cmp.Diff(want, Ports(7077, 6066, 7077)); diff != "" {
		t.Errorf("the given ports (-want +got):\n%s", diff)
	}

	if got := Ports(); got != nil {
		t.Errorf("no ports are %v; a rule without ports would open all ports, so callers must be able to detect an empty list", got)
	}
}

// TestFromSelectsOwnNamespace checks that a peer never selects a namespace. A peer without labels selects all pods, but
// its pod selector is set: without one, the API server rejects the peer.
func TestFromSelectsOwnNamespace(t *testing.T) {
	labels := map[string]string{"a": "b"}
	for _, c := range []struct {
		labels map[string]string
		want   networkingv1.NetworkPolicyPeer
	}{
		{labels, networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}},
		{nil, networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{}}},
	} {
		if diff := cmp.Diff(c.want, From(c.labels)); diff != "" {
			t.Errorf("from %v (-want +got):\n%s", c.labels, diff)
		}
	}
}
