package kit

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// The ports that FreeAddress chooses from. They are below the range from which Linux takes ports of outgoing
// connections (32768 and more, net.ipv4.ip_local_port_range), and below the ports of embedded clusters (20000 and
// more).
const firstPort, portCount = 12000, 8000

// FreeAddress returns an address of this machine on which no server listens. Until the end of the test, no other call
// returns it, in this process or in another. The sign of this reservation is a listener on the same port of a second
// loopback address, because a server takes the port itself only later, and may end and start again.
func FreeAddress(t testing.TB) string {
	t.Helper()

	var last error
	for range 100 {
		port := firstPort + rand.IntN(portCount)

		reservation, err := net.Listen("tcp", fmt.Sprintf("127.0.0.2:%d", port))
		if err != nil {
			last = err
			continue
		}

		address := fmt.Sprintf("127.0.0.1:%d", port)

		listener, err := net.Listen("tcp", address)
		if err != nil {
			last = err
			_ = reservation.Close()
			continue
		}

		t.Cleanup(func() { _ = reservation.Close() })

		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		return address
	}

	t.Fatalf("no free port in 100 tries: %v", last)
	return ""
}
