package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

const gap = 50 * time.Millisecond

// connected returns a gathering connection and its other end.
func connected(t *testing.T) (near, far net.Conn) {
	t.Helper()

	left, other := net.Pipe()

	near, err := dialer(func(context.Context, string, string) (net.Conn, error) {
		return left,
			nil
	}).gather(gap)(t.Context(), "tcp", "")
	if err != nil {
		t.Fatal(err)
	}

	time.Sleep(beginning)

	go func() { _, _ = other.Write([]byte("hello")) }()

	read(t, near, 8) // after the time named beginning
	time.Sleep(gap)
	return near, other
}

// read reads once from a connection, with a buffer of the given size. It returns the text and the duration of the read.
func read(t *testing.T, c net.Conn, into int) (string, time.Duration) {
	t.Helper()

	began, p := time.Now(), make([]byte, into)

	n, err := c.Read(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(p[:n]), time.Since(began)
}

func TestGathering(t *testing.T) {
	type step struct {
		after time.Duration // before sent is written
		sent  string
		took  time.Duration // to read it after that
	}
	for name, steps := range map[string][]step{
		"after a pause, a read returns at once": {{0, "a", 0}, {time.Second, "b", 0}},
		"shortly after another, a read waits":   {{0, "a", 0}, {gap / 5, "b", gap * 4 / 5}},
		"each of several reads waits": {{0, "a", 0}, {gap / 5, "b", gap * 4 / 5},
			{gap / 2, "c", gap / 2}, {gap, "d", 0}},
		"a read that leaves bytes does not cause a pause": {{0, "12345678", 0}, {0, "1234", 0},
			{gap / 2, "a", gap / 2}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := connected(t)
				for i, s := range steps {
					time.Sleep(s.after)
					go func() { _, _ = far.Write([]byte(s.sent)) }()

					if got, took := read(t, near, 8); got != s.sent || took != s.took {
						t.Errorf("step %d: read %q after %v, want %q after %v", i, got, took, s.sent, s.took)
					}
				}
			})
		})
	}
}

// TestGatheringBegins checks that a new connection is read without pauses, so that handshakes and the first lists are
// not delayed.
func TestGatheringBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left, far := net.Pipe()

		near, err := dialer(func(context.Context, string, string) (net.Conn, error) {
			return left,
				nil
		}).gather(gap)(t.Context(), "tcp", "")
		if err != nil {
			t.Fatal(err)
		}

		for range 5 {
			go func() { _, _ = far.Write([]byte("a")) }()

			if _, took := read(t, near, 8); took != 0 {
				t.Errorf("read after %v", took)
			}
		}
	})
}

// socket holds sent bytes until they are read, like a connection's buffers.
type socket chan []byte

func (s socket) Read(p []byte) (int, error) {
	n := copy(p, <-s)
	for len(s) > 0 && n < len(p) {
		n += copy(p[n:], <-s)
	}
	return n, nil
}

// reading is a connection for reads only.
type reading struct {
	socket
	net.Conn
}

func (r reading) Read(p []byte) (int, error) { return r.socket.Read(p) }

// TestGatheringMuch checks that a connection that receives many bytes is delayed only at the first read. The sender is
// a little slower than the reader. Each read therefore drains all bytes, and only their number prevents further pauses.
func TestGatheringMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := make(socket, 1000)
		near := &gathering{Conn: reading{socket: sent}, pause: gap, begun: time.Now().Add(-beginning)}
		const part, parts = 32 << 10, 1000
		send := func() {
			for range parts {
				time.Sleep(time.Millisecond)
				sent <- make([]byte, part)
			}
		}
		began, reads := time.Now(), 0

		go send()

		for left := part * parts; left > 0; {
			got, _ := read(t, near, much)
			left -= len(got)
			reads++
		}

		if took := time.Since(began); took > parts*time.Millisecond+gap {
			t.Errorf("%d parts, one a millisecond, took %v", parts, took)
		}

		if reads < parts*9/10 {
			t.Errorf("%d parts were read %d times: some were gathered", parts, reads)
		}

		time.Sleep(3 * gap)

		for i, wait := range []time.Duration{0, gap} {
			sent <- []byte("a")

			if _, took := read(t, near, 8); took != wait {
				t.Errorf("after that, event %d was read after %v, want %v", i, took, wait)
			}
		}
	})
}

// TestGatheringEnds checks that a read that waits for bytes returns io.EOF when the other end closes the connection.
func TestGatheringEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := connected(t)
		go func() { _, _ = far.Write([]byte("a")); _ = far.Close() }()

		read(t, near, 8)

		if _, err := near.Read(make([]byte, 8)); !errors.Is(err, io.EOF) {
			t.Errorf("of a connection that was closed: %v", err)
		}
	})
}

// TestGatherNoConnection checks that the error of the dialer is returned unchanged.
func TestGatherNoConnection(t *testing.T) {
	refused := errors.New("refused")

	dial := dialer(func(context.Context, string, string) (net.Conn, error) { return nil, refused }).gather(gap)
	if c, err := dial(t.Context(), "tcp", ""); !errors.Is(err, refused) || c != nil {
		t.Errorf("%v, %v", c, err)
	}
}
