package registry

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// pool is the address range that RFC 2544 reserves for benchmarks. Real networks do not use this range, so the networks
// of clusters make no real network unreachable.
var pool = netip.MustParsePrefix("198.18.0.0/15")

// poolSize is the number of /30 networks in the pool. FreeLink skips the first one, 198.18.0.0/30, because its
// addresses are easily misread.
const poolSize = 1 << (30 - 15)

// Link is a /30 network of the pool. It has an address for the host and an address for the node.
type Link struct {
	Net, Host, Node netip.Prefix
}

// LinkAt returns the /30 network with the given index in the pool. The index must be from 0 to poolSize-1.
func LinkAt(index int) Link {
	at := func(offset int) netip.Prefix {
		base := pool.Addr().As4()
		n := uint32(base[0])<<24 | uint32(base[1])<<16 | uint32(base[2])<<8 | uint32(base[3])
		n += uint32(index*4 + offset)
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}), 30)
	}
	return Link{Net: at(0), Host: at(1), Node: at(2)}
}

// FreeLink returns the lowest index from 1 on that no cluster uses and whose /30 network overlaps no network of the
// host.
func FreeLink(entries []Entry, inUse []netip.Prefix) (int, error) {
	taken := map[int]bool{}
	for _, e := range entries {
		if e.Node != nil {
			taken[e.Node.Index] = true
		}
	}
next:
	for i := 1; i < poolSize; i++ {
		if taken[i] {
			continue
		}

		for _, p := range inUse {
			if p.Overlaps(LinkAt(i).Net) {
				continue next
			}
		}
		return i, nil
	}
	return 0, fmt.Errorf("all networks in %v are in use: stop a cluster with `sparklocal down`", pool)
}

// HostNetworks returns the networks of the machine's interfaces.
func HostNetworks() ([]netip.Prefix, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("read the addresses of this machine: %w", err)
	}

	var nets []netip.Prefix
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			nets = append(nets, p.Masked())
		}
	}
	return nets, nil
}

// These are the ports of clusters without nodes. They are below the range from which the kernel assigns ports to
// outgoing connections (from 32768). Therefore no outgoing connection takes a port between the check by PortFree and
// the component's bind.
const (
	firstPort = 20000
	lastPort  = 31999
)

// FreePorts returns n ports of 127.0.0.1 that no cluster uses and for which the given function returns true. It
// searches upward from the port firstPort+start, and continues at firstPort after the last port. The caller chooses
// `start` at random.
func FreePorts(entries []Entry, n, start int, free func(port int) bool) ([]int, error) {
	taken := map[int]bool{}
	for _, e := range entries {
		for _, p := range e.Ports {
			taken[p] = true
		}
	}

	size := lastPort - firstPort + 1

	ports := make([]int, 0, n)
	for i := 0; i < size && len(ports) < n; i++ {
		port := firstPort + (start+i)%size
		if !taken[port] && free(port) {
			ports = append(ports, port)
		}
	}

	if len(ports) < n {
		return nil, errors.New("too few free ports on 127.0.0.1: stop a cluster with `sparklocal down`")
	}
	return ports, nil
}

// PortFree reports whether a port of 127.0.0.1 can be bound now.
func PortFree(port int) bool {
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}

	_ = l.Close()
	return true
}
