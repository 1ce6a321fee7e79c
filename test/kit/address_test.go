package kit

import (
	"net"
	"testing"
)

// TestFreeAddress checks that addresses differ as long as their tests run, that a server can listen on them, and that
// no outgoing connection takes one.
func TestFreeAddress(t *testing.T) {
	given := map[string]bool{}

	for range 200 {
		address := FreeAddress(t)
		if given[address] {
			t.Fatalf("%s was given twice", address)
		}

		given[address] = true
	}

	server, err := net.Listen("tcp", FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()

	for range 200 {
		connection, err := net.Dial("tcp", server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = connection.Close() }()

		if local := connection.LocalAddr().String(); given[local] {
			t.Fatalf("an outgoing connection has the address %s", local)
		}
	}
}
