package fence

import (
	"fmt"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
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

func TestPortsBut(t *testing.T) {
	for want, c := range map[string]struct{ closed, named []int32 }{
		"1-65535 UDP SCTP":                          {},
		"4040 15002 1-7077 7080-65535 UDP SCTP":     {[]int32{7079, 7078, 7079}, []int32{15002, 4040, 15002}},
		"2-65534 UDP SCTP":                          {[]int32{65535, 1}, []int32{1}},
		"1-5 7 9-65535 UDP SCTP":                    {[]int32{6, 8}, nil},
		"8080 1-6065 6067-7076 7078-65535 UDP SCTP": {[]int32{7077, 6066}, []int32{8080, 7077}},
		"65535 1-65533 65535 UDP SCTP":              {[]int32{65534}, []int32{65535}},
	} {
		if got := text(PortsExcept(c.closed, c.named)); got != want {
			t.Errorf("all but %v, with %v: %q, want %q", c.closed, c.named, got, want)
		}
	}
	if got := text(Ports(7077, 6066)); got != "7077 6066" {
		t.Errorf("ports are %q", got)
	}
}
